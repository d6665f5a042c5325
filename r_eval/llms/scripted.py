"""`scripted/<file.py>:<function>`: a Python function as an LLM, for tests and baselines.

The function takes a request and returns a text or a `Reply`; `request.messages` is a list of dicts in the chat
completions format. It is called in a thread, so that a slow one blocks nothing else; it may be async.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from r_eval import plugins
from r_eval.errors import UserError
from r_eval.llms.base import LLM, LLMError, LLMSettings, Message, Reply, Request
from r_eval.llms.chat import chat_body
from r_eval.llms.model_files import file_fingerprint
from r_eval.records import Tokens
from r_eval.text import clean


class MessageDict(dict[str, Any]):
    """A message as a dict; the fields of a `Message` can be read as attributes too."""

    def __init__(self, message: Message, entry: dict[str, Any]) -> None:
        super().__init__(entry)
        self._message = message
        if message.role == "tool":
            self["name"] = message.name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # as when it is copied, before it has a message
            raise AttributeError(name)
        return getattr(self._message, name)


class Scripted(LLM):
    """A function that answers requests; the tokens of a text are its words, marked as estimated."""

    CONNECTIONS = 8
    native_tools = True
    cacheable = False

    def __init__(self, name: str, model: str, settings: LLMSettings) -> None:
        super().__init__(name, model, settings)
        self._file, colon, function = model.rpartition(":")
        self._function: Any = plugins.from_path(model, "llms") if colon else None
        if not callable(self._function):
            raise UserError(f"LLM '{name}': {model} is not a function; expected scripted/<file.py>:<function>")
        self._is_async = inspect.iscoroutinefunction(self._function)
        self._place = f"{Path(self._file).name}:{function}"
        self._fingerprint = file_fingerprint(Path(self._file))
        self._pool: ThreadPoolExecutor | None = None

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "file": self._fingerprint}

    async def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    async def generate(self, request: Request) -> Reply:
        entries = chat_body(self, request)["messages"]
        view: Any = dataclasses.replace(request, messages=list(map(MessageDict, request.messages, entries)))  # type: ignore[arg-type]
        try:
            async with asyncio.timeout(self.settings.timeout) as deadline:
                answer = await (self._function(view) if self._is_async else self._in_thread(view))
        except (Exception, SystemExit) as error:  # noqa: BLE001  the code may be anybody's
            answer = error
        if deadline.expired():
            raise LLMError("timeout", f"{self._place} did not return within {self.settings.timeout:g} s") from None
        if isinstance(answer, BaseException):
            raise self._failure(answer)
        if isinstance(answer, str):
            words = sum(len(message.content.split()) for message in request.messages)
            answer = Reply(answer, tokens=Tokens(prompt=words, completion=len(answer.split())), estimated=True)
        if not (isinstance(answer, Reply) and isinstance(answer.text, str)):
            raise LLMError("request", f"{self._place} returned {type(answer).__name__}, not a text or a Reply")
        text = clean(answer.text)
        return answer if text is answer.text else dataclasses.replace(answer, text=text)

    async def _in_thread(self, view: Request) -> object:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.connections, "r-eval-scripted")
        answer = await asyncio.get_running_loop().run_in_executor(self._pool, self._called, view)
        return await answer if inspect.isawaitable(answer) else answer

    def _called(self, view: Request) -> object:
        """What the function returns, or its exception: a future cannot carry every one to the event loop."""
        try:
            return self._function(view)
        except BaseException as error:  # noqa: BLE001  the code may be anybody's
            return error

    def _failure(self, error: BaseException) -> LLMError:
        """An exception of the function, with the last line of its file that it went through."""
        if isinstance(error, LLMError):
            return error
        if isinstance(error.__cause__, StopIteration):  # which Python turns into a RuntimeError in a coroutine
            error = error.__cause__
        path = Path(self._file).resolve()
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = f" ({path.name} line {lines[-1]})" if lines else ""
        return LLMError("request", f"{self._place}: {type(error).__name__}: {error}{line}")
