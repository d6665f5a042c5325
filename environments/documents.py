"""Documents: those that come with a question, and nothing else, behind one query API, `retrieve`.

Each document is a passage of its own. Its id tells its place among the question's documents; nothing tells a right
document from noise.
"""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from r_eval.environments.base import NotFound, query_api
from r_eval.environments.corpus.environment import MOST_PASSAGES, Passage, RetrievalEnvironment, within_bounds
from r_eval.environments.corpus.words import VERSION as WORDS_VERSION

if TYPE_CHECKING:
    from r_eval.environments.corpus.retrievers import BM25
    from r_eval.records import Document

__all__ = ["MOST_PASSAGES", "Documents"]

VERSION = 2
"""Increase it when `retrieve` answers differently: it is part of the fingerprint."""


class Documents(RetrievalEnvironment):
    """The documents of the question. retrieve finds those that fit a query; they are all that can be read."""

    def __init__(self) -> None:
        self._passages: tuple[Passage, ...] = ()

    @property
    def version(self) -> str:
        """Of the search; the documents are the question's, and count as part of it."""
        return f"documents-{VERSION}-{WORDS_VERSION}"

    def for_documents(self, documents: Sequence[Document]) -> Self:
        """The environment with the question's documents in it."""
        own = copy.copy(self)
        own._passages = passages(documents)
        return own

    @query_api
    def retrieve(self, query: str, top_k: int = 8) -> list[Passage]:
        """Find the documents that fit a query, the best first.

        Args:
            query: A question, or words and phrases of what is sought.
            top_k: How many documents are wanted, from 1 to 100.
        """
        bounded = within_bounds(query, top_k)
        if not self._passages:
            raise NotFound("No documents come with this question.")
        hits = _index(tuple(passage.text for passage in self._passages)).search(*bounded)
        if not hits:
            raise NotFound("No document fits this query. Try other words.")
        return [self._passages[hit.chunk] for hit in hits]


def passages(documents: Sequence[Document]) -> tuple[Passage, ...]:
    """Documents as passages `d1`, `d2` and so on, each with its title in front.

    Titles that differ in their numbers alone ("Document 3") tell nothing but the place, and are left out.
    """
    names = {re.sub(r"\d+", "", document.title) for document in documents}
    bare = len(documents) > 1 and len(names) == 1
    return tuple(
        Passage(f"d{place}", document.text if bare or not document.title else f"{document.title}\n{document.text}")
        for place, document in enumerate(documents, 1)
    )


@functools.lru_cache(maxsize=256)
def _index(texts: tuple[str, ...]) -> BM25:
    """The index of texts; those of the latest questions are kept, since several systems are asked the same."""
    from r_eval.environments.corpus.retrievers import BM25

    return BM25.of(texts)
