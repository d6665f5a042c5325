"""Vector stores and retrievers of LangChain, from a file that a user would write."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from r_eval import plugins
from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.corpus.retrievers import VectorStoreRetriever
from r_eval.errors import UserError

pytest.importorskip("langchain_core", reason="needs langchain-core (extra langchain)")

TEXTS = [
    "The library opens at nine.",
    "Foxes hunt mice.",
    "The museum is closed.",
    "图书馆九点开放。",
    "Foxes hunt mice.",
]
FACTORIES = """
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import InMemoryVectorStore

    class Letters(Embeddings):
        '''How often each letter is in a text.'''

        def embed_query(self, text):
            return [1e-3] + [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz图书馆九点开放"]

        def embed_documents(self, texts):
            return [self.embed_query(text) for text in texts]

    store = InMemoryVectorStore(Letters())

    def vectors(documents):
        store.add_documents(documents)
        return store

    class Longest(BaseRetriever):
        documents: list[Document]

        def _get_relevant_documents(self, query, *, run_manager):
            return sorted(self.documents, key=lambda document: -len(document.page_content))

    def longest(documents):
        return Longest(documents=documents)

    def broken(documents):
        raise ConnectionError("no server on 19530")

    def number(documents):
        return 7

    seven = 7
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "store.py"
    path.write_text(textwrap.dedent(FACTORIES), encoding="utf-8")
    return path


def opened(file: Path, name: str = "vectors") -> VectorStoreRetriever:
    return VectorStoreRetriever(f"{file}:{name}", TEXTS)


def chunks(retriever: VectorStoreRetriever, query: str, k: int) -> list[int]:
    return [hit.chunk for hit in retriever.search(query, k)]


def store_of(file: Path) -> Any:
    return plugins.from_path(f"{file}:store", "environments")


def test_a_store_or_a_retriever_finds_chunks_by_their_numbers(file: Path) -> None:
    retriever = opened(file)
    assert chunks(retriever, "When does the library open?", 1) == [0]
    assert chunks(retriever, "图书馆", 1) == [3]
    assert sorted(chunks(retriever, "foxes hunt mice", 2)) == [1, 4]
    assert chunks(opened(file, "longest"), "anything", 2) == [0, 2]


def test_a_document_that_is_no_chunk_is_a_failure_of_the_environment(file: Path) -> None:
    retriever = opened(file)
    store_of(file).add_texts(["zzz zzz"])
    with pytest.raises(EnvironmentFailure, match="no chunk of the corpus"):
        retriever.search("zzz", 1)


def test_a_store_that_fails_is_a_failure_of_the_environment(file: Path) -> None:
    retriever = opened(file)
    store_of(file).embedding.embed_query = None
    with pytest.raises(EnvironmentFailure, match="failed: TypeError"):
        retriever.search("fox", 1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken", "fails: ConnectionError: no server on 19530"),
        ("number", "returns a int: expected a vector store or a retriever"),
        ("seven", "is not a function"),
        ("nothing", "has no nothing"),
    ],
)
def test_a_factory_that_makes_nothing_is_the_persons_error(file: Path, name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        opened(file, name)


def test_a_changed_file_is_another_identity(file: Path) -> None:
    retriever = opened(file)
    before = retriever.identity()
    file.write_text(file.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    assert retriever.identity() != before
