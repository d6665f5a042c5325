"""What a workflow is: one async method that leads an LLM through a session to an answer.

A workflow sees the question without its gold (`TaskInput`), a session that carries out calls, and an LLM; it returns
how the episode ended. Thoughts and calls are recorded by the LLM and the session as they happen, so that a workflow
cannot forget to. Limits that hold for all (tokens, calls, seconds) end an episode from outside, as an exception that
a workflow lets pass. It counts its own steps, and raises the same exception (`LimitReached`) where they are used up.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any, ClassVar, Protocol

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import ProgramResult
from r_eval.environments.schema import ApiSpec
from r_eval.environments.session import CallResult
from r_eval.errors import UserError
from r_eval.fingerprints import code_hashes, short_hash
from r_eval.llms.base import Message, Reply, Request, ToolSpec
from r_eval.plugins import unknown
from r_eval.records import Document, Outcome, OutcomeKind, Question, Step


class SessionProtocol(Protocol):
    """What a workflow may do with an environment; see `r_eval.environments.session.Session`."""

    specs: dict[str, ApiSpec]
    description: str

    async def call(self, api: str, arguments: dict[str, Any], positional: Sequence[Any] = ()) -> CallResult: ...

    async def run_program(
        self, code: str, inputs: dict[str, Any] | None = None, expressions: Sequence[str] = ()
    ) -> ProgramResult: ...

    def state(self) -> Environment: ...

    def restore(self, state: Environment) -> None: ...


class LLMProtocol(Protocol):
    """What a workflow may do with an LLM, and with the record of what it said itself.

    Attributes:
        chat: False for a base model, which knows no roles: it completes one text.
    """

    @property
    def chat(self) -> bool: ...

    async def generate(self, request: Request, depth: int | None = None) -> Reply: ...

    def note(self, text: str) -> None:
        """Record a message of the workflow's own, such as that an action could not be read."""

    def fault(self, error: str) -> None:
        """Record what the workflow found wrong with the latest reply, such as "invented"; see `Step.error`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Demonstration:
    """A worked example: a question, its gold program, the calls that the program made, and its answer.

    Attributes:
        thoughts: The reasoning before each call and before the answer, from the program's comments; "" for none.
    """

    question: str
    program: str
    calls: tuple[Step, ...]
    answer: str
    thoughts: tuple[str, ...] = ()

    def thought(self, place: int) -> str:
        """The reasoning before a call, by its place; before the answer at the place after the last call."""
        return self.thoughts[place] if place < len(self.thoughts) else ""


@dataclasses.dataclass(frozen=True, slots=True)
class TaskInput:
    """A question as a workflow sees it: nothing of the gold.

    Attributes:
        text: The question.
        instruction: How the task wants its answers, such as "a name or a short phrase".
        demonstrations: The same for every workflow.
        context: Documents that stand in the prompt before the question.
        query: What a retriever is asked, where that is not the text.
        long: Whether the answer is a text, of which every line counts; else it is a phrase.
        solution: The whole question, given only to workflows that declare `uses_gold` (references such as the oracle).
    """

    text: str
    instruction: str = ""
    demonstrations: tuple[Demonstration, ...] = ()
    context: tuple[Document, ...] = ()
    query: str = ""
    long: bool = False
    solution: Question | None = None

    def with_documents(self, text: str) -> str:
        """A text, such as the question, after the documents that stand in the prompt."""
        return "\n\n".join([*(f"{d.title}\n{d.text}".strip() for d in self.context), text])


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one episode.

    Attributes:
        steps: Turns, one reply of the LLM each with what is done with it; of a search over a tree, those of a branch.
        tokens: Prompt and completion tokens of all LLM calls together; None for no bound. No call is begun once they
            are used up. Where a last chance is to be given, room for it is kept: as many as the latest call took.
        seconds: Wall time.
        observation: Tokens of one observation, at four characters a token; longer ones are cut and say so.
        calls: LLM calls, a last chance among them; None for no bound.
        last_chance: Whether an LLM whose steps, tokens or calls are used up is asked once more, for an answer from what
            it has. A last chance is no step. It is not given where no room is left, nor when the time is over.
    """

    steps: int = 10
    tokens: int | None = None
    seconds: float = 300.0
    observation: int = 1000
    calls: int | None = None
    last_chance: bool = True


CALLS_PER_TURN = 8
"""Tool calls of one reply that are carried out."""
FINISH = ToolSpec(
    "Finish",
    "End with the answer.",
    {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]},
)
"""The tool with which an answer is given, beside the query APIs."""


class LimitReached(Exception):
    """A limit ends the episode; `cause` names it: "steps", "tokens", "calls".

    Attributes:
        messages: The conversation so far, from which an answer may still be asked for; () for none.
    """

    def __init__(self, cause: str, detail: str, messages: Sequence[Message] = ()) -> None:
        super().__init__(detail)
        self.cause, self.messages = cause, tuple(messages)


@dataclasses.dataclass(frozen=True, slots=True)
class WorkflowResult:
    """How an episode ended: the answer in the model's own text ("" for none), and the outcome.

    Attributes:
        how: How the answer was read out of the reply: "finish", "text", "program", "last_chance", or "unparsed".
    """

    answer: str
    outcome: Outcome
    how: str = ""


