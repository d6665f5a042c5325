"""Passages and records that do not belong there are mixed into what a search finds."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any, Literal

from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from r_eval.environments.base import Environment, ToolError, observe, threads
from r_eval.environments.conditions.base import (
    Condition,
    ConditionInput,
    Wrapped,
    bare,
    rerendered,
    rewritten,
    undisturbed,
)
from r_eval.environments.conditions.distractors import (
    LENGTHS,
    VERBS,
    Passage,
    Record,
    Screen,
    are_passages,
    distracting,
    excerpt,
    finds_records,
    id_field,
    length_parameter,
    near_duplicates,
    pool_of,
    text_of,
)
from r_eval.environments.conditions.replacing import UNSPACED
from r_eval.environments.observation import Observation
from r_eval.environments.schema import ApiSpec
from r_eval.errors import UserError
from r_eval.records import Document, Question
from r_eval.seeds import Seeds

POOL = 500
"""The most documents of an environment that unrelated passages are drawn from."""
SPARE = 20
"""How many more siblings are looked at than are wanted, since some may contain the answer."""
NOISE = "noise:"
"""Before the recorded ids of passages that do not belong there; no model sees it."""
HAN = re.compile(f"[{UNSPACED}]")
SCREEN = "noise_screen"
"""Key of a question's `meta`: what is no noise for it."""


@dataclass(config={"strict": True}, frozen=True)
class Noisy(Condition):
    """What does not belong there is mixed into what a search finds.

    Nothing that was found is left out for it. A search is a query API that takes the number of results that are
    wanted (`top_k`), and returns passages with a `text`; or one whose name says that it searches, and that returns
    records with an id (see `distractors`). There are fewer than `distractors` where no more can be had.
    A passage that contains a gold answer or comes from a relevant document is no noise, and is not drawn; a
    near-duplicate says something else than its model, and is.

    Documents that come with a question are never noise for it: the noise is drawn from the embedded documents of their
    language then, and all passages are numbered anew, by chance, so that no id gives the noise away.

    Attributes:
        distractors: How many are mixed into each result.
        noise: "unrelated", documents or records drawn by chance; "sibling", what the search ranks next, or records that
            share words with the arguments; "near-duplicate", what was found with other numbers or another name.
        at: Where they stand.
    """

    name = "noisy"
    notes = (SCREEN,)

    distractors: PositiveInt = 3
    noise: Literal["unrelated", "sibling", "near-duplicate"] = "sibling"
    at: Literal["first", "last", "random"] = "random"
    _documents: dict[str, list[Passage]] = field(default_factory=dict, init=False, repr=False)
    _records: dict[tuple[str, ...], list[Record]] = field(default_factory=dict, init=False, repr=False)

    def question(self, question: Question, environment: Environment) -> Question | None:
        """The question with a note of what is no noise for it.

        Raises:
            UserError: The environment has no search, or no documents to draw from.
        """
        specs = environment.specs().values()
        passages = any(map(length_parameter, specs))
        if not passages and not any(map(finds_records, specs)):
            raise UserError(
                f"the condition noisy needs a search, an API that takes {' or '.join(LENGTHS)}, or one called "
                f"{' or '.join(VERBS)}... that returns records; {type(environment).__name__} has none"
            )
        if passages and self.noise == "unrelated" and not has_own_documents(environment):
            self.documents(environment)
        return question.model_copy(update={"meta": {**question.meta, SCREEN: dataclasses.asdict(Screen.of(question))}})

    def environment(self, environment: Environment, about: ConditionInput, seeds: Seeds) -> Environment:
        """The environment with noise in what its searches find."""
        return NoisyEnvironment(environment, self, Screen(**about.notes.get(SCREEN, {})), seeds)

    def documents(self, environment: Environment) -> list[Passage]:
        """Some of the documents of the bare environment.

        Raises:
            UserError: It has none.
        """
        own = bare(environment)
        if own.version not in self._documents:
            try:
                documents = own.records("document")
            except KeyError:
                why = "has no records of documents for unrelated noise; try noise: sibling"
                raise UserError(f"the condition noisy: {type(own).__name__} {why}") from None
            self._documents[own.version] = random.Random(0).sample(documents, min(POOL, len(documents)))
        return self._documents[own.version]

    def records(self, environment: Environment, results: list[Record]) -> list[Record]:
        """The records of the kind of what was found, in the words of the conditions around the environment."""
        own = bare(environment)
        key = own.version, *results[0]
        if key not in self._records:
            self._records[key] = pool_of(own, results)
        pool: list[Record] = rewritten(environment, self._records[key])
        return pool


