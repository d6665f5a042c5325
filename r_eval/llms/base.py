"""The LLM protocol: one async method that turns a request into a reply, or raises one `LLMError`.

Nothing above this room knows which backend answers. Native tool calls and tool calls written as text arrive as the
same `ToolCall` (see `tool_calls`). Messages, requests and replies are slotted dataclasses: a run makes millions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from r_eval import plugins
from r_eval.errors import UserError, describe_invalid
from r_eval.records import OutcomeKind, Tokens

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
        id: Given by the server, or "" if it gave none; the answer to the call carries it.
        arguments: As a JSON object; {} where they could not be read.
        error: Says what was wrong where the call could not be read whole.
        extra: Non-null keys of the call that R-Eval does not know (a signature, say), sent back as they came.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    error: str | None = None
    extra: dict[str, Any] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Attributes:
        call_id, name: Of the call that a tool message answers.
        reasoning: What an assistant thought; sent back only to providers that ask for it.
        extra: Non-null keys of an assistant's message that R-Eval does not know, sent back as they came.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
    reasoning: str = ""
    extra: dict[str, Any] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """What an LLM is asked.

    Attributes:
        stop: Generation ends before any of these texts.
        max_tokens: Of the reply; None leaves it to the LLM's own setting.
        tools: Offered tools.
        tool_choice: "required" asks for a call, "auto" leaves it to the LLM.
        seed: For sampling; None if generation is greedy.
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
        reasoning: The model's hidden thinking, where it is separate from the text.
        extra: Non-null keys of the message that R-Eval does not know.
        retries: Attempts that failed before this reply.
        queue: Seconds of waiting for a turn, here or in the server, where they are known.
        retry: Seconds lost in failed attempts and in the waits after them.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    tokens: Tokens = dataclasses.field(default_factory=Tokens)
    estimated: bool = False
    reasoning: str = ""
    extra: dict[str, Any] | None = None
    retries: int = 0
    queue: float = dataclasses.field(default=0.0, compare=False)
    retry: float = dataclasses.field(default=0.0, compare=False)

    def message(self, text: str | None = None) -> Message:
        """The reply as the assistant's message, with all that its server wants back.

        Args:
            text: In place of the reply's own text; the tool calls are left out then.
        """
        calls = self.tool_calls if text is None else ()
        return Message("assistant", self.text if text is None else text, calls, "", "", self.reasoning, self.extra)

    @property
    def flaw(self) -> str | None:
        """Why the reply is not a whole one: "length", "content_filter", "refusal" or "empty"; None if it is."""
        if self.finish in ("length", "content_filter", "refusal"):
            return self.finish
        return None if self.text.strip() or self.tool_calls else "empty"


class LLMError(Exception):
    """An LLM gave no reply; `failures` says which cause a server's answer has.

    Attributes:
        cause: One word: a key of `OUTCOMES`.
        wait: Seconds that the server asks to wait before another attempt, if it does.
        parameter: For the cause "parameter": what the server does not take, as a name in the request's body,
            "system", "tools", or "reasoning_content+" for a key that it wants and was not sent.
        text: For the cause "tool_call": what the model wrote, where the provider repeats it.
        retries, queue, retry: As those of a reply.
    """

    RETRIED: ClassVar[frozenset[str]] = frozenset({"connection", "timeout", "rate_limit", "server", "reply"})
    """Causes that may pass: another attempt is worth making."""

    FATAL: ClassVar[frozenset[str]] = frozenset({"key", "model", "quota"})
    """Causes that stop the LLM for the whole run."""

    OUTCOMES: ClassVar[Mapping[str, OutcomeKind]] = {
        **{"context": "exhausted", "content_filter": "gave_up", "tool_call": "gave_up"},
        **dict.fromkeys((*RETRIED, *FATAL, "request", "parameter"), "llm_failure"),
    }
    """How an episode ends that meets a cause and cannot go on."""

    text: str = ""
    retries: int = 0
    queue: float = 0.0
    retry: float = 0.0

    def __init__(self, cause: str, message: str, *, wait: float | None = None, parameter: str = "") -> None:
        super().__init__(message)
        self.cause, self.wait, self.parameter = cause, wait, parameter

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.cause, str(self)), self.__dict__

    @property
    def outcome(self) -> OutcomeKind:
        """The outcome of an episode that ends with this error."""
        return self.OUTCOMES.get(self.cause, "llm_failure")


class Price(BaseModel):
    """USD per million tokens.

    Attributes:
        prompt, completion: Of tokens of prompts and replies.
        cached: Of prompt tokens that the server did not compute again; by default like the others.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached: float | None = Field(None, ge=0)

    def cost(self, tokens: Tokens) -> float:
        """USD for one call."""
        cached = self.prompt if self.cached is None else self.cached
        fresh = tokens.prompt - tokens.cached
        return (fresh * self.prompt + tokens.cached * cached + tokens.completion * self.completion) / 1e6


class LLMSettings(BaseModel):
    """What a grid may set for every LLM; a backend's own settings extend it.

    Attributes:
        temperature: 0 is greedy.
        max_tokens: Tokens of a reply; a longer one is cut.
        price: By default looked up by the model's name.
        connections: Requests in flight at once; None leaves it to the backend.
        timeout: Seconds that one attempt may take.
        num_gpus: GPUs that one copy takes on a machine of a cluster.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    temperature: float = Field(0.0, ge=0)
    max_tokens: int = Field(512, ge=1)
    connections: int | None = Field(None, ge=1)
    price: Price | None = None
    timeout: float = Field(120.0, gt=0)
    num_gpus: float = Field(0.0, ge=0)


