"""The workflow interface: one async method that guides an LLM through a session to an answer.

The LLM and the session record thoughts and calls themselves. The runner enforces limits on tokens, calls and seconds
with an exception that a workflow must not catch (`LimitReached`); a workflow raises it when its steps are used up.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from string import Template
from typing import Any, ClassVar, Protocol

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import ProgramResult
from r_eval.environments.schema import ApiSpec
from r_eval.environments.session import CallResult
from r_eval.errors import UserError
from r_eval.fingerprints import code_hashes, module_file, short_hash
from r_eval.grid import Limits as Limits  # part of the interface of workflows
from r_eval.isolation import describe
from r_eval.llms.base import Message, Reply, Request
from r_eval.plugins import signature_of, unknown
from r_eval.records import Document, Outcome, OutcomeKind, Question, Step


class SessionProtocol(Protocol):
    """The operations of a workflow on an environment; see `r_eval.environments.session.Session`."""

    specs: dict[str, ApiSpec]
    description: str

    async def call(self, api: str, arguments: dict[str, Any], positional: Sequence[Any] = ()) -> CallResult: ...

    async def run_program(
        self, code: str, inputs: dict[str, Any] | None = None, expressions: Sequence[str] = ()
    ) -> ProgramResult: ...

    def state(self) -> Environment: ...

    def restore(self, state: Environment) -> None: ...


class LLMProtocol(Protocol):
    """The operations of a workflow on an LLM and on the record of the episode.

    Attributes:
        chat: False for a base model, which has no roles and completes one text.
    """

    @property
    def chat(self) -> bool: ...

    async def generate(self, request: Request, depth: int | None = None) -> Reply: ...

    def note(self, text: str) -> None:
        """Record a message of the workflow, such as that an action could not be parsed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Demonstration:
    """A worked example: a question, its gold program, the calls that the program made, and its answer.

    Attributes:
        thoughts: The reasoning before each call and, last, before the answer, from the program's comments; "" for none.
    """

    question: str
    program: str
    calls: tuple[Step, ...]
    answer: str
    thoughts: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class TaskInput:
    """A question as a workflow sees it, without the gold.

    Attributes:
        text: The question.
        instruction: The form of answers that the task expects, such as "a name or a short phrase".
        demonstrations: The same for every workflow.
        context: Documents that the prompt contains before the question.
        query: The query for a retriever, if it differs from the text.
        long: Whether the answer is a text of several sentences rather than a phrase.
        solution: The whole question; only for workflows that declare `uses_gold` (references such as the oracle).
    """

    text: str
    instruction: str = ""
    demonstrations: tuple[Demonstration, ...] = ()
    context: tuple[Document, ...] = ()
    query: str = ""
    long: bool = False
    solution: Question | None = None

    def with_documents(self, text: str) -> str:
        """The context documents followed by a text, such as the question."""
        return "\n\n".join([*(f"{d.title}\n{d.text}".strip() for d in self.context), text])


class LimitReached(Exception):
    """A limit ends the episode; `cause` names it: "steps", "tokens", "calls".

    Attributes:
        messages: The conversation so far, which a last chance continues; () for none.
    """

    def __init__(self, cause: str, detail: str, messages: Sequence[Message] = ()) -> None:
        super().__init__(detail)
        self.cause, self.messages = cause, tuple(messages)


@dataclasses.dataclass(frozen=True, slots=True)
class WorkflowResult:
    """The result of an episode: the answer in the model's own words ("" for none) and the outcome.

    Attributes:
        how: The source of the answer: "finish", "text", "program", "last_chance", or "unparsed".
    """

    answer: str
    outcome: Outcome
    how: str = ""


def finished(answer: str, how: str) -> WorkflowResult:
    """The result of an episode that ended with an answer."""
    return WorkflowResult(answer, Outcome(kind="finished"), how)


def ended(kind: OutcomeKind, cause: str, detail: str = "", answer: str = "") -> WorkflowResult:
    """The result of an episode with another outcome."""
    return WorkflowResult(answer, Outcome(kind=kind, cause=cause, detail=detail), "" if answer else "unparsed")


class Workflow:
    """Base of the workflows. Settings are the constructor's keyword arguments.

    Attributes:
        uses_llm: False for a workflow without an LLM; its LLM is called `none`.
        uses_tools: Whether it offers the query APIs to the LLM.
        uses_gold: Whether it gets the gold, which makes it a reference that is not ranked.
        retrieves: Whether its prompt contains retrieved documents instead of all documents of the question.
        branches: Whether it returns to earlier states of the environment, if these can be copied.
        last_chance: Whether its requests form a conversation that can end in a last chance; see `Limits`.
        PROMPTS: Names of its prompt files.
    """

    uses_llm: ClassVar[bool] = True
    uses_tools: bool = True
    uses_gold: bool = False
    retrieves: ClassVar[bool] = False
    branches: ClassVar[bool] = False
    last_chance: ClassVar[bool] = True
    PROMPTS: ClassVar[tuple[str, ...]] = ()

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        """Guide the LLM to an answer."""
        raise NotImplementedError

    @classmethod
    def prompt(cls, name: str, **values: str) -> str:
        """A prompt file with its $names substituted; values are not searched for $names."""
        owner: Any = cls
        return Template(prompt_text(owner, name)).substitute(values)

    def most_calls(self, limits: Limits) -> int:
        """Most LLM calls of an episode, ignoring `limits.calls`: one per turn of a conversation and the last chance."""
        return limits.steps + int(limits.last_chance) if self.last_chance else int(self.uses_llm)

    def settings(self) -> dict[str, Any]:
        """The settings in force, by the names of the constructor's arguments."""
        return {name: getattr(self, name) for name in list(signature_of(type(self)).parameters)}

    def identity(self) -> dict[str, Any]:
        """What determines the workflow's behaviour; part of a cell's fingerprint.

        Contains the settings, `code` (file hashes of a workflow outside R-Eval) and `prompt` (hashes of its prompts).
        """
        names = (*self.PROMPTS, "last_chance") if self.last_chance else self.PROMPTS
        owner: Any = type(self)
        prompts = {name: short_hash(prompt_text(owner, name)) for name in names}
        return {**self.settings(), "code": code_hashes(type(self), Workflow), "prompt": prompts}


def make(cls: type[Workflow], name: str, settings: dict[str, Any]) -> Workflow:
    """A workflow with its settings.

    Raises:
        UserError: A setting is unknown or its value is invalid.
    """
    parameters = list(signature_of(cls).parameters)
    for key in settings:
        if key not in parameters:
            raise UserError(f"workflow '{name}': {unknown('setting', key, parameters)}")
    try:
        return cls(**settings)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        why = error if isinstance(error, TypeError | ValueError) else describe(error)
        raise UserError(f"workflow '{name}': {why}") from error


def positive_int(name: str, value: int) -> int:
    """Validate a setting that must be a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
    return value


@functools.cache
def prompt_text(owner: Any, name: str) -> str:
    """The text of a prompt file: `prompts/<name>.md` next to the module of the workflow or of a base class. It is read
    once, so that all episodes of a run use the same text; the next plan reads it again.

    Args:
        owner: The workflow's class.
    """
    folders = [module_file(cls.__module__).parent for cls in owner.__mro__ if issubclass(cls, Workflow)]
    files = [folder / "prompts" / f"{name}.md" for folder in folders]
    path = next((file for file in files if file.exists()), files[0])
    return path.read_text(encoding="utf-8").strip()
