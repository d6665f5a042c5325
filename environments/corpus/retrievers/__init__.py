"""The retrievers, by the names that a grid calls them."""

from __future__ import annotations

from r_eval.environments.corpus.chunks import Chunks, build_or_load, share
from r_eval.errors import UserError
from r_eval.fingerprints import short_hash
from r_eval.plugins import unknown

from .base import Hit, Retriever

__all__ = ["Hit", "Retriever", "make", "open_retriever"]

NAMES = ("bm25", "dense", "rrf", "hybrid", "hybrid+rerank")
STORE = "langchain:"


def make(name: str, embedding: str | None = None, reranker: str | None = None) -> Retriever:
    """A retriever, not yet opened.

    Args:
        name: One of `NAMES`, or `langchain:<module or file.py>:<factory>`.
        embedding: The sentence-transformers model of the dense ones; absent: the embedded one.
        reranker: The cross-encoder of `hybrid+rerank`; absent, or `maxsim`: the tokens of the embedding model.

    Raises:
        UserError: There is none of that name, or what it needs is not there.
    """
    if name.startswith(STORE):
        from .vector_store import VectorStoreRetriever

        return VectorStoreRetriever(name.removeprefix(STORE))
    if name not in NAMES:
        raise UserError(unknown("retriever", name, [*NAMES, f"{STORE}<module or file.py>:<factory>"]))
    from .bm25 import BM25

    if name == "bm25":
        return BM25()
    from .dense import Dense

    dense = Dense(embedding)
    if name == "dense":
        return dense
    from .hybrid import Hybrid, Reranked

    if name == "hybrid+rerank":
        return Reranked(BM25(), dense, reranker)
    return Hybrid(BM25(), dense, sample=name == "hybrid")


def open_retriever(retriever: Retriever, chunks: Chunks) -> Retriever:
    """The retriever ready to search the chunks, or one like it that is open.

    An index is known by a hash of the chunks and of the retriever's identity: all tasks over one corpus share it.

    Raises:
        UserError: An index cannot be written.
    """
    return share(f"open-{_name(retriever, chunks)}", lambda: _open(retriever, chunks))


def _open(retriever: Retriever, chunks: Chunks) -> Retriever:
    for part in retriever.parts:
        _open(part, chunks)
    build_or_load(
        _name(retriever, chunks),
        lambda folder: retriever.build(chunks, folder),
        lambda folder: retriever.open(chunks, folder),
    )
    return retriever


def _name(retriever: Retriever, chunks: Chunks) -> str:
    kind = type(retriever)
    return f"{kind.__name__.lower()}-{short_hash([kind.__qualname__, retriever.identity(), chunks.digest])}"
