"""The retrievers, by the names that a grid calls them: each finds the chunks that fit a query, best first.

Chunks are known by their numbers, from 0 in the corpus's order; equal scores are in the order of these numbers, so that
a ranking is the same on every machine. A retriever is searched by several threads at once.
"""

from __future__ import annotations

import abc
import functools
import hashlib
import logging
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from r_eval import plugins
from r_eval.errors import UserError
from r_eval.fingerprints import short_hash

from . import words
from .chunks import Chunks, build_or_load, share
from .embedding import cross_encoder, embedding

NAMES = ("bm25", "dense", "rrf", "hybrid", "hybrid+rerank")
MAXSIM = "maxsim"
K1, B, METHOD = 1.5, 0.75, "lucene"
CONSTANT, WEIGHT = 60, 0.5
DECIMALS = 5
"""Scores of models are compared to so many; what is behind them differs with the processor."""
_COMPILED = 2000
"""Chunks from which on compiling the search, which takes a second, is worth it."""

Scores = NDArray[np.floating[Any]]


class Hit(NamedTuple):
    """A chunk that was found: its number, and a score of which only the order means anything."""

    chunk: int
    score: float


class Retriever(abc.ABC):
    """Finds chunks for a query."""

    @abc.abstractmethod
    def identity(self) -> dict[str, Any]:
        """Everything that decides what is found, besides the chunks; plain data."""

    @abc.abstractmethod
    def search(self, query: str, k: int) -> list[Hit]:
        """The k best chunks for a query, or fewer."""


def open_retriever(name: str, chunks: Chunks, model: str | None = None, reranker: str | None = None) -> Retriever:
    """A retriever over chunks, one for all of this process; an index that is not there is built.

    Args:
        name: One of `NAMES`.
        chunks: What is searched.
        model: The sentence-transformers model of the dense ones; absent: the embedded one.
        reranker: The cross-encoder of `hybrid+rerank`; absent, or `maxsim`: the tokens of the embedding model.

    Raises:
        UserError: There is none of that name, what it needs is not there, or its index cannot be written.
    """
    if name not in NAMES:
        raise UserError(plugins.unknown("retriever", name, NAMES))

    def make() -> Retriever:
        if name == "bm25":
            return BM25.open(chunks.texts, chunks.digest)
        dense = Dense(chunks.texts, chunks.digest, model)
        if name == "dense":
            return dense
        sparse = BM25.open(chunks.texts, chunks.digest)
        if name == "hybrid+rerank":
            return Reranked(sparse, dense, chunks.texts, reranker)
        return Hybrid(sparse, dense, sample=name == "hybrid")

    return share(f"open-{short_hash([name, model, reranker, chunks.digest])}", make)


class BM25(Retriever):
    """BM25 in Lucene's variant (Kamphuis et al., 2020), as bm25s computes it, by numba where that is installed.

    k1 is 1.5 and b 0.75, the library's own defaults. A query's words count as often as they occur in it; of Chinese,
    they are jieba's.

    Args:
        index: An index of bm25s.
        size: How many chunks it is of; many are searched by compiled code.
    """

    def __init__(self, index: Any, size: int = 0) -> None:
        import bm25s

        self._index, self._top = index, _top
        if bm25s.NUMBA_AVAILABLE and size >= _COMPILED:
            index.activate_numba_scorer()
            self._top = functools.partial(bm25s.selection_jit.topk, sorted=False)

    @classmethod
    def of(cls, texts: Iterable[str]) -> BM25:
        """Of a few texts, in memory."""
        return cls(index_of_words(map(words.search_words, texts)))

    @classmethod
    def open(cls, texts: Sequence[str], digest: str) -> BM25:
        """Of chunks, whose index is kept in the cache."""
        return build_or_load(
            f"bm25-{short_hash([K1, B, METHOD, words.VERSION, digest])}",
            lambda folder: index_of_words(map(words.search_words, texts)).save(folder, show_progress=False),
            lambda folder: cls.load(folder, len(texts)),
        )

    @classmethod
    def load(cls, folder: Path, size: int) -> BM25:
        """Of a folder.

        Raises:
            ValueError: It holds the index of another number of chunks.
        """
        import bm25s

        index = bm25s.BM25.load(folder, mmap=True, show_progress=False)
        if index.scores["num_docs"] != size:
            raise ValueError(f"the index is of {index.scores['num_docs']} chunks, not of {size}")
        # Slices of a memmap are slow to make; those of a plain array over the same memory are not.
        index.scores = {k: np.asarray(v) if isinstance(v, np.memmap) else v for k, v in index.scores.items()}
        return cls(index, size)

    def identity(self) -> dict[str, Any]:
        return {"retriever": "bm25", "method": METHOD, "k1": K1, "b": B, "words": words.VERSION}

    def search(self, query: str, k: int) -> list[Hit]:
        return self.search_for_words(words.search_words(query), k)

    def search_for_words(self, query: Sequence[str], k: int) -> list[Hit]:
        """The k best chunks for a query whose words are known."""
        ids = self._index.get_tokens_ids(query)
        if not ids:
            return []
        scores = self._index.get_scores_from_ids(ids)
        return [hit for hit in best(scores, k, self._top) if hit.score > 0]


def index_of_words(chunks: Iterable[list[str]]) -> Any:
    """The index of bm25s for chunks whose words are known."""
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it logs every step by default
    numbers: dict[str, int] = {}
    rows = [array("i", [numbers.setdefault(word, len(numbers)) for word in chunk]) for chunk in chunks]
    if not numbers:  # the library needs a word; no query has this one
        numbers, rows = {"": 0}, [array("i", [0]) for _ in rows]
    index = bm25s.BM25(k1=K1, b=B, method=METHOD)
    index.scores = index.build_index_from_ids(list(numbers.values()), rows, show_progress=False)
    index.vocab_dict = numbers
    return index


