"""`scripted/<file.py>:<function>`: a Python function as an LLM, for tests and baselines.

The function takes a request and returns a text or a `Reply`; `request.messages` is a list of dicts in the chat
completions format. It may be async; otherwise it runs in a thread, so that waiting in it blocks nothing else.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import json
import traceback
from collections.abc import Awaitable, Callable
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
    """A message as a dict, whose fields can be read as attributes too: `m["content"]`, `m.content`, `m.tool_calls`."""

    def __init__(self, message: Message) -> None:
        super().__init__(role=message.role, content=message.content)
        self._message = message
        if message.tool_calls:
            self["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
                }
                for call in message.tool_calls
            ]
        if message.role == "tool":
            self.update(tool_call_id=message.call_id, name=message.name)

    def __getattr__(self, field: str) -> Any:
        if field.startswith("_"):
            raise AttributeError(field)
        return getattr(self._message, field)


class Scripted(LLM):
    """A function that answers requests. Tokens of a text are its words, and marked as estimated."""

    CONNECTIONS = 8
    native_tools = True
    cacheable = False

    def __init__(self, name: str, model: str, settings: LLMSettings) -> None:
        super().__init__(name, model, settings)
        file, colon, function = model.rpartition(":")
        if not colon:
            raise UserError(f"LLM '{name}': expected scripted/<file.py>:<function>")
        self._file, self._place = Path(file), f"{Path(file).name}:{function}"
        self._function: Callable[[Request], Any] = plugins.from_path(model, "llms")
        if not callable(self._function):
            raise UserError(f"LLM '{name}': {model} is not a function")
        self._threads = ThreadPoolExecutor(self.connections, "r-eval-scripted")

    def identity(self) -> dict[str, Any]:
        """The function is identified by its file's content."""
        return {**super().identity(), "file": file_fingerprint(self._file)}

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._threads = ThreadPoolExecutor(self.connections, "r-eval-scripted")

    async def generate(self, request: Request) -> Reply:
        view: Any = dataclasses.replace(request, messages=tuple(map(MessageDict, request.messages)))
        try:
            if inspect.iscoroutinefunction(self._function):
                answer = await self._function(view)
            else:
                call = functools.partial(self._function, view)
                answer = await asyncio.get_running_loop().run_in_executor(self._threads, _guarded, call)
                if isinstance(answer, _StopIteration):
                    raise answer.error
                if isinstance(answer, Awaitable):
                    answer = await answer
        except LLMError:
            raise
        except Exception as error:
            raise LLMError("request", f"{self._place}: {self._described(error)}") from error
        if isinstance(answer, Reply):
            return answer
        if not isinstance(answer, str):
            raise LLMError("request", f"{self._place} returned a {type(answer).__name__}, not a text or a Reply")
        text = clean(answer)
        prompt = sum(len(message.content.split()) for message in request.messages)
        tokens = Tokens.model_construct(prompt=prompt, completion=len(text.split()), cached=0)
        return Reply(text, tokens=tokens, estimated=True)

    def _described(self, error: Exception) -> str:
        """An exception with the place in the user's file where it was raised."""
        frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == self._file.name]
        where = f" (line {frames[-1].lineno})" if frames else ""
        return f"{type(error).__name__}: {error}{where}"


@dataclasses.dataclass
class _StopIteration:
    """A StopIteration that the function raised: a future cannot carry one out of a thread."""

    error: Exception


def _guarded(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except StopIteration as error:
        return _StopIteration(RuntimeError(f"StopIteration: {error}"))
