"""Tells what is no noise for a question without holding its answer."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from r_eval.environments.conditions.replacing import tokens
from r_eval.records import Question

LONGEST = 100_000
"""Characters of a passage that are looked at."""


@dataclasses.dataclass(frozen=True, slots=True)
class Screen:
    """Recognises passages from relevant documents, and those that contain a gold answer or evidence.

    The phrases of answers and evidence are digests, taken where a run is planned: no environment can read them.

    Attributes:
        documents: Ids of the relevant documents.
        phrases: Digests of phrases, by their number of words.
    """

    documents: frozenset[str] = frozenset()
    phrases: Mapping[int, frozenset[str]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, question: Question) -> Screen:
        """The screen of a question."""
        values = [value for gold in question.answers for value in gold.split(";")]
        phrases: dict[int, set[str]] = {}
        for words in map(tokens, (*values, *question.evidence)):
            if words:
                phrases.setdefault(len(words), set()).add(_digest(words))
        documents = question.meta.get("text_ids")
        ids = map(str, documents) if isinstance(documents, list) else ()
        return cls(frozenset(ids), {number: frozenset(digests) for number, digests in phrases.items()})

    def data(self) -> dict[str, Any]:
        """The screen as plain data, for the `meta` of a question."""
        phrases = {str(number): sorted(digests) for number, digests in sorted(self.phrases.items())}
        return {"documents": sorted(self.documents), "phrases": phrases}

    @classmethod
    def read(cls, data: Mapping[str, Any] | None) -> Screen:
        """The screen in the `meta` of a question; one that excludes nothing where there is none."""
        if data is None:
            return cls()
        phrases = {int(number): frozenset(digests) for number, digests in data["phrases"].items()}
        return cls(frozenset(data["documents"]), phrases)

    def excludes(self, key: str, text: str) -> bool:
        """Whether a passage is from a relevant document, or an answer or evidence stands in its text as whole words."""
        if key in self.documents or key.rpartition("#")[0] in self.documents:
            return True
        words = tokens(text[:LONGEST])
        return any(
            _digest(words[start : start + number]) in digests
            for number, digests in self.phrases.items()
            for start in range(len(words) - number + 1)
        )


def _digest(words: Iterable[str]) -> str:
    return hashlib.blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