class NoisyEnvironment(Wrapped):
    """An environment whose searches find what does not belong there, as a `Noisy` says."""

    def __init__(self, inner: Environment, noisy: Noisy, screen: Screen, seeds: Seeds) -> None:
        super().__init__(inner)
        self._noisy, self._screen, self._seeds = noisy, screen, seeds
        self._calls = 0
        self._labels: dict[str, str] = {}

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """Carry out a query API; into the result of a search, noise is mixed."""
        self._calls += 1
        draw = random.Random(self._seeds.of(f"noisy {self._calls}"))
        seen: Observation[Any] = await super().call(api, arguments)
        spec, results = self.specs()[api], seen.value
        noise: Iterable[Passage]
        if length_parameter(spec) and are_passages(results):
            noise = await self._passages(spec, arguments, results, draw)
        elif finds_records(spec) and id_field(results):
            level, key = self._noisy.noise, id_field(results)
            pool = await threads.run(self._noisy.records, self.inner, results)
            made = distracting(level, pool, results, arguments, draw)
            is_copy = level == "near-duplicate"
            noise = (one for one in made if is_copy or not self._screen.excludes(one[key], text_of(one)))
        else:
            return seen
        some = itertools.islice(noise, self._noisy.distractors)
        chosen: list[Passage] = await threads.run(lambda: list(some))  # passages may be long
        mixed, places = _mixed(results, chosen, self._noisy.at, draw)
        ids: list[str] = []
        if seen.retrieved_ids:
            key, own = id_field(mixed), iter(seen.retrieved_ids)
            ids = [f"{NOISE}{one.get(key, '')}" if n in places else next(own, "") for n, one in enumerate(mixed)]
        if has_own_documents(self.inner):
            mixed = [self._numbered(one, n in places) for n, one in enumerate(mixed)]
        return Observation(mixed, await rerendered(self.inner, api, seen, mixed), filter(None, ids))

    async def _passages(
        self, spec: ApiSpec, arguments: dict[str, Any], results: list[Passage], draw: random.Random
    ) -> Iterator[Passage]:
        """Passages that may be mixed into a result, the best first."""
        if self._noisy.noise == "near-duplicate":
            own = bare(self.inner).records("document") if has_own_documents(self.inner) else []
            texts = {one["text"] for one in (*results, *own)}
            return (one for one in near_duplicates(results, draw) if one["text"] not in texts)
        found = (one for one in await self._others(spec, arguments, results, draw) if one not in results)
        return (one for one in found if not self._screen.excludes(str(one.get("id", "")), one["text"]))

    async def _others(
        self, spec: ApiSpec, arguments: dict[str, Any], results: list[Passage], draw: random.Random
    ) -> Iterable[Passage]:
        """Passages that were not found: what the same search ranks next, or documents drawn by chance."""
        wanted, own = self._noisy.distractors + SPARE, has_own_documents(self.inner)
        is_chinese = any(HAN.search(passage["text"]) for passage in results)
        library = embedded_documents("crud-zh" if is_chinese else "crud-en") if own else []
        if self._noisy.noise == "unrelated":
            documents = library or self._noisy.documents(self.inner)
            known = {str(passage.get("id", "")).rpartition("#")[0] for passage in results}
            others = [
                {**one, "id": f"{one.get('id', '')}#1"} for one in documents if str(one.get("id", "")) not in known
            ]
            drawn = draw.sample(others, min(len(others), wanted))
            return [rewritten(self.inner, excerpt(one, results)) for one in drawn]
        more = {**arguments, length_parameter(spec): len(results) + wanted}
        try:
            if not own:
                ranked = await undisturbed(self.inner, spec.name, more)
                return ranked if are_passages(ranked) else []
            filled = bare(self.inner).for_documents([Document(title="", text=one["text"]) for one in library])
            ranked = (await observe(filled, spec.name, more)).value
        except ToolError:
            return []
        return [rewritten(self.inner, excerpt(one, results)) for one in ranked] if are_passages(ranked) else []

    def _numbered(self, passage: Passage, is_noise: bool) -> Passage:
        """A passage under a number of this episode."""
        key = f"{NOISE if is_noise else ''}{passage.get('id', '')}"
        if key not in self._labels:
            numbers = random.Random(self._seeds.of("noisy ids")).sample(range(1, 10_000), len(self._labels) + 1)
            self._labels = {**self._labels, key: f"d{numbers[-1]}"}
        return {**passage, "id": self._labels[key]} if "id" in passage else passage


def has_own_documents(environment: Environment) -> bool:
    """Whether what an environment finds are the documents that come with a question."""
    return type(bare(environment)).for_documents is not Environment.for_documents


@functools.cache
def embedded_documents(name: str) -> list[Passage]:
    """Some of an embedded set of documents."""
    from r_eval.environments.corpus.sources import read_documents

    documents = [{"id": document.id, "text": document.text} for document in read_documents(name)]
    return random.Random(0).sample(documents, min(POOL, len(documents)))


def _mixed(
    results: list[Passage], noise: list[Passage], at: str, draw: random.Random
) -> tuple[list[Passage], frozenset[int]]:
    """Results and noise in one list, and the places of the noise."""
    count, total = len(noise), len(results) + len(noise)
    starts = {"first": range(count), "last": range(len(results), total)}
    places = frozenset(starts[at] if at in starts else draw.sample(range(total), count))
    rest, wrong = iter(results), iter(noise)
    return [next(wrong if place in places else rest) for place in range(total)], places
