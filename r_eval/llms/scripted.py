"""`scripted/<file.py>:<function>`: a Python function as an LLM, for tests and baselines.

The function takes a request and returns a text or a `Reply`; `request.messages` is a list of dicts in the chat
completions format. It may be async; otherwise it runs in a thread, so that a slow one blocks nothing else.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import json
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from r_eval import plugins
from r_eval.errors import UserError
from r_eval.llms.base import LLM, LLMError, LLMSettings, Message, Reply, Request
from r_eval.llms.model_files import file_fingerprint
from r_eval.records import Tokens
from r_eval.text import clean


class MessageDict(dict[str, Any]):
    """A message as a dict; the fields of a `Message` can be read as attributes too."""

    def __init__(self, message: Message) -> None:
        super().__init__(role=message.role, content=message.content)
        self._message = message
        functions = [{"name": c.name, "arguments": json.dumps(c.arguments)} for c in message.tool_calls]
        calls = zip(message.tool_calls, functions, strict=True)
        if functions:
            self["tool_calls"] = [{"id": call.id, "type": "function", "function": f} for call, f in calls]
        if message.role == "tool":
            self.update(tool_call_id=message.call_id, name=message.name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
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
        if not colon:
            raise UserError(f"LLM '{name}': expected scripted/<file.py>:<function>")
        self._function = plugins.from_path(model, "llms")
        if not callable(self._function):
            raise UserError(f"LLM '{name}': {model} is not a function")
        self._place = f"{Path(self._file).name}:{function}"
        self._pool: ThreadPoolExecutor | None = None

    @functools.cached_property
    def _fingerprint(self) -> str | None:
        return file_fingerprint(Path(self._file))

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "file": self._fingerprint}

    async def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    async def generate(self, request: Request) -> Reply:
        view: Any = dataclasses.replace(request, messages=[MessageDict(m) for m in request.messages])  # type: ignore[arg-type]
        try:
            async with asyncio.timeout(self.settings.timeout) as deadline:
                answer = await self._call(view)
        except LLMError:
            raise
        except (Exception, SystemExit) as error:
            if deadline.expired():
                problem = f"{self._place} did not return within {self.settings.timeout:g} s"
                raise LLMError("timeout", problem) from None
            raise self._failure(error) from error
        if isinstance(answer, str):
            text = clean(answer)
            prompt = sum(len(message.content.split()) for message in request.messages)
            return Reply(text, tokens=Tokens(prompt=prompt, completion=len(text.split())), estimated=True)
        if not (isinstance(answer, Reply) and isinstance(answer.text, str)):
            raise LLMError("request", f"{self._place} returned {type(answer).__name__}, not a text or a Reply")
        return answer if answer.text.isascii() else dataclasses.replace(answer, text=clean(answer.text))

    async def _call(self, view: Request) -> object:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(view)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.connections, "r-eval-scripted")
        answer = await asyncio.get_running_loop().run_in_executor(self._pool, self._in_thread, view)
        if isinstance(answer, LLMError):
            raise answer
        return await answer if inspect.isawaitable(answer) else answer

    def _in_thread(self, view: Request) -> object:
        """What the function returns, or its failure: a future cannot carry every exception to the event loop."""
        try:
            return self._function(view)
        except (Exception, SystemExit) as error:  # noqa: BLE001  the code may be anybody's
            return self._failure(error)

    def _failure(self, error: BaseException) -> LLMError:
        """An exception of the function, with the last line of its file that it went through."""
        if isinstance(error, LLMError):
            return error
        if isinstance(error.__cause__, StopIteration):  # which Python turns into a RuntimeError in a coroutine
            error = error.__cause__
        path = str(Path(self._file).resolve())
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        line = f" ({Path(path).name} line {lines[-1]})" if lines else ""
        return LLMError("request", f"{self._place}: {type(error).__name__}: {error}{line}")
