"""`langchain/<module or file.py>:<factory>`: any langchain-core chat model, tool calls included.

The factory takes no arguments and returns the model; the model itself, or its class, will do too. Temperature and the
most tokens of a reply are set on the model where it has fields for them, since they are part of what a run records.
Tools are given natively where the model has `bind_tools`. Keys, addresses and retries are the model's own.

Integrations keep their connections for the life of the process, and connections belong to an event loop. So all chat
models live on one loop of this room's own, and a second run in the same process finds them usable.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import logging
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from r_eval import plugins
from r_eval.errors import MissingExtra, UserError
from r_eval.llms import counting
from r_eval.llms.base import LLM, Finish, LLMError, Message, Reply, Request, ToolCall
from r_eval.llms.replies import digest
from r_eval.llms.stamps import stamp
from r_eval.llms.tools import HOW, lenient_json
from r_eval.records import Tokens

logger = logging.getLogger("r_eval")

LENGTHS = ("max_tokens", "max_output_tokens", "num_predict", "max_tokens_to_sample")
"""Fields, or their aliases, in which chat models keep the most tokens of a reply."""

FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
}
TOO_LONG = re.compile(
    r"context.*(?:length|exceed|maximum|size|window)|(?:length|exceed|maximum|size).*context|prompt is too long"
    r"|input token count.*exceeds",
    re.IGNORECASE | re.DOTALL,
)
CAUSES = (
    ("context", "ContextOverflow"),
    ("timeout", "Timeout"),
    ("rate_limit", "RateLimit"),
    ("key", "Authentication"),
    ("key", "PermissionDenied"),
    ("connection", "Connection"),
    ("connection", "ConnectError"),
)
"""Causes by what the names of an error's classes hold: every integration raises its own."""


