"""The LLM protocol: one async method that turns a request into a reply.

Nothing above this room knows which backend answers. Native tool calls and tool calls written as text arrive as the
same `ToolCall` (see `tools`). Messages, requests and replies are slotted dataclasses: they are made by the million.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from r_eval.records import Tokens

Role = Literal["system", "user", "assistant", "tool"]
Finish = Literal["stop", "length", "tool_calls", "content_filter", "refusal", "unknown"]


@dataclasses.dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool offered to an LLM; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that an LLM made.

    Attributes:
        id: Given by the server, or made here; the answer to the call carries it.
        arguments: As a JSON object; {} where they could not be read.
        error: Says what was wrong where the call could not be read whole.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    error: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; `call_id` and `name` are those of the call that a tool message answers."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """What an LLM is asked.

    Attributes:
        stop: Generation ends before any of these texts.
        max_tokens: Of the reply; None leaves it to the LLM's own setting.
        tools: Offered tools.
        tool_choice: "required" asks for a call, "auto" leaves it to the LLM.
        seed: Of an LLM that draws by chance; None where it is greedy.
    """

    messages: tuple[Message, ...]
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "required"] = "auto"
    seed: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """What an LLM answered.

    Attributes:
        text: Without tool calls and without reasoning.
        tool_calls: In the order in which they were made.
        finish: Why generation ended.
        tokens: Counted by the server; estimated where `estimated` says so.
        reasoning: The model's hidden thinking, where it is told apart.
        retries: Attempts that failed before this reply.
        queue: Seconds of waiting for a turn, here or in the server, where they are known.
        retry: Seconds lost in attempts that failed, and in the waits after them.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    tokens: Tokens = dataclasses.field(default_factory=Tokens)
    estimated: bool = False
    reasoning: str = ""
    retries: int = 0
    queue: float = dataclasses.field(default=0.0, compare=False)
    retry: float = dataclasses.field(default=0.0, compare=False)


class LLMError(Exception):
    """An LLM gave no reply.

    Attributes:
        cause: "context" (the request is longer than the model can read: the system's own doing), or one of the
            machinery's causes: "connection", "timeout", "rate_limit", "server", "request", "key", "model", "quota",
            "reply". "content_filter" is the provider's, and final.
        retries, queue, retry: As those of a reply.
    """

    def __init__(self, cause: str, message: str, retries: int = 0, queue: float = 0.0, retry: float = 0.0) -> None:
        super().__init__(message)
        self.cause = cause
        self.retries, self.queue, self.retry = retries, queue, retry


@dataclasses.dataclass(frozen=True, slots=True)
class Price:
    """USD a million tokens; what is cached costs as much as the rest of the prompt unless `cached` says less."""

    prompt: float
    completion: float
    cached: float | None = None

    def __post_init__(self) -> None:
        for value in (self.prompt, self.completion, self.cached or 0):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"{value!r} is not a number")

    def cost(self, tokens: Tokens) -> float:
        """USD for one call."""
        cached = self.prompt if self.cached is None else self.cached
        fresh = tokens.prompt - tokens.cached
        return (fresh * self.prompt + tokens.cached * cached + tokens.completion * self.completion) / 1e6


class LLM:
    """Base of the backends. A backend is a module of this room, named as the prefix in a grid (`gguf/...`).

    Args:
        model: What stands behind the prefix.
        settings: The grid's further keys for this LLM.

    Attributes:
        name: As the grid names it; part of the system's name.
        given: The backend and model of the grid's entry, whatever its name and wherever a file of it lies.
        connections: Requests that may be under way at once.
        native_tools: Whether `generate` understands `Request.tools`; else they are asked for in the prompt.
        price: USD for tokens, or None where it is not known.
        num_gpus: GPUs that a copy of it takes on a machine of a cluster.
    """

    SETTINGS: ClassVar[Mapping[str, type | tuple[type, ...]]] = {}
    """Setting names that this backend takes, with their types, besides those that every LLM takes."""

    native_tools: bool = False

    cached: ClassVar[bool] = True
    """Whether a greedy reply is worth keeping: it costs time or money, and the same request gives it again."""

    copied: ClassVar[bool] = False
    """Whether every process that opens it loads a model of its own, with connections of its own."""

    def __init__(self, name: str, model: str, settings: Mapping[str, Any]) -> None:
        self.name = self.given = name
        self.model = model
        self.temperature = float(settings.get("temperature", 0.0))
        self.max_tokens = int(settings.get("max_tokens", 512))
        self.connections = int(settings.get("connections", 1))
        self.num_gpus = float(settings.get("num_gpus", 0))
        price = settings.get("price")
        self.price = Price(**price) if price else None

    def cost(self, tokens: Tokens) -> float | None:
        """USD for one call by the grid's price; None where no price is known, which is never the same as 0."""
        return self.price.cost(tokens) if self.price is not None else None

    def fetch(self) -> None:
        """Bring onto this machine what is not there yet, before a run begins; may draw progress on standard error.

        Raises:
            UserError: It cannot be had, or a file is wrong.
        """

    async def open(self) -> None:
        """Get ready: load the model, or see that the server is there.

        Raises:
            LLMError: It cannot be reached.
            UserError: A file or a setting is wrong.
        """

    async def close(self) -> None:
        """Let go of everything; may be called more than once."""

    async def generate(self, request: Request) -> Reply:
        """Answer a request.

        Raises:
            LLMError: There is no reply, after all retries.
        """
        raise NotImplementedError

    def identity(self) -> dict[str, Any]:
        """What decides the replies besides the request: part of a cell's fingerprint, and of a kept reply's key."""
        return {"llm": self.given, "temperature": self.temperature, "max_tokens": self.max_tokens}
