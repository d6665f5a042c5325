"""What a condition is: a change to the environment, and perhaps to the question, that any environment can be put under.

A condition is made once for a grid, by its settings, and is shared by all episodes. When a run is planned it may change
or drop questions; in an episode it is asked for the environment, and whatever is random there is seeded by the episode,
so that the order of episodes does not matter. No gold answer is passed to it in an episode.
"""

from __future__ import annotations

import abc
import copy
import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

from r_eval.environments.base import Environment, is_large, observe, threads
from r_eval.environments.observation import Observation
from r_eval.environments.schema import ApiSpec
from r_eval.records import Document, Question
from r_eval.seeds import Seeds


@dataclasses.dataclass(frozen=True, slots=True)
class ConditionInput:
    """What a condition knows of an episode's question.

    Attributes:
        program: The gold program, if there is one.
        entities: The values that a condition may replace.
        notes: What the condition itself wrote into the question's `meta`, under the keys of `Condition.notes`.
    """

    program: str | None = None
    entities: tuple[str, ...] = ()
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, question: Question, condition: Condition) -> ConditionInput:
        """What a condition may know of a question."""
        notes = {key: question.meta[key] for key in condition.notes if key in question.meta}
        return cls(question.program, tuple(question.entities), notes)


class Condition(abc.ABC):
    """A change to the environment, for one question.

    The settings are the parameters of the class, which raises `ValueError` for one that is out of bounds; of a
    dataclass, they are its fields.

    Attributes:
        notes: Keys of a question's `meta` that `question` writes and `environment` reads.
        dropped: Questions that could not be asked, by reason; set by a condition whose `question` counts them.
    """

    name: ClassVar[str]
    notes: ClassVar[tuple[str, ...]] = ()
    dropped: Counter[str]

    def identity(self) -> dict[str, Any]:
        """The settings as plain data; part of the fingerprint of every cell under this condition."""
        if not dataclasses.is_dataclass(self):
            return {}
        return {setting.name: getattr(self, setting.name) for setting in dataclasses.fields(self) if setting.init}

    def question(self, question: Question, environment: Environment) -> Question | None:
        """The question as it is asked under the condition; None drops it. The id must stay.

        Args:
            environment: The bare one with the question's documents as the task has them, not opened.
        """
        return question

    @abc.abstractmethod
    def environment(self, environment: Environment, about: ConditionInput, seeds: Seeds) -> Environment:
        """The environment of one episode: `environment` itself, or a `Wrapped` around it.

        Args:
            environment: The bare one, or what the conditions before this one made of it; not opened.
            about: The question.
            seeds: The episode's; the names of streams begin with the condition's name.
        """


class Wrapped(Environment):
    """An environment around another one, to which it passes everything on; subclasses change what they are there for.

    `call` returns a complete `Observation`: value, text and ids. A subclass returns another one, or a plain value,
    which `render` gives its text. What it sets in `call` belongs to one episode: every episode opens a copy of its own.
    """

    def __init__(self, inner: Environment) -> None:
        self.inner = inner
        self.timeout, self.copies_state = inner.timeout, inner.copies_state

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """The complete observation of a call of the environment inside."""
        return await observe(self.inner, api, self.rewrite_arguments(arguments))

    def rewrite_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments in the words of the environment inside, where this one has other words."""
        return arguments

    def rewrite(self, data: Any) -> Any:
        """Plain data of the environment inside, in the words of this one."""
        return data

    def specs(self) -> dict[str, ApiSpec]:
        """The query APIs of the environment inside."""
        return self.inner.specs()

    @property
    def description(self) -> str:
        """The description of the environment inside."""
        return self.inner.description

    @property
    def version(self) -> str:
        """Hash of the knowledge, which is that of the environment inside."""
        return self.inner.version

    def for_documents(self, documents: Sequence[Document]) -> Self:
        """The same around the environment inside as it is with the question's documents."""
        return self._around(self.inner.for_documents(documents))

    def open(self) -> Self:
        """A copy for one episode, around a copy of the environment inside."""
        return self._around(self.inner.open())

    def copy_state(self) -> Self:
        """A copy around a copy of the environment inside, or around itself where that shares its state."""
        return self._around(self.inner.copy_state())

    def has_page(self, title: str) -> bool | None:
        """Whether the environment inside has a page of a title."""
        return self.inner.has_page(title)

    def close(self) -> None:
        """Let go of what the copy inside holds."""
        self.inner.close()

    def render(self, api: str, value: Any) -> str:
        """The text of a value, as the environment inside writes it."""
        return self.inner.render(api, value)

    def retrieved_ids(self, api: str, value: Any) -> list[str]:
        """The ids of what a search found, as the environment inside names them."""
        return self.inner.retrieved_ids(api, value)

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Records of the environment inside."""
        return [self.rewrite(record) for record in self.inner.records(kind)]

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """The domain as a graph."""
        return ((self.rewrite(s), self.rewrite(r), self.rewrite(o)) for s, r, o in self.inner.triples())

    def _around(self, inner: Environment) -> Self:
        own = copy.copy(self)
        own.inner = inner
        return own


def bare(environment: Environment) -> Environment:
    """The environment inside all conditions."""
    while isinstance(environment, Wrapped):
        environment = environment.inner
    return environment


def rewritten(environment: Environment, data: Any) -> Any:
    """Plain data of the bare environment in the words of the conditions around it."""
    if not isinstance(environment, Wrapped):
        return data
    return environment.rewrite(rewritten(environment.inner, data))


async def undisturbed(environment: Environment, api: str, arguments: dict[str, Any]) -> Any:
    """The value of a call that no condition counts, delays or fails, in the words of the conditions around it."""
    inner = environment
    while isinstance(inner, Wrapped):
        arguments, inner = inner.rewrite_arguments(arguments), inner.inner
    return rewritten(environment, (await observe(inner, api, arguments)).value)


async def rerendered(environment: Environment, api: str, seen: Observation[Any], value: Any) -> str:
    """The text of another value in place of an observation's own; what stands before or after it stays."""

    def text() -> str:
        own, new = environment.render(api, seen.value), environment.render(api, value)
        return seen.text.replace(own, new, 1) if own and seen.text and own in seen.text else new

    return await threads.run(text) if is_large(seen.value) else text()