class LangChain(LLM):
    """A chat model of LangChain.

    Settings:
        native_tools: Whether tools are given natively; by default where the model has `bind_tools`.
    """

    SETTINGS = {"native_tools": bool}

    def __init__(self, name: str, model: str, settings: Mapping[str, Any]) -> None:
        super().__init__(name, model, settings)
        self.connections = int(settings.get("connections", 8))
        self._native: bool | None = settings.get("native_tools")
        if ":" not in model:
            raise UserError(f"LLM '{name}': expected langchain/<module or file.py>:<factory>")
        self._chat: Any = None
        self._length_field: str | None = None

    async def open(self) -> None:
        """Build the model."""
        try:
            from langchain_core.language_models import BaseChatModel
        except ImportError:
            raise MissingExtra("langchain-core", "langchain", f"The LLM {self.name}") from None
        chat = plugins.from_path(self.model, "llms")
        if not isinstance(chat, BaseChatModel) and callable(chat):
            try:
                chat = chat()
            except Exception as error:  # noqa: BLE001  a factory is the user's code
                raise UserError(f"LLM '{self.name}': {self.model} fails: {type(error).__name__}: {error}") from None
        if not isinstance(chat, BaseChatModel):
            raise UserError(f"LLM '{self.name}': {self.model} gives a {type(chat).__name__}, not a chat model")
        temperature = _field(chat, "temperature")
        if temperature is None:
            logger.warning("%s has no field for a temperature; what the grid says of it is not set", self.name)
        else:
            chat = chat.model_copy(update={temperature: self.temperature})
        able = type(chat).bind_tools is not BaseChatModel.bind_tools
        self.native_tools = able if self._native is None else able and self._native
        self._length_field = _field(chat, *LENGTHS)
        self._chat = chat

    def identity(self) -> dict[str, Any]:
        """A factory is told by its file's content, and a model, once it is built, by what it says of itself."""
        says = self._chat._identifying_params if self._chat is not None else {}
        file = stamp(Path(self.model.rpartition(":")[0]))
        return {**super().identity(), "file": file, "parameters": digest({k: repr(says[k]) for k in says})[:16]}

    async def close(self) -> None:
        self._chat = None

    async def generate(self, request: Request) -> Reply:
        if self._chat is None:
            raise LLMError("connection", f"{self.name} is not open")
        stop = tuple(filter(None, request.stop))
        try:
            messages = [_message(message) for message in request.messages]
            asked = self._ready(request).ainvoke(messages, stop=list(stop[:4]) or None)
            answer = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked, _loop()))
        except Exception as error:  # noqa: BLE001  every integration raises its own
            said = " ".join(str(error).split())[:300]
            raise LLMError(_cause(error), f"{self.name}: {type(error).__name__}: {said}") from None
        try:
            reply = _reply(answer, stop)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise LLMError("reply", f"{self.name}: no reply in a {type(answer).__name__} ({error})") from None
        return dataclasses.replace(reply, tokens=counting.estimate(request, reply)) if reply.estimated else reply

    def _ready(self, request: Request) -> Any:
        """The model with the length and the tools of a request."""
        chat = self._chat
        if self._length_field is not None:
            chat = chat.model_copy(update={self._length_field: request.max_tokens or self.max_tokens})
        if not (request.tools and self.native_tools):
            return chat
        tools = [
            {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
            for t in request.tools
        ]
        return (
            chat.bind_tools(tools, tool_choice="any") if request.tool_choice == "required" else chat.bind_tools(tools)
        )


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop of all chat models, in a thread that ends with the process."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="r-eval-langchain", daemon=True).start()
    return loop


def _field(chat: Any, *names: str) -> str | None:
    """The field of a model that has one of some names, or such an alias."""
    fields = type(chat).model_fields
    return next((field for name in names for field, about in fields.items() if name in (field, about.alias)), None)


def _cause(error: Exception) -> str:
    """Why there is no reply, as `LLMError.cause`."""
    classes = " ".join(kind.__name__ for kind in type(error).__mro__)
    for cause, mark in CAUSES:
        if mark in classes:
            return cause
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if TOO_LONG.search(str(error)):
        return "context"
    if status in (401, 403):
        return "key"
    if status == 429:
        return "rate_limit"
    return "request" if isinstance(status, int) and 400 <= status < 500 else "server"


def _message(message: Message) -> Any:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    content = message.content.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair becomes "?"
    if message.role == "system":
        return SystemMessage(content)
    if message.role == "user":
        return HumanMessage(content)
    if message.role == "tool":
        return ToolMessage(content, tool_call_id=message.call_id, name=message.name or None)
    calls = [
        {"id": c.id, "name": c.name or "unknown", "args": c.arguments, "type": "tool_call"} for c in message.tool_calls
    ]
    return AIMessage(content, tool_calls=calls)


def _reply(answer: Any, stop: tuple[str, ...]) -> Reply:
    """The reply in a model's message. Not every model obeys a stop, so the text is cut here as well."""
    about, more = answer.response_metadata or {}, answer.additional_kwargs or {}
    reason = about.get("finish_reason") or about.get("stop_reason") or about.get("done_reason")
    finish = FINISHES.get(str(reason).lower(), "unknown")
    text = str(answer.text)
    if more.get("refusal"):
        text, finish = text or str(more["refusal"]), "refusal"
    at = min((i for mark in stop if (i := text.find(mark)) >= 0), default=-1)
    if at >= 0:
        text, finish = text[:at], "stop"
    thoughts = [str(block.get("reasoning") or "") for block in answer.content_blocks if block["type"] == "reasoning"]
    tokens, estimated = _tokens(answer)
    return Reply(text, _tool_calls(answer), finish, tokens, estimated, "\n".join(filter(None, thoughts)))


def _tool_calls(answer: Any) -> tuple[ToolCall, ...]:
    """A message's calls; those whose arguments LangChain could not read are read as leniently as any other's."""
    calls = [(call, dict(call["args"])) for call in getattr(answer, "tool_calls", ())]
    bad = getattr(answer, "invalid_tool_calls", ())
    calls += [(call, lenient_json(str(call["args"] or "{}"))) for call in bad]
    made = []
    for i, (call, arguments) in enumerate(calls):
        identity, name = call["id"] or f"call_{i}", call["name"] or ""
        good = isinstance(arguments, dict)
        error = None if good else f"The arguments of {name} are not a JSON object. {HOW}"
        made.append(ToolCall(identity, name, arguments if good else {}, error))
    return tuple(made)


def _tokens(answer: Any) -> tuple[Tokens, bool]:
    """Tokens of prompt and reply; none, and True, where the model counts none."""
    usage = getattr(answer, "usage_metadata", None)
    if not usage:
        return Tokens(), True
    cached = (usage.get("input_token_details") or {}).get("cache_read")
    return counting.told(usage["input_tokens"], usage["output_tokens"], cached), False