class Workflow:
    """Base of the workflows. Settings are the constructor's keyword arguments.

    Attributes:
        uses_llm: False for a workflow that needs none; its LLM is called `none`.
        uses_tools: Whether the query APIs are offered.
        uses_gold: Whether it is given the gold, which makes it a reference that is not ranked.
        retrieves: Whether its prompt holds what it retrieved, and not all documents among which it can retrieve.
        branches: Whether it goes back to earlier states of the environment, where these can be copied.
        last_chance: Whether its requests are a conversation that can end in a last chance; see `Limits`.
        PROMPTS: Names of its prompt files.
    """

    uses_llm: ClassVar[bool] = True
    uses_tools: bool = True
    uses_gold: bool = False
    retrieves: ClassVar[bool] = False
    branches: ClassVar[bool] = False
    last_chance: ClassVar[bool] = True
    PROMPTS: ClassVar[tuple[str, ...]] = ()

    async def prepare(self) -> None:
        """Get ready for an episode, in time that counts against no limit."""

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        """Lead the LLM to an answer."""
        raise NotImplementedError

    def most_calls(self, limits: Limits) -> int:
        """LLM calls of an episode, at most, before `limits.calls`: by default, a turn each and the last chance."""
        if not (self.uses_llm and self.uses_tools):
            return int(self.uses_llm)
        return limits.steps + int(limits.last_chance and self.last_chance)

    def settings(self) -> dict[str, Any]:
        """The settings in force, by the names of the constructor's arguments."""
        return {name: getattr(self, name) for name in list(inspect.signature(type(self)).parameters)}

    def identity(self) -> dict[str, Any]:
        """What decides the workflow's behaviour: part of a cell's fingerprint.

        Beside the settings: `code`, the hashes of the files of a workflow that does not come with R-Eval, and `prompt`,
        those of its prompts.
        """
        names = (*self.PROMPTS, "last_chance") if self.last_chance else self.PROMPTS
        owner: Any = type(self)
        prompts = {name: short_hash(prompt_text(owner, name)) for name in names}
        return {**self.settings(), "code": code_hashes(type(self), Workflow), "prompt": prompts}


def make(cls: type[Workflow], name: str, settings: dict[str, Any]) -> Workflow:
    """A workflow with its settings.

    Raises:
        UserError: A setting is unknown, or has a value that the workflow refuses.
    """
    known = list(inspect.signature(cls).parameters)
    for key in settings:
        if key not in known:
            raise UserError(f"workflow '{name}': {unknown('setting', key, known)}")
    try:
        return cls(**settings)
    except (TypeError, ValueError) as error:
        raise UserError(f"workflow '{name}': {error}") from None


def positive(name: str, value: int) -> int:
    """A setting that must be a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
    return value


@functools.cache
def prompt_text(owner: Any, name: str) -> str:
    """The text of a prompt file: `prompts/<name>.md` beside the workflow's module, or beside that of a class which it
    is made from. It is read once, so that all episodes of a run are sent the same; the next plan reads it anew.

    Args:
        owner: The workflow's class.
    """
    folders = [Path(inspect.getfile(cls)).parent for cls in owner.__mro__ if issubclass(cls, Workflow)]
    files = [folder / "prompts" / f"{name}.md" for folder in folders]
    path = next((file for file in files if file.exists()), files[0])
    return path.read_text(encoding="utf-8").strip()


def prompt(owner: type[Workflow], name: str, **values: str) -> str:
    """A prompt file with its $names filled in; nothing that is filled in is read for $names again."""
    cls: Any = owner
    return Template(prompt_text(cls, name)).substitute(values)


def finished(answer: str, how: str) -> WorkflowResult:
    """An episode that ended with an answer."""
    return WorkflowResult(answer, Outcome(kind="finished"), how)


def ended(kind: OutcomeKind, cause: str, detail: str = "", answer: str = "") -> WorkflowResult:
    """An episode that ended otherwise."""
    return WorkflowResult(answer, Outcome(kind=kind, cause=cause, detail=detail), "" if answer else "unparsed")


def tool_specs(session: SessionProtocol) -> list[ToolSpec]:
    """The query APIs as tools."""
    return [ToolSpec(s.name, f"{s.summary} {s.details}".strip(), s.json_schema()) for s in session.specs.values()]


def completed(messages: Sequence[Message], start: str) -> tuple[Message, ...]:
    """A conversation as one text for a base model to complete: the reply goes on after `start`.

    An empty line stands before everything but what the LLM said and what it observed, which follow at once.
    """
    follows = [m.role == "assistant" or m.content.startswith("Observation ") for m in messages]
    parts = [m.content if is_next else f"\n{m.content}" for m, is_next in zip(messages, follows, strict=True)]
    return (Message("user", "\n".join([*parts, start]).strip()),)


def with_note(messages: Sequence[Message], text: str) -> tuple[Message, ...]:
    """A conversation with a text of the workflow at its end: in the latest message where that is the user's or a
    tool's, since many chat templates want the turns of user and assistant to alternate.
    """
    *before, last = messages
    if last.role == "assistant":
        return (*messages, Message("user", text))
    return (*before, dataclasses.replace(last, content=f"{last.content}\n\n{text}"))