class Dense(Retriever):
    """The chunks whose embeddings have the largest inner product with the query's, by exact search.

    The index is a memory-mapped matrix, one row of length 1 per different text, which numpy multiplies by the query.

    Raises:
        MissingExtra, UserError: What the model needs is not installed; there is no such model.
    """

    def __init__(self, texts: Sequence[str], digest: str, model: str | None = None) -> None:
        self.embedding = embedding(model)
        row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}  # equal texts have one score
        self._rows = np.fromiter((row_of[text] for text in texts), np.int32, len(texts))
        self._vectors: Any = build_or_load(
            f"dense-{short_hash([self.embedding.identity, digest])}",
            lambda folder: np.save(folder / "vectors.npy", self.embedding.documents(list(row_of))),
            lambda folder: np.load(folder / "vectors.npy", mmap_mode="r"),
        )

    def identity(self) -> dict[str, Any]:
        return {"retriever": "dense", "embedding": self.embedding.identity, "decimals": DECIMALS}

    def search(self, query: str, k: int) -> list[Hit]:
        scores = np.asarray(self._vectors @ self.embedding.queries([query])[0])
        return best(np.round(scores, DECIMALS)[self._rows], k)


class Hybrid(Retriever):
    """The k best chunks of each of two retrievers, joined.

    By reciprocal rank fusion, a chunk's score is the sum over both lists of 0.5 / (60 + rank), rank from 1 (Cormack et
    al. 2009, with the equal weights of CRUD-RAG's code); of equal ones those of the sparse list come first. CRUD-RAG's
    paper differs from its code: k of the joined chunks are drawn at random.

    Args:
        sparse, dense: They may be any two.
        sample: Draw k of the joined chunks at random, the same ones for the same query, instead of the k best.
    """

    def __init__(self, sparse: Retriever, dense: Retriever, sample: bool = False) -> None:
        self._parts, self._sample = (sparse, dense), sample

    def identity(self) -> dict[str, Any]:
        name = "hybrid" if self._sample else "rrf"
        return {"retriever": name, "parts": [part.identity() for part in self._parts], "constant": CONSTANT}

    def union(self, query: str, k: int) -> list[Hit]:
        """All chunks that are among the k best of either, by their joined score."""
        scores: defaultdict[int, float] = defaultdict(float)  # the sparse list's chunks first
        for part in self._parts:
            for rank, hit in enumerate(part.search(query, k), 1):
                scores[hit.chunk] += WEIGHT / (CONSTANT + rank)
        return [Hit(chunk, score) for chunk, score in sorted(scores.items(), key=lambda item: -item[1])]

    def search(self, query: str, k: int) -> list[Hit]:
        found = self.union(query, k)
        if self._sample:
            drawn = sorted((hit.chunk for hit in found), key=lambda chunk: _lot(query, chunk))[:k]
            found = [hit for hit in found if hit.chunk in drawn]
        return found[:k]


class Reranked(Hybrid):
    """The at most 2k chunks that two retrievers find, in the order of a model that reads query and text.

    Args:
        sparse, dense: The two retrievers.
        texts: The chunks.
        model: A cross-encoder's folder or its name on the Hub; default: `maxsim`, of the dense one's embeddings, which
            needs no weights but those (see `Embedding.scores`).

    Raises:
        MissingExtra, UserError: What the model needs is not installed; there is no such model.
    """

    def __init__(self, sparse: Retriever, dense: Dense, texts: Sequence[str], model: str | None = None) -> None:
        super().__init__(sparse, dense)
        self._scorer = dense.embedding if model in (None, MAXSIM) else cross_encoder(str(model))
        self._texts = texts

    def identity(self) -> dict[str, Any]:
        scorer = {"scorer": type(self._scorer).__name__, **self._scorer.identity, "decimals": DECIMALS}
        return {**super().identity(), "retriever": "hybrid+rerank", "reranker": scorer}

    def search(self, query: str, k: int) -> list[Hit]:
        chunks = sorted(hit.chunk for hit in self.union(query, k))
        once = list(dict.fromkeys(self._texts[chunk] for chunk in chunks))
        if not once:
            return []
        score = dict(zip(once, np.round(self._scorer.scores(query, once), DECIMALS).tolist(), strict=True))
        found = [Hit(chunk, score[self._texts[chunk]]) for chunk in chunks]
        return sorted(found, key=lambda hit: -hit.score)[:k]


def best(scores: Scores, k: int, top: Callable[[Scores, int], tuple[Any, Any]] | None = None) -> list[Hit]:
    """The k chunks with the highest scores; of equal ones those with the lower numbers.

    Args:
        scores: One per chunk.
        k: How many are wanted.
        top: Finds the k highest scores and their places, in any order; by default numpy does.
    """
    values, places = (top or _top)(scores, min(k + 1, len(scores)))
    ranked = sorted(zip((-values).tolist(), places.tolist(), strict=True))
    if len(ranked) > k and ranked[k - 1][0] == ranked[k][0]:  # more chunks have this score than there is room for
        limit = -ranked[k][0]
        equal = np.flatnonzero(scores == limit).tolist()
        ranked = [one for one in ranked if one[0] < -limit] + [(-limit, place) for place in equal]
    return [Hit(place, -value) for value, place in ranked[:k]]


def _top(scores: Scores, k: int) -> tuple[Any, Any]:
    places = np.argpartition(scores, len(scores) - k)[len(scores) - k :]
    return scores[places], places


def _lot(query: str, chunk: int) -> bytes:
    return hashlib.blake2b(f"{query}\0{chunk}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
