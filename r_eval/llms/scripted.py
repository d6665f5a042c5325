"""`scripted/<file.py>:<function>`: a Python function as an LLM, for tests and baselines.

The function takes a request and returns a text or a `Reply`; `request.messages` is a list of dicts in the chat
completions format. It is called in a thread, so that a slow one blocks nothing else; it may be async.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from r_eval import plugins
from r_eval.errors import UserError
from r_eval.fingerprints import definition_hashes, script_hashes
from r_eval.isolation import DaemonThreads, ForeignLoop, describe
from r_eval.llms.base import LLM, LLMError, LLMSettings, Message, Reply, Request
from r_eval.llms.chat import chat_body
from r_eval.llms.failures import one_line
from r_eval.llms.tokens import estimate
from r_eval.records import Tokens
from r_eval.text import clean_data

threads = DaemonThreads("scripted")
coroutines = ForeignLoop("scripted-async")
_reply: TypeAdapter[Reply] = TypeAdapter(Reply)


HOW = "write `def answer(request):` and return a text or a Reply"


class MessageDict(dict[str, Any]):
    """A message as a dict; the fields of a `Message` can be read as attributes too."""

    def __init__(self, message: Message, entry: dict[str, Any]) -> None:
        super().__init__(entry, **({"name": message.name} if message.role == "tool" else {}))
        vars(self).update({field.name: getattr(message, field.name) for field in dataclasses.fields(message)})


class Scripted(LLM):
    """A function that answers requests; tokens that it does not count are estimated, those of a text as its words."""

    CONNECTIONS = 8
    native_tools = True
    cacheable = False

    def __init__(self, name: str, model: str, settings: LLMSettings) -> None:
        super().__init__(name, model, settings)
        self._file, colon, function = model.rpartition(":")
        self._function: Any = plugins.from_path(model, "llms") if colon else None
        if not callable(self._function):
            raise UserError(f"LLM '{name}': {model} is not a function; expected scripted/<file.py>:<function>")
        if problem := _problem(self._function):
            code = getattr(inspect.unwrap(self._function), "__code__", None)
            place = f"{code.co_filename}:{code.co_firstlineno}" if code else self._file
            raise UserError(f"LLM '{name}': {place}: {function} {problem}; {HOW}")
        self._place = f"{Path(self._file).name}:{function}"
        self._code = script_hashes(model) or definition_hashes(self._function, self._file, function)

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "code": self._code}

    async def generate(self, request: Request) -> Reply:
        entries = chat_body(self, request)["messages"]
        view: Any = dataclasses.replace(request, messages=list(map(MessageDict, request.messages, entries)))  # type: ignore[arg-type]
        try:
            async with asyncio.timeout(self.settings.timeout) as deadline:
                answer = await threads.run(self._function, view)
                answer = await coroutines.run(answer) if inspect.isawaitable(answer) else answer
        except LLMError:
            raise
        except Exception as error:
            if not deadline.expired():
                raise LLMError("request", f"{self._place}: {describe(error)}") from error
        if deadline.expired():
            raise LLMError("timeout", f"{self._place} did not return within {self.settings.timeout:g} s") from None
        if isinstance(answer, str):
            words = sum(len(message.content.split()) for message in request.messages)
            answer = Reply(answer, tokens=Tokens(prompt=words, completion=len(answer.split())), estimated=True)
        if not isinstance(answer, Reply):
            raise LLMError("request", f"{self._place} returned {type(answer).__name__}, not a text or a Reply")
        try:
            plain = json.loads(json.dumps(dataclasses.asdict(answer), default=dict))
            reply = _reply.validate_python(clean_data(plain))
            if reply.tokens == Tokens():
                reply = dataclasses.replace(reply, tokens=estimate(request, reply), estimated=True)
            return reply
        except (TypeError, ValueError, RecursionError) as error:
            problem = one_line(str(error).partition(" [type=")[0])
            raise LLMError("request", f"{self._place} returned a Reply that no record can hold: {problem}") from None


def _problem(function: Any) -> str | None:
    """Why a callable cannot answer requests, if that shows before it is called."""
    if isinstance(function, type):
        return "is a class"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return "is a generator: it has a yield"
    try:
        plugins.signature_of(function).bind(None)
    except TypeError:
        return f"takes {plugins.signature_of(function)}, but it is called with one argument, the request"
    except ValueError:  # a function of C may not tell
        pass
    return None
