"""The corpus environment: one query API over documents, and the settings of a retrieval pipeline.

What it shares with other environments that find passages: the bounds of a search, and how passages are shown.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from r_eval.environments.base import OWN_TIMEOUT, Environment, NotFound, ToolError, query_api
from r_eval.fingerprints import short_hash

from .chunks import open_chunks
from .retrievers import open_retriever
from .sources import read_documents
from .splitting import SMALLEST, overlap_tokens

VERSION = 1
"""Increase it when `retrieve` answers differently: it is part of the fingerprint."""
MOST_CHARACTERS = 10_000
"""Of a query; what is longer adds nothing but time."""
MOST_PASSAGES = 100


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document.

    Attributes:
        id: The document's id, "#", and the passage's place in the document, from 1.
        text: The passage itself.
    """

    id: str
    text: str


class RetrievalEnvironment(Environment):
    """Base of environments whose query APIs return passages."""

    timeout = OWN_TIMEOUT

    def render(self, api: str, value: Any) -> str:
        """Passages as `[id] text`, a blank line between them."""
        return "\n\n".join(f"[{passage['id']}] {passage['text']}" for passage in to_jsonable_python(value))

    def retrieved_ids(self, api: str, value: Any) -> list[str]:
        """The passages' ids, the best first."""
        return [passage["id"] for passage in to_jsonable_python(value)]


def within_bounds(query: str, top_k: int) -> tuple[str, int]:
    """The arguments of a search, cut to what it takes.

    Raises:
        ToolError: There is no query, or no passage is wanted.
    """
    if not query.strip():
        raise ToolError("retrieve needs a query: a question, or words of what is sought.")
    if top_k < 1:
        raise ToolError(f"top_k must be from 1 to {MOST_PASSAGES}.")
    return query[:MOST_CHARACTERS], min(top_k, MOST_PASSAGES)


class Corpus(RetrievalEnvironment):
    """A collection of documents, cut into passages that can be searched."""

    def __init__(
        self,
        documents: str | list[str] = "crud-en",
        *,
        chunk_size: int = 128,
        overlap: int | str = 0,
        retriever: str = "bm25",
        embedding: str | None = None,
        reranker: str | None = None,
    ) -> None:
        """Open documents, cutting and indexing them if that has not been done before.

        Args:
            documents: A file, a folder, a list of these, or the name of an embedded set; see `documents`.
            chunk_size: The most tokens (cl100k_base) of a passage.
            overlap: The most tokens that a passage repeats of the one before it, or per cent of `chunk_size`: "10%".
            retriever: `bm25`, `dense`, `rrf`, `hybrid` or `hybrid+rerank`.
            embedding: A sentence-transformers model, for the retrievers that use one; absent: the embedded one.
            reranker: A cross-encoder, for `hybrid+rerank`; absent, or `maxsim`: late interaction over the tokens of
                the embedding model.

        Raises:
            UserError: The documents cannot be read, or a retriever or what it needs is not there.
            ValueError: A size is out of bounds.
        """
        if chunk_size < SMALLEST:
            raise ValueError(f"chunk_size must be at least {SMALLEST} tokens, not {chunk_size}")
        tokens = overlap_tokens(overlap, chunk_size)
        self._settings: dict[str, Any] = {"documents": documents, "chunk_size": chunk_size, "overlap": tokens}
        self._settings |= {"retriever": retriever, "embedding": embedding, "reranker": reranker}
        self._chunks = open_chunks(documents, chunk_size, tokens)
        self._retriever = open_retriever(retriever, self._chunks, embedding, reranker)

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process it is opened anew, from the documents and the cache there."""
        return functools.partial(Corpus, **self._settings), ()

    @property
    def version(self) -> str:
        """Hash of the passages, and of what decides which are found."""
        return short_hash([VERSION, self._chunks.digest, self._retriever.identity()])

    @property
    def description(self) -> str:
        """How many documents there are, and how they can be searched."""
        return (
            f"A collection of {self._chunks.documents:,} documents, cut into {len(self._chunks.ids):,} passages of at "
            f"most {self._settings['chunk_size']} tokens. retrieve finds the passages that fit a query; their texts "
            "are all that can be read."
        )

    @query_api
    def retrieve(self, query: str, top_k: int = 8) -> list[Passage]:
        """Find the passages that fit a query, the best first.

        Args:
            query: A question, or words and phrases of what is sought.
            top_k: How many passages are wanted, from 1 to 100.
        """
        hits = self._retriever.search(*within_bounds(query, top_k))
        if not hits:
            raise NotFound("No passage fits this query. Try other words.")
        return [Passage(self._chunks.ids[hit.chunk], self._chunks.texts[hit.chunk]) for hit in hits]

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Records of the kind `document`: `id`, `title` (it may be empty) and `text`, in the corpus's order."""
        if kind != "document":
            raise KeyError(kind)
        return [document._asdict() for document in read_documents(self._settings["documents"])]
