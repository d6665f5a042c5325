"""Passages and records that do not belong there are mixed into what a search finds."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

from pydantic_core import to_jsonable_python

from r_eval.environments.base import Environment, NotFound
from r_eval.environments.conditions.base import Condition, Wrapped
from r_eval.environments.conditions.distracting_records import (
    VERBS,
    Record,
    distracting,
    finds_records,
    id_of,
    pool_of,
    text_of,
)
from r_eval.environments.conditions.distractors import Passage, answers, are_passages, near_duplicates, unrelated
from r_eval.environments.conditions.settings import choices, whole
from r_eval.environments.observation import Observation, as_observation
from r_eval.environments.schema import ApiSpec
from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.seeds import Seeds

LEVELS = ("unrelated", "sibling", "near-duplicate")
PLACES = ("first", "last", "random")
LENGTHS = ("top_k", "k", "limit", "max_results")
"""Parameters by which a search is known: they say how many results are wanted."""
POOL = 500
"""The most documents of an environment that unrelated passages are drawn from."""
SPARE = 20
"""How many more siblings are looked at than are wanted, since some may hold the answer."""
NOISE = "noise:"
"""Before the recorded ids of passages that do not belong there; no model sees it."""


class Noisy(Condition):
    """What does not belong there is mixed into what a search finds.

    Nothing that was found is left out for it. A search is a query API that takes the number of results that are
    wanted (`top_k`), and returns passages with a `text`; or one whose name says that it searches, and that returns
    records with an id (see `distracting_records`). There are fewer than `distractors` where no more can be had.
    A passage that holds a gold answer or comes from a right document is no noise, and is not drawn; a near-duplicate
    says something else than its model, and is.

    Args:
        distractors: How many are mixed into each result.
        noise: "unrelated", documents or records drawn by chance; "sibling", what the search ranks next, or records that
            share words with what was asked for; "near-duplicate", what was found with other numbers or another name.
        at: Where they stand: "first", "last" or "random".
    """

    name = "noisy"

    def __init__(self, distractors: int = 3, noise: str = "sibling", at: str = "random") -> None:
        self.distractors = whole("distractors", distractors)
        (self.noise,) = self._one("noise", noise, LEVELS)
        (self.at,) = self._one("at", at, PLACES)
        self._pools: dict[int, tuple[Environment, list[Passage]]] = {}
        self._records: dict[tuple[int, tuple[str, ...]], tuple[Environment, list[Record]]] = {}

    @staticmethod
    def _one(name: str, value: Any, known: tuple[str, ...]) -> tuple[str, ...]:
        if not isinstance(value, str):
            raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}")
        return choices(name, value, known)

    def identity(self) -> dict[str, Any]:
        """How many, of which kind, and where."""
        return {"distractors": self.distractors, "noise": self.noise, "at": self.at}

    def question(self, question: Question, environment: Environment) -> Question | None:
        """The question as it is.

        Raises:
            UserError: The environment has no search, or no documents to draw from.
        """
        passages = any(_length(spec) for spec in environment.specs().values())
        if not passages and not any(map(finds_records, environment.specs().values())):
            raise UserError(
                f"the condition noisy needs a search, an API that takes {' or '.join(LENGTHS)}, or one called "
                f"{' or '.join(VERBS)}... that returns records; {type(environment).__name__} has none"
            )
        if passages and self.noise == "unrelated":
            self.pool(environment)
        return question

    def pool(self, environment: Environment) -> list[Passage]:
        """Documents of a bare environment, drawn once.

        Raises:
            UserError: It has none.
        """
        environment = _bare(environment)
        if id(environment) not in self._pools:
            try:
                documents = environment.records("document")
            except KeyError:
                said = "has no records of documents for unrelated noise; try noise: sibling"
                raise UserError(f"the condition noisy: {type(environment).__name__} {said}") from None
            drawn = random.Random(0).sample(documents, min(POOL, len(documents)))
            self._pools[id(environment)] = environment, drawn
        return self._pools[id(environment)][1]

    def records(self, environment: Environment, results: list[Record]) -> list[Record]:
        """The records of a bare environment that are of the kind of what was found."""
        environment = _bare(environment)
        key = id(environment), tuple(results[0])
        if key not in self._records:
            self._records[key] = environment, pool_of(environment, results)
        return self._records[key][1]

    def environment(self, environment: Environment, question: Question, seeds: Seeds) -> Environment:
        """The environment with noise in what its searches find."""
        return NoisyEnvironment(environment, self, question, seeds)


class NoisyEnvironment(Wrapped):
    """An environment whose searches find what does not belong there, as a `Noisy` says."""

    def __init__(self, inner: Environment, noisy: Noisy, question: Question, seeds: Seeds) -> None:
        super().__init__(inner)
        self._noisy, self._question, self._seeds = noisy, question, seeds
        self._calls = 0
        self._noise: frozenset[int] = frozenset()

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """Carry out a query API; into the passages of a search, noise is mixed."""
        self._calls += 1
        drawn = random.Random(self._seeds.of(f"noisy {self._calls}"))
        value = await self.inner.call(api, arguments)
        seen = as_observation(value)
        results = to_jsonable_python(seen.value)
        spec = self.specs()[api]
        if _length(spec) and are_passages(results):
            noise = await self._drawn(api, arguments, results, drawn)
        elif finds_records(spec) and id_of(results):
            noise = self._records(arguments, results, drawn)
        else:
            self._noise = frozenset()
            return value
        mixed, places = _mixed(results, noise, self._noisy.at, drawn)
        if seen.retrieved_ids:
            self._noise, right = frozenset(), iter(seen.retrieved_ids)
            key = id_of(mixed)
            ids = (f"{NOISE}{one[key]}" if n in places else next(right, "") for n, one in enumerate(mixed))
            return Observation(mixed, None, filter(None, ids))
        self._noise = places  # read by `retrieved_ids`, before anything else is awaited
        return mixed

    def retrieved_ids(self, api: str, value: Any) -> list[str]:
        """The ids of what a search found, those that do not belong there with "noise:" before them."""
        ids = self.inner.retrieved_ids(api, value)
        return [f"{NOISE}{key}" if place in self._noise else key for place, key in enumerate(ids)]

    async def _drawn(
        self, api: str, arguments: dict[str, Any], results: list[Passage], drawn: random.Random
    ) -> list[Passage]:
        """What is mixed into a result."""
        wanted, question = self._noisy.distractors, self._question
        made: Iterator[Passage]
        if self._noisy.noise == "near-duplicate":
            return list(itertools.islice(near_duplicates(results, drawn), wanted))
        if self._noisy.noise == "sibling":
            made = iter(await self._siblings(api, arguments, results))
        else:
            made = unrelated(self._noisy.pool(self.inner), results, drawn)
        return list(itertools.islice((passage for passage in made if not answers(passage, question)), wanted))

    def _records(self, arguments: dict[str, Any], results: list[Record], drawn: random.Random) -> list[Record]:
        """Records that are mixed into a result."""
        level, key = self._noisy.noise, id_of(results)
        made = distracting(level, self._noisy.records(self.inner, results), results, arguments, drawn)
        wrong = (
            record
            for record in made
            if level == "near-duplicate" or not answers({"id": record[key], "text": text_of(record)}, self._question)
        )
        return list(itertools.islice(wrong, self._noisy.distractors))

    async def _siblings(self, api: str, arguments: dict[str, Any], results: list[Passage]) -> list[Passage]:
        """What the same search ranks below its results."""
        more = len(results) + self._noisy.distractors + SPARE
        try:
            value = await self.inner.call(api, {**arguments, _length(self.specs()[api]): more})
        except NotFound:
            return []
        ranked = to_jsonable_python(as_observation(value).value)
        return [passage for passage in ranked if passage not in results] if are_passages(ranked) else []


def _bare(environment: Environment) -> Environment:
    while isinstance(environment, Wrapped):
        environment = environment.inner
    return environment


def _length(spec: ApiSpec) -> str:
    """The parameter of a search that says how many results are wanted; "" for what is no search."""
    return next((parameter.name for parameter in spec.parameters if parameter.name in LENGTHS), "")


def _mixed(
    results: list[Passage], noise: list[Passage], at: str, drawn: random.Random
) -> tuple[list[Passage], frozenset[int]]:
    """Results and noise in one list, and the places of the noise."""
    count, total = len(noise), len(results) + len(noise)
    starts = {"first": range(count), "last": range(len(results), total)}
    places = frozenset(starts[at] if at in starts else drawn.sample(range(total), count))
    rest, wrong = iter(results), iter(noise)
    return [next(wrong if place in places else rest) for place in range(total)], places
