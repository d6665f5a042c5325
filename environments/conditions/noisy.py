"""The condition `noisy`: passages that do not belong there are mixed into what a search finds.

A search is a query API that takes the number of passages that are wanted (`top_k`), and returns passages with a `text`.
Nothing that was found is left out. Without holding an answer, a `Screen` tells what is no noise for a question.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import random
import re
import statistics
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from r_eval.environments.base import Environment, ToolError, observe, threads
from r_eval.environments.observation import Observation
from r_eval.environments.schema import ApiSpec
from r_eval.errors import UserError
from r_eval.languages import language_of
from r_eval.records import Document, Question
from r_eval.seeds import Seeds

from .base import Condition, Wrapped, bare, rewritten, undisturbed
from .replacing import tokens

LENGTHS = ("top_k", "k", "limit", "max_results")
"""Parameters by which a search is known: they say how many results are wanted."""
SPARE = 20
"""How many more siblings are looked at than are wanted, since some may contain the answer."""
LONGEST = 100_000
"""Characters of a passage that are looked at."""
NOISE = "noise:"
"""Before the recorded ids of passages that do not belong there; no model sees it."""
SCREEN = "noise_screen"
"""Key of a question's `meta`: what is no noise for it."""
LABELS = 1_000_000
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")

Passage = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Screen:
    """Recognises passages from relevant documents, and those that contain a gold answer or evidence.

    Attributes:
        documents: Ids of the relevant documents.
        phrases: The number of words and a digest of each answer and piece of evidence: no environment can read them.
    """

    documents: Collection[str] = ()
    phrases: Collection[str] = ()

    @classmethod
    def of(cls, question: Question) -> Screen:
        """The screen of a question."""
        values = [value for gold in question.answers for value in gold.split(";")]
        documents = question.meta.get("text_ids")
        phrases = {_digest(words) for words in map(tokens, (*values, *question.evidence)) if words}
        return cls(sorted(map(str, documents if isinstance(documents, list) else ())), sorted(phrases))

    def excludes(self, key: str, text: str) -> bool:
        """Whether a passage is from a relevant document, or its text contains an answer or evidence as whole words."""
        if key in self.documents or key.rpartition("#")[0] in self.documents:
            return True
        words, phrases = tokens(text[:LONGEST]), frozenset(self.phrases)
        lengths = {int(phrase.partition(" ")[0]) for phrase in phrases}
        runs = (words[at : at + length] for length in lengths for at in range(len(words) - length + 1))
        return any(_digest(run) in phrases for run in runs)


def _digest(words: Sequence[str]) -> str:
    text = " ".join(words).encode("utf-8", "surrogatepass")
    return f"{len(words)} {hashlib.blake2b(text, digest_size=8).hexdigest()}"


@dataclass(config={"strict": True}, frozen=True)
class Noisy(Condition):
    """Passages that do not belong there are mixed into what a search finds; fewer where no more can be had.

    They are what the search ranks next. One that contains a gold answer or comes from a relevant document is no noise.
    Documents that come with a question are never noise for it: the noise is searched for among the embedded documents
    of their language then, and all passages are numbered anew, at random, so that no id gives the noise away.

    Attributes:
        distractors: How many are mixed into each result, at random places.
    """

    name = "noisy"
    notes = (SCREEN,)

    distractors: PositiveInt = 3

    def question(self, question: Question, environment: Environment) -> Question | None:
        """The question with a note of what is no noise for it.

        Raises:
            UserError: The environment has no search.
        """
        if not any(map(length_parameter, environment.specs().values())):
            kind = type(environment).__name__
            raise UserError(
                f"the condition noisy needs a search, an API that takes {' or '.join(LENGTHS)}; {kind} has none"
            )
        return question.model_copy(update={"meta": {**question.meta, SCREEN: dataclasses.asdict(Screen.of(question))}})

    def environment(self, environment: Environment, notes: Mapping[str, Any], seeds: Seeds) -> Environment:
        """The environment with noise in what its searches find."""
        return NoisyEnvironment(environment, self.distractors, Screen(**notes.get(SCREEN, {})), seeds)


