"""`responses/<model>`: the Responses API at OpenAI, at Azure and at servers that speak it, through the openai package.

Conversations are stateless: the server stores nothing, and reasoning goes back encrypted. If a reply has reasoning,
or anything that R-Eval does not know, its output items are in `Reply.extra["items"]` and go back with the message, in
their order; all but the arguments of calls verbatim. The API has no stop texts and no seed. The package signs in and
sends; its own retries and redirects are off, and everything else is as for `openai/`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any, Literal

from r_eval.errors import MissingExtra, UserError
from r_eval.llms import failures
from r_eval.llms.attempts import Unreachable
from r_eval.llms.base import LLMError, Message, Reply, Request, ToolCall
from r_eval.llms.chat import Refused, offered
from r_eval.llms.json_text import plain_data
from r_eval.llms.openai import OPENAI, Address, Answer, OpenAI
from r_eval.llms.reasoning import split_text
from r_eval.llms.reply import parse_reply, read_body
from r_eval.llms.secrets import Secrets
from r_eval.llms.tool_calls import repair_history

TOKEN_SCOPE = "https://cognitiveservices.azure.com/.default"
MIN_OUTPUT = 16
"""The least `max_output_tokens` that OpenAI takes."""
NOTED = frozenset({"temperature", "reasoning", "max_output_tokens", "tool_choice", "tools"})
"""What a request can do without, at the price of not being what the grid says."""
UNNOTED = frozenset({"include", "store"})
"""What a request can do without, and no grid sets."""
NAMES = {"max_tokens": "max_output_tokens", "effort": "reasoning"}
"""Parameters by the names that `failures` has for them."""
COMMENTARY = "commentary"
"""The phase of a message that is no answer: what a model says between its calls."""
MAX_ITEMS = 2000
"""Of a response."""
PLAIN = {"message": {"role", "content"}, "function_call": {"call_id", "name", "arguments"}}
"""Items, by type, with the keys besides type, id and status that are not missed if the items do not go back."""


def _input_items(message: Message) -> list[dict[str, Any]]:
    """A message as input items.

    An unchanged message of the assistant goes back as its reply's own items, in their order. A reasoning item belongs
    to the item after it: the API takes neither without the other, so it is left out if that one was changed.
    """
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.call_id, "output": message.content}]
    if message.role != "assistant":
        return [{"role": "developer" if message.role == "system" else "user", "content": message.content}]
    own: list[dict[str, Any]] = (message.extra or {}).get("items") or []
    calls = {call.id: call for call in message.tool_calls}
    is_unchanged = split_text(_text(own)[0])[1] == message.content
    items: list[dict[str, Any]] = []
    goes_back = False
    for item in reversed(own):
        kind, call = item.get("type"), None
        if kind == "function_call":
            call = calls.pop(item.get("call_id", ""), None)
            goes_back = call is not None
        elif kind != "reasoning":
            goes_back = is_unchanged or kind != "message"
        if goes_back:
            items.append(item if call is None else {**item, **_call_item(call)})
    text = [] if is_unchanged or not message.content else [{"role": "assistant", "content": message.content}]
    return [*text, *reversed(items), *map(_call_item, calls.values())]


def _call_item(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}


def parse_response(data: Any) -> Reply:
    """The reply in a response.

    Raises:
        LLMError: It says that it failed.
        ValueError, TypeError, KeyError, AttributeError: A part of it has a wrong type, or is too much.
    """
    if (error := failures.error_in(data)) is not None:
        raise error
    if len(data["output"]) > MAX_ITEMS:
        raise ValueError(f"more than {MAX_ITEMS} items")
    data = plain_data(data)
    items: list[dict[str, Any]] = [dict(item) for item in data["output"]]
    status, reason = data.get("status"), (data.get("incomplete_details") or {}).get("reason")
    if reason == "content_filter":
        raise LLMError("content_filter", "the content filter cut the response off")
    if status == "failed":
        raise LLMError("server", "the response failed, and does not say why")
    if status not in ("completed", "incomplete", None):
        raise ValueError("it is not complete")
    text, is_refusal = _text(items)
    calls = [item for item in items if item.get("type") == "function_call"]
    thoughts = [item for item in items if item.get("type") == "reasoning" or item.get("phase") == COMMENTARY]
    message = {  # as chat completions have it
        "refusal" if is_refusal else "content": text,
        "reasoning": [part["text"] for item in thoughts for k in ("summary", "content") for part in item.get(k) or ()],
        "tool_calls": [
            {"id": c.get("call_id"), "name": c["name"].strip(), "arguments": c.get("arguments")} for c in calls
        ],
    }
    finish = reason if status == "incomplete" else "tool_calls" if calls else "stop"
    reply = parse_reply({"choices": [{"message": message, "finish_reason": finish}], "usage": data.get("usage")})
    if all(_is_plain(item) for item in items):
        return reply
    items = [{k: item[k] for k in item if (item["type"], k) != ("function_call", "arguments")} for item in items]
    return dataclasses.replace(reply, extra={"items": items})


def _is_plain(item: dict[str, Any]) -> bool:
    known = PLAIN.get(item["type"])
    return known is not None and not any(item[key] for key in item.keys() - known - {"type", "id", "status"})


def _text(items: list[dict[str, Any]]) -> tuple[str, bool]:
    """The text of a response's messages, and whether it is a refusal."""
    messages = [item for item in items if item.get("type") == "message" and item.get("phase") != COMMENTARY]
    parts = [part for item in messages for part in item.get("content") or ()]
    refusals = [part["refusal"] for part in parts if part.get("type") == "refusal"]
    texts = [part["text"] for part in parts if part.get("type") in ("output_text", "text")]
    return "".join(texts) or "".join(refusals), bool(refusals)


