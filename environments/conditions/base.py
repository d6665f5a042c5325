"""What a condition is: a change to the environment, and perhaps to the question, that any environment can be put under.

A condition is made once for a grid, by its settings, and is shared by all episodes. Each episode asks it for its
environment; whatever is drawn by chance there comes from the episode's seeds, so that the order of episodes does not
matter. A condition that tells its environment something about a question, such as what is replaced, writes it into
the question's `meta`.
"""

from __future__ import annotations

import abc
import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

from r_eval.environments.base import Environment
from r_eval.environments.schema import ApiSpec
from r_eval.records import Document, Question
from r_eval.seeds import Seeds


class Condition(abc.ABC):
    """A change to the environment, for one question.

    The settings are the keyword parameters of `__init__`, which raises `ValueError` for one that is out of bounds.

    Attributes:
        dropped: Questions that could not be asked, by reason; set by a condition whose `question` counts them.
    """

    name: ClassVar[str]
    dropped: Counter[str]

    def identity(self) -> dict[str, Any]:
        """The settings as plain data; part of the fingerprint of every cell under this condition."""
        return {}

    def question(self, question: Question, environment: Environment) -> Question | None:
        """The question as it is asked under the condition; None drops it. The id must stay.

        Args:
            environment: The bare one with the question's documents as the task has them, not opened.
        """
        return question

    @abc.abstractmethod
    def environment(self, environment: Environment, question: Question, seeds: Seeds) -> Environment:
        """The environment of one episode: `environment` itself, or a `Wrapped` around it.

        Args:
            environment: The bare one, or what the conditions before this one made of it; not opened.
            question: As it is asked under the condition.
            seeds: The episode's; the names of streams begin with the condition's name.
        """


class Wrapped(Environment):
    """An environment around another one, to which it passes everything on; subclasses change what they are there for.

    What a subclass sets in `call` belongs to one episode: every episode opens a copy of its own.
    """

    def __init__(self, inner: Environment) -> None:
        self.inner = inner
        self.timeout = inner.timeout

    def specs(self) -> dict[str, ApiSpec]:
        """What can be asked of the environment inside."""
        return self.inner.specs()

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """Carry out a query API of the environment inside."""
        return await self.inner.call(api, arguments)

    @property
    def description(self) -> str:
        """What the domain is, in the words of the environment inside."""
        return self.inner.description

    @property
    def version(self) -> str:
        """Hash of the knowledge, which is that of the environment inside."""
        return self.inner.version

    def for_documents(self, documents: Sequence[Document]) -> Self:
        """The same around the environment inside as it is with the question's documents."""
        own = copy.copy(self)
        own.inner = self.inner.for_documents(documents)
        return own

    def open(self) -> Self:
        """A copy for one episode, around a copy of the environment inside."""
        opened = copy.copy(self)
        opened.inner = self.inner.open()
        return opened

    def close(self) -> None:
        """Let go of what the copy inside holds."""
        self.inner.close()

    def render(self, api: str, value: Any) -> str:
        """The observation text, as the environment inside writes it."""
        return self.inner.render(api, value)

    def retrieved_ids(self, api: str, value: Any) -> list[str]:
        """The ids of what a search found."""
        return self.inner.retrieved_ids(api, value)

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Records of one kind of the environment inside."""
        return self.inner.records(kind)

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """The domain as a graph."""
        return self.inner.triples()
