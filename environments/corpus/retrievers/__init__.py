"""The retrievers, by the names that a grid calls them."""

from __future__ import annotations

from r_eval.errors import UserError
from r_eval.plugins import unknown

from .base import Hit, Indexed, Retriever

__all__ = ["Hit", "Indexed", "Retriever", "make"]

NAMES = ("bm25", "dense", "hybrid", "hybrid-sample", "hybrid+rerank")
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
        from .langchain import Store

        return Store(name.removeprefix(STORE))
    if name not in NAMES:
        raise UserError(unknown("retriever", name, [*NAMES, "langchain:<module or file.py>:<factory>"]))
    if name == "bm25":
        from .bm25 import BM25

        return BM25()
    from .dense import Dense

    dense = Dense(embedding)
    if name == "dense":
        return dense
    from .bm25 import BM25
    from .hybrid import Hybrid

    hybrid = Hybrid(BM25(), dense, sample=name == "hybrid-sample")
    if name != "hybrid+rerank":
        return hybrid
    from .rerank import Reranked

    return Reranked(hybrid, reranker)