class Responses(OpenAI):
    """A model behind the Responses API."""

    class Settings(OpenAI.Settings):
        """Settings of `responses/`, in addition to those of `openai/`.

        Attributes:
            base_url: The address before /responses.
            api_key_env: Environment variable with the key: OPENAI_API_KEY, or AZURE_OPENAI_API_KEY at Azure.
            native_tools: False describes tools in the prompt; None probes whether they reach it.
            azure_endpoint: An Azure resource, such as https://NAME.openai.azure.com; the model is a deployment's name.
            entra: At Azure, sign in with azure-identity's DefaultAzureCredential instead of a key.
            reasoning: How much a reasoning model thinks; None leaves it to the model.
        """

        native_tools: bool | None = True
        azure_endpoint: Address | None = None
        entra: bool = False
        reasoning: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None

    settings: Settings
    _parse = staticmethod(parse_response)

    def __init__(self, name: str, model: str, settings: Settings) -> None:
        super().__init__(name, model, settings)
        self._options: dict[str, Any] = {}
        if settings.azure_endpoint is None:
            if settings.entra:
                raise UserError(f"LLM '{name}': entra needs azure_endpoint")
            return
        if settings.base_url != OPENAI:
            raise UserError(f"LLM '{name}': base_url and azure_endpoint exclude each other")
        self.base_url = f"{settings.azure_endpoint.removesuffix('/openai/v1')}/openai/v1"
        if "api_key_env" not in settings.model_fields_set:
            self.api_key_env = "AZURE_OPENAI_API_KEY"
        self.needs_key = not settings.entra
        self.api_key_env = "" if settings.entra else self.api_key_env

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "reasoning": self.settings.reasoning}

    def _connect(self, key: str, headers: dict[str, str]) -> Any:
        try:
            import openai
        except ImportError:
            raise MissingExtra("openai", "responses", f"The LLM {self.name}") from None
        settings = self.settings
        if settings.api_key_header and key:
            self._options = {"headers": {settings.api_key_header: key, "Authorization": openai.Omit()}}
        return openai.AsyncOpenAI(
            api_key=self._token_provider(list(headers.values())) if settings.entra else key or "none",
            base_url=self.base_url,
            default_headers={"Accept-Encoding": "identity", **headers},
            max_retries=0,
            timeout=None,
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks={"response": [_take_answer]}
            ),
        )

    def _token_provider(self, keys: list[str]) -> Any:
        try:
            from azure.identity.aio import DefaultAzureCredential, get_bearer_token_provider
        except ImportError:
            raise MissingExtra("azure-identity", "azure", f"The LLM {self.name}") from None
        credential, known = DefaultAzureCredential(), ""
        self._resources.push_async_callback(credential.close)
        provider = get_bearer_token_provider(credential, TOKEN_SCOPE)

        async def token() -> str:
            nonlocal known
            value: str = await provider()
            if value != known:  # about once an hour; a pattern of 2,000 characters takes half a second
                known = value
                self._secrets = await asyncio.to_thread(Secrets, value, *keys)
            return value

        return token

    def _body(self, sent: Request, refused: Refused) -> dict[str, Any]:
        messages = repair_history(sent.messages)
        if "extra" in refused.names:
            messages = tuple(dataclasses.replace(message, extra=None) for message in messages)
        first = next((i for i, message in enumerate(messages) if message.role != "system"), 0)
        body: dict[str, Any] = {
            "model": self.model,
            "input": [item for message in messages[first:] for item in _input_items(message)],
            "max_output_tokens": max(MIN_OUTPUT, sent.max_tokens or self.max_tokens),
            "temperature": self.temperature,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if first:
            body["instructions"] = "\n\n".join(message.content for message in messages[:first])
        if sent.tools:
            body["tools"] = [{"type": "function", "strict": False, **tool["function"]} for tool in offered(sent.tools)]
            body["tool_choice"] = sent.tool_choice
        if self.settings.reasoning:
            body["reasoning"] = {"effort": self.settings.reasoning}
        return {key: value for key, value in body.items() if key not in refused.names}

    def _learn_from(self, error: LLMError, sent: Request, refused: Refused) -> bool:
        name = NAMES.get(error.parameter, error.parameter)
        is_learnt = name in NOTED | UNNOTED and name in self._body(sent, refused)
        if is_learnt:
            self.learn(name, str(error), is_noted=name in NOTED)
        return is_learnt

    async def _post(self, body: bytes) -> Answer:
        try:
            async with asyncio.timeout(self.settings.timeout):
                # `responses.create` would compare every item with the types of the package: 5 ms for a short request.
                posted = self._client.post("/responses", content=body, cast_to=bytes, options=self._options)
                return await posted, 200, {}
        except _Answered as answered:
            return answered.answer
        except LLMError:
            raise
        except TimeoutError:
            raise LLMError("timeout", f"no answer within {self.settings.timeout:g} s") from None
        except Exception as error:  # noqa: BLE001  the package, the network and azure-identity raise their own
            inner = error.__cause__  # what reading a body raised, in the package's second version
            failure = inner if isinstance(inner, LLMError) else failures.of_exception(error)
            if failure.cause == "connection":
                raise Unreachable("connection", str(failure)) from None
            raise failure from None


class _Answered(BaseException):
    """An answer on its way past the package, which would decode it without a bound and make errors of its own.

    The package's second version takes every `Exception` for a failed connection.
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


async def _take_answer(answer: Any) -> None:
    """Read a body within the room's bound, and raise it."""
    body = await read_body(answer.aiter_raw(), answer.headers)
    raise _Answered((body, answer.status_code, answer.headers))
