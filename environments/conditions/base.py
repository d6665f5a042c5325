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

from r_eval.environments.base import Environment, observe
from r_eval.environments.schema import ApiSpec
from r_eval.records import Document, Question
from r_eval.seeds import Seeds


class Condition(abc.ABC):
    """A change to the environment, for one question.

    The settings are the parameters of the class, which raises `ValueError` for one that is out of bounds; of a
    dataclass, they are its fields.

    Attributes:
        notes: Keys of a question's `meta` that `question` writes; all that `environment` knows of a question.
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
    def environment(self, environment: Environment, notes: Mapping[str, Any], seeds: Seeds) -> Environment:
        """The environment of one episode: `environment` itself, or a `Wrapped` around it.

        Args:
            environment: The bare one, or what the conditions before this one made of it; not opened.
            notes: What `question` wrote under the keys of `notes`.
            seeds: The episode's; the names of streams begin with the condition's name.
        """


class Wrapped(Environment):
    """An environment around another one, to which it passes everything on; subclasses change what they are there for.

    `call` returns a complete `Observation`: value, text and ids. A subclass returns another one, or a plain value,
    which `render` gives its text. Attributes that it sets in `call` belong to one episode, since each opens a copy.
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
        return self.inner.specs()

    @property
    def description(self) -> str:
        return self.inner.description

    @property
    def version(self) -> str:
        return self.inner.version

    def for_documents(self, documents: Sequence[Document]) -> Self:
        return self._around(self.inner.for_documents(documents))

    def open(self) -> Self:
        return self._around(self.inner.open())

    def copy_state(self) -> Self:
        return self._around(self.inner.copy_state())

    def close(self) -> None:
        self.inner.close()

    def render(self, api: str, value: Any) -> str:
        return self.inner.render(api, value)

    def retrieved_ids(self, api: str, value: Any) -> list[str]:
        return self.inner.retrieved_ids(api, value)

    def records(self, kind: str) -> list[dict[str, Any]]:
        return [self.rewrite(record) for record in self.inner.records(kind)]

    def triples(self) -> Iterator[tuple[str, str, str]]:
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