_SYNONYMS = {
    "max_tokens": "n_predict num_predict max_new_tokens max_output_tokens max_completion_tokens max_length",
    "timeout": "request_timeout max_time",
    "connections": "concurrency max_concurrency parallel num_parallel workers num_workers batch_size",
    "base_url": "url endpoint host server address api_base openai_api_base",
    "api_key_env": "key api_key token",
    "requests_per_minute": "rpm",
    "tokens_per_minute": "tpm",
    "reasoning": "reasoning_effort effort thinking",
    "context": "n_ctx num_ctx ctx_size context_length max_model_len",
    "gpu_layers": "ngl",
    "price": "cost",
    "prompt": "input",
    "completion": "output",
}
SYNONYMS = {word: name for name, words in _SYNONYMS.items() for word in words.split()}
"""What other tools call a setting."""


class LLM:
    """Base of the backends. A backend is a module of this room, named as the prefix in a grid (`gguf/...`).

    Args:
        model: The part of the name after the prefix.
        settings: The grid's further keys for this LLM; what is not an object of the class's `Settings` becomes one.

    Attributes:
        name: As the grid names it; part of the system's name.
        spec: The backend and model of the grid's entry, whatever its name and the folder of its file.
        connections: Requests that may be in flight at once.
        native_tools: Whether `generate` understands `Request.tools`; else they are described in the prompt.
        chat: False for a base model, which completes a text and knows no roles.
        adaptations: What is sent differently from what the grid says, with the reason: {"temperature": "..."}.
    """

    Settings: ClassVar[type[LLMSettings]] = LLMSettings
    """The settings that this backend takes."""

    CONNECTIONS: ClassVar[int] = 1
    """Connections where the grid names no number."""

    native_tools: bool = False
    chat: bool = True

    cacheable: bool = True
    """Whether a greedy reply is worth storing: it costs time or money, and the same request reproduces it."""

    is_local: ClassVar[bool] = False
    """Whether every process that opens it loads a model of its own, with connections of its own."""

    def __init__(self, name: str, model: str, settings: LLMSettings | Mapping[str, Any]) -> None:
        if not isinstance(settings, LLMSettings):
            settings = self.Settings.model_validate(dict(settings))
        self.name = self.spec = name
        self.model, self.settings = model, settings
        self.temperature, self.max_tokens = settings.temperature, settings.max_tokens
        self.connections = settings.connections or self.CONNECTIONS
        self.num_gpus, self.price = settings.num_gpus, settings.price
        self.adaptations: dict[str, str] = {}

    @property
    def is_greedy(self) -> bool:
        """Whether the same request gives the same reply: the temperature is 0, and the server takes it."""
        return self.temperature == 0 and "temperature" not in self.adaptations

    def cost(self, tokens: Tokens) -> float | None:
        """USD for one call by the grid's price; None if no price is known, which is never the same as 0."""
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
        """Release everything; may be called more than once."""

    async def generate(self, request: Request) -> Reply:
        """Answer a request.

        Raises:
            LLMError: There is no reply, after all retries.
        """
        raise NotImplementedError

    def identity(self) -> dict[str, Any]:
        """What decides the replies besides the request: part of a cell's fingerprint, and of a stored reply's key."""
        return {"llm": self.spec, "temperature": self.temperature, "max_tokens": self.max_tokens}


def make_llm(name: str, settings: Mapping[str, Any] | None = None) -> LLM:
    """The LLM of a name such as `gguf/smollm2-135m` or `openai/gpt-4o-mini`, not opened yet.

    Raises:
        UserError: The backend or a setting is unknown, or a setting has the wrong type.
    """
    prefix, slash, model = name.partition("/")
    if not slash or not model:
        known = ", ".join(f"{p}/..." for p in plugins.names("llms", LLM))
        raise UserError(f"LLM '{name}': expected <backend>/<model>; the backends: {known}")
    backend: type[LLM] = plugins.load("llms", prefix, LLM)
    try:
        return backend(name, model, backend.Settings.model_validate(dict(settings or {})))
    except ValidationError as error:
        raise UserError(f"LLM '{name}': {_complaint(error, backend.Settings)}") from None


def _complaint(error: ValidationError, settings: type[LLMSettings]) -> str:
    """What is wrong with the settings of an LLM, an unknown one before anything else."""
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    key, name = ".".join(map(str, first["loc"])), str(first["loc"][-1])
    if first["type"] == "extra_forbidden":
        known = settings.model_fields if key == name else Price.model_fields
        if isinstance(inside := first["input"], dict) and any(SYNONYMS.get(k, k) in known for k in inside):
            return f"{key}: settings of an LLM go next to its name, not inside another key"
        return f"{key.removesuffix(name).replace('.', ': ')}{plugins.unknown('setting', name, known, SYNONYMS)}"
    return f"{key} is missing" if first["type"] == "missing" else f"{key} {describe_invalid(first)}"
