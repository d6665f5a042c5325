"""`langchain/<module or file.py>:<factory>`: any langchain-core chat model, tool calls included.

The factory takes no arguments and returns the model; the model itself, or its class, is accepted too. Temperature and
the length of a reply are set on the model if it has fields for them. Keys, addresses and retries are the model's own,
except that an answer of a wrong type is tried again here.

A message that holds more than text and calls (signatures, reasoning blocks) is part of `Reply.extra` and goes back as
it came. Integrations keep their connections for the life of the process, and connections belong to an event loop, so
all chat models live on one loop of this module's own.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
from typing import Any

from r_eval import plugins
from r_eval.errors import MissingExtra, UserError
from r_eval.fingerprints import script_hashes
from r_eval.isolation import ForeignLoop
from r_eval.llms import failures
from r_eval.llms.attempts import Effort, Persistent, ServerDown
from r_eval.llms.base import LLM, LLMError, LLMSettings, Message, Reply, Request
from r_eval.llms.chat import Refused, chat_body, fold_system
from r_eval.llms.reasoning import split_text
from r_eval.llms.reply import parse_reply
from r_eval.llms.tool_calls import repair_history
from r_eval.text import clean_data

coroutines = ForeignLoop("langchain")

LENGTHS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict", "max_tokens_to_sample")
"""Fields, or their aliases, in which chat models keep the most tokens of a reply."""
ENDINGS = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")
"""Keys of a message's metadata that may say why generation ended."""
CALLS = ("tool_calls", "invalid_tool_calls")
"""Where a message has its calls; LangChain could not read the arguments of the second."""


class LangChain(Persistent, LLM):
    """A chat model of LangChain."""

    class Settings(LLMSettings):
        """Settings of `langchain/`.

        Attributes:
            native_tools: Whether tools are given natively; by default where the model has `bind_tools`.
        """

        native_tools: bool | None = None

    CONNECTIONS = 8
    RETRIED = frozenset({"reply"})
    settings: Settings

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        super().__init__(name, model, settings)
        if ":" not in model:
            raise UserError(f"LLM '{name}': expected langchain/<module or file.py>:<factory>")
        self._chat: Any = None
        self._fields: dict[str, str] = {}

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
        fields = {"temperature": _field(chat, "temperature"), "max_tokens": _field(chat, *LENGTHS)}
        self._fields = {setting: field for setting, field in fields.items() if field}
        if "temperature" not in self._fields:
            self.learn("temperature", "the chat model has no field for it")
        can_bind = type(chat).bind_tools is not BaseChatModel.bind_tools
        self.native_tools = can_bind and self.settings.native_tools is not False
        self._chat = chat

    def identity(self) -> dict[str, Any]:
        """Besides the name: the code of the factory's file and, once it is built, the model's own parameters."""
        own = self._chat._identifying_params if self._chat is not None else {}
        parameters = json.dumps({key: repr(own[key]) for key in sorted(own)})
        digest = hashlib.blake2b(parameters.encode(), digest_size=8).hexdigest()
        return {**super().identity(), "parameters": digest, "code": script_hashes(self.model)}

    async def close(self) -> None:
        self._chat = None

    async def _attempt(self, sent: Request, refused: Refused, effort: Effort) -> Reply:
        if self._chat is None:
            raise ServerDown("connection", "it is not open")
        messages = repair_history(fold_system(sent.messages) if "system" in refused.names else sent.messages)
        body = chat_body(self, dataclasses.replace(sent, messages=messages), refused.without("extra"))
        try:
            own = [_message(*pair, refused) for pair in zip(messages, body["messages"], strict=True)]
            answer = coroutines.run(self._ready(body).ainvoke(own, stop=body.get("stop")))
            return _reply(await asyncio.wait_for(answer, self.settings.timeout))
        except LLMError:
            raise
        except (AttributeError, LookupError, TypeError) as error:  # of an integration, over an answer of a wrong type
            raise LLMError("reply", f"{type(error).__name__}: {' '.join(str(error).split())[:300]}") from None
        except Exception as error:  # noqa: BLE001  every integration raises its own
            raise failures.of_exception(error) from None

    def _ready(self, body: dict[str, Any]) -> Any:
        """The model with the temperature, the length and the tools of a request's body."""
        chat = self._chat.model_copy(update={field: body.get(setting) for setting, field in self._fields.items()})
        if "tools" not in body:
            return chat
        is_required = body.get("tool_choice") == "required"
        return chat.bind_tools(body["tools"], **({"tool_choice": "any"} if is_required else {}))


def _field(chat: Any, *names: str) -> str | None:
    """The field of a model that has one of some names, or such an alias."""
    fields = type(chat).model_fields
    return next((field for name in names for field, about in fields.items() if name in (field, about.alias)), None)


def _message(message: Message, entry: dict[str, Any], refused: Refused) -> Any:
    """A message as LangChain's; an unchanged one of the assistant is the very one that came.

    Args:
        entry: The message in the form of chat completions.
    """
    from langchain_core.messages import convert_to_messages, messages_from_dict

    stored = (message.extra or {}).get("langchain")
    if stored and "extra" not in refused.names:
        own = messages_from_dict([stored])[0]
        reply = _reply(own)
        if split_text(reply.text)[1] == message.content and reply.tool_calls == message.tool_calls:
            return own
    return convert_to_messages([{**entry, "name": message.name} if message.name else entry])[0]


def _reply(answer: Any) -> Reply:
    """The reply in a model's message."""
    from langchain_core.messages import message_chunk_to_message, message_to_dict

    try:
        answer = message_chunk_to_message(answer)
        about, more, blocks = answer.response_metadata or {}, answer.additional_kwargs or {}, answer.content_blocks
        cut = (about.get("incomplete_details") or {}).get("reason")
        refusals = [block["refusal"] for block in blocks if block["type"] == "refusal"]
        calls = [call for key in CALLS for call in getattr(answer, key, ())]
        message = {
            "content": str(answer.text),
            "refusal": "".join(refusals or [more.get("refusal") or ""]),
            "reasoning": [block.get("reasoning") or "" for block in blocks if block["type"] == "reasoning"],
            "tool_calls": [{"id": c["id"], "function": {"name": c["name"], "arguments": c["args"]}} for c in calls],
        }
        has_more = not isinstance(answer.content, str) or any(more[key] for key in more if key != "tool_calls")
        extra = {"langchain": json.loads(json.dumps(message_to_dict(answer), default=str))} if has_more else None
        message, extra = clean_data([message, extra])
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise LLMError("reply", f"no reply in a {type(answer).__name__} ({type(error).__name__}: {error})") from None
    usage = getattr(answer, "usage_metadata", None) or about.get("token_usage") or about.get("usage")
    choice = {"message": message, "finish_reason": cut or next(filter(None, map(about.get, ENDINGS)), None)}
    return dataclasses.replace(parse_reply({"choices": [choice], "usage": usage}), extra=extra)