class NoisyEnvironment(Wrapped):
    """An environment whose searches find what does not belong there."""

    def __init__(self, inner: Environment, distractors: int, screen: Screen, seeds: Seeds) -> None:
        super().__init__(inner)
        self._distractors, self._screen, self._seeds = distractors, screen, seeds
        self._calls = 0

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """Carry out a query API; into the result of a search, noise is mixed."""
        self._calls += 1
        draw = random.Random(self._seeds.of(f"noisy {self._calls}"))
        seen: Observation[Any] = await super().call(api, arguments)
        spec, results = self.specs()[api], seen.value
        if not length_parameter(spec) or not are_passages(results):
            return seen
        others = [one for one in await self._others(spec, arguments, results) if one not in results]
        return await threads.run(self._mixed, api, seen, others, draw)  # passages may be long

    def _mixed(
        self, api: str, seen: Observation[Any], others: Sequence[Passage], draw: random.Random
    ) -> Observation[Any]:
        """An observation with those of the other passages in it that are noise, at random places."""
        results = seen.value
        is_noise = (one for one in others if not self._screen.excludes(str(one.get("id", "")), one["text"]))
        noise = list(itertools.islice(is_noise, self._distractors))
        mixed = [(passage, str(passage.get("id", ""))) for passage in results]
        places = draw.sample(range(len(results) + len(noise)), len(noise))
        for place, passage in zip(sorted(places), noise, strict=True):
            mixed.insert(place, (passage, f"{NOISE}{passage.get('id', '')}"))
        passages = [passage for passage, _ in mixed]
        if has_own_documents(self.inner):
            passages = [{**passage, "id": self._label(key)} for passage, key in mixed]
        ids = [key for _, key in mixed] if seen.retrieved_ids else []
        own, text = self.inner.render(api, results), self.inner.render(api, passages)
        whole = seen.text.replace(own, text, 1) if own and seen.text and own in seen.text else text
        return Observation(passages, whole, ids)

    async def _others(self, spec: ApiSpec, arguments: dict[str, Any], results: list[Passage]) -> list[Passage]:
        """Passages that were not found: what the same search ranks next, or finds among embedded documents."""
        more = {**arguments, length_parameter(spec): len(results) + self._distractors + SPARE}
        try:
            if not has_own_documents(self.inner):
                ranked = await undisturbed(self.inner, spec.name, more)
                return ranked if are_passages(ranked) else []
            is_chinese = language_of("\n".join(passage["text"][:LONGEST] for passage in results)) == "zh"
            library = bare(self.inner).for_documents(embedded_documents("crud-zh" if is_chinese else "crud-en"))
            ranked = (await observe(library, spec.name, more)).value
            return [rewritten(self.inner, excerpt(one, results)) for one in ranked]
        except ToolError:
            return []

    def _label(self, key: str) -> str:
        """The number of a passage in this episode."""
        return f"d{random.Random(self._seeds.of(f'noisy id {key}')).randrange(1, LABELS)}"


def length_parameter(spec: ApiSpec) -> str:
    """The parameter of a search that says how many results are wanted; "" for what is no search."""
    return next((parameter.name for parameter in spec.parameters if parameter.name in LENGTHS), "")


def are_passages(value: Any) -> bool:
    """Whether a result is a list of passages: records, at least one, each with a text."""
    is_list = isinstance(value, list) and bool(value)
    return is_list and all(isinstance(one, dict) and isinstance(one.get("text"), str) for one in value)


def has_own_documents(environment: Environment) -> bool:
    """Whether what an environment finds are the documents that come with a question."""
    return type(bare(environment)).for_documents is not Environment.for_documents


@functools.cache
def embedded_documents(name: str) -> list[Document]:
    """An embedded set of documents."""
    from r_eval.environments.corpus.sources import read_documents

    return [Document(title="", text=document.text) for document in read_documents(name)]


def excerpt(document: Passage, results: Sequence[Passage]) -> Passage:
    """The first sentences of a document in the form of what was found, and about as long as that is at the median."""
    length = int(statistics.median(len(passage["text"]) for passage in results))
    text = str(document.get("text", ""))
    end = _SENTENCE_END.search(text, length // 2)
    own = {**document, "text": text[: end.end()] if end else text}
    return {key: own.get(key, value) for key, value in results[0].items()}
