"""Chat completions for the workflow `agent`: parses a body into a `Request` and renders a `Reply` as a completion.

The grid decides sampling: temperature, seed and model of a body are ignored. Options that change the form of the reply
and are not supported by every LLM are refused.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StrictStr, ValidationError

from r_eval.errors import describe_invalid
from r_eval.llms.base import LLMError, Message, Reply, Request, Role, ToolSpec
from r_eval.llms.chat import Refused, chat_message
from r_eval.llms.reply import decode_body, parse_reply
from r_eval.llms.tool_calls import SOUND_NAME, repair_history

MODEL = "r-eval"
"""The name under which a program finds the episode's LLM."""
ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "tool": "tool"}
Length = Annotated[int, Field(ge=1)]


class InvalidRequest(ValueError):
    """A body cannot be answered; the message says why."""


class Parameters(BaseModel, extra="allow"):
    type: Literal["object"] = "object"


class Function(BaseModel):
    name: StrictStr
    description: StrictStr | None = None
    parameters: Parameters | None = None


class FunctionTool(BaseModel):
    type: Literal["function"] = "function"
    function: Function


class Body(BaseModel):
    """The fields of a chat completion's body that R-Eval reads."""

    messages: list[dict[str, Any]] = Field(min_length=1, max_length=2_000)
    n: Literal[1] | None = None
    logprobs: Literal[False] | None = None
    functions: Annotated[list[Any], Field(max_length=0)] | None = None
    response_format: dict[Literal["type"], Literal["text"]] | None = None
    stop: StrictStr | Annotated[list[StrictStr], Field(max_length=16)] | None = None
    max_tokens: Length | None = None
    max_completion_tokens: Length | None = None
    tools: Annotated[list[FunctionTool], Field(max_length=128)] | None = None
    tool_choice: Literal["auto", "none", "required"] | FunctionTool | None = None
    parallel_tool_calls: bool | None = None
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None


def parse_request(data: bytes) -> tuple[Body, Request]:
    """The body of a chat completion and the request in it. System messages are merged into one at the start, the only
    place that many chat templates support.

    Raises:
        InvalidRequest: It is not a JSON object, a key has a wrong value, or a tool is chosen that is not offered.
    """
    try:
        body = Body.model_validate(decode_body(data))
    except ValidationError as error:
        problem = error.errors()[0]
        location = ".".join(map(str, problem["loc"])) or "the body"
        raise InvalidRequest(f"{location}: {describe_invalid(problem)}"[:500]) from None
    except ValueError as error:
        raise InvalidRequest(f"the body is not JSON ({error})") from None
    stop = (body.stop,) if isinstance(body.stop, str) else tuple(body.stop or ())
    functions, required = [tool.function for tool in body.tools or ()], body.tool_choice == "required"
    if isinstance(body.tool_choice, FunctionTool):  # only this tool is offered
        tool_name, required = body.tool_choice.function.name, True
        functions = [function for function in functions if function.name == tool_name]
        if not functions:
            raise InvalidRequest(f"tool_choice names the tool {tool_name[:60]!r}, which is not offered")
    names = {function.name for function in functions}
    if len(names) < len(functions) or not all(map(SOUND_NAME.fullmatch, names)):
        raise InvalidRequest("tools: each needs a name of its own of at most 64 letters, digits, '_' and '-'")
    tools = tuple(ToolSpec(f.name, f.description or "", (f.parameters or Parameters()).model_dump()) for f in functions)
    length = body.max_completion_tokens or body.max_tokens
    choice: Literal["auto", "required"] = "required" if required and tools else "auto"
    messages = [_message(entry) for entry in body.messages]
    systems = [message.content for message in messages if message.role == "system"]
    merged = [Message("system", "\n\n".join(systems))] if systems else []
    merged += [message for message in messages if message.role != "system"]
    return body, Request(tuple(merged), stop, length, tools, choice)


def _message(entry: dict[str, Any]) -> Message:
    """A message; its content is a string or a list of text parts."""
    role, content = str(entry.get("role")), entry.get("content")
    if role == "assistant":
        try:
            return parse_reply({"choices": [{"message": entry}]}).message()
        except LLMError as error:
            raise InvalidRequest(f"a message of the assistant cannot be read: {error}") from None
    if role not in ROLES:
        raise InvalidRequest(f"the role {role[:30]!r} is unknown")
    parts = content if isinstance(content, list) else [content]
    texts: list[Any] = [part.get("text") if isinstance(part, dict) else part for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidRequest("the content of a message must be text")
    call_id = entry.get("tool_call_id") if role == "tool" else ""
    if not isinstance(call_id, str):
        raise InvalidRequest("a message of a tool needs its tool_call_id")
    return Message(ROLES[role], "".join(texts), call_id=call_id)


def completion(reply: Reply, request: Request, body: Body, number: int) -> dict[str, Any]:
    """A reply as a chat completion; its calls get ids that are unique in the conversation.

    A call with unreadable arguments is passed on without them, so that its tool reports what it needs.

    Args:
        number: Number of the completion in its episode.
    """
    made = reply.message(reply.text if body.tool_choice == "none" else None)
    if made.tool_calls:
        repaired = repair_history((*request.messages, made))
        made = next(message for message in reversed(repaired) if message.role == "assistant")
        if body.parallel_tool_calls is False:
            made = dataclasses.replace(made, tool_calls=made.tool_calls[:1])
    message = chat_message(made, Refused(reasoning="reasoning_content"))
    message["content"] = message["content"] or None
    reason = "length" if reply.finish == "length" else "tool_calls" if made.tool_calls else "stop"
    tokens = {"prompt_tokens": reply.tokens.prompt, "completion_tokens": reply.tokens.completion}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {**tokens, "total_tokens": sum(tokens.values())},
    }


def completion_chunks(whole: Mapping[str, Any], body: Body) -> Iterator[dict[str, Any]]:
    """A completion as the chunks of a stream: the message, its end and, on request, the usage."""
    (choice,) = whole["choices"]
    delta = dict(choice["message"])
    if "tool_calls" in delta:
        delta["tool_calls"] = [{"index": i, **call} for i, call in enumerate(delta["tool_calls"])]
    head = {**{key: whole[key] for key in ("id", "created", "model")}, "object": "chat.completion.chunk"}
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if body.stream_options and body.stream_options.get("include_usage"):
        yield {**head, "choices": [], "usage": whole["usage"]}
