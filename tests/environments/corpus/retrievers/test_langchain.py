"""Vector stores and retrievers of LangChain, from a file that a user would write."""

from __future__ import annotations

import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.corpus.retrievers.langchain import Store
from r_eval.errors import UserError

pytest.importorskip("langchain_core", reason="needs langchain-core (extra langchain)")

TEXTS = [
    "The library opens at nine.",
    "Foxes hunt mice.",
    "The museum is closed.",
    "图书馆九点开放。",
    "Foxes hunt mice.",
]
START = """
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

    kept = InMemoryVectorStore(Letters())

    def store():
        return kept
"""


def factory(folder: Path, more: str = "", name: str = "store") -> str:
    path = folder / "store.py"
    path.write_text(textwrap.dedent(START) + textwrap.dedent(more), encoding="utf-8")
    return f"{path}:{name}"


def opened(named: str, folder: Path, texts: list[str] | None = None) -> Store:
    store = Store(named)
    store.build(texts or TEXTS, folder)
    store.open(texts or TEXTS, folder)
    return store


def chunks(store: Store, query: str, k: int = 2) -> list[int]:
    return [hit.chunk for hit in store.search(query, k)]


def kept(store: Store) -> Any:
    return store._make()


def test_an_empty_store_is_filled_and_finds_chunks_by_their_numbers(tmp_path: Path) -> None:
    store = opened(factory(tmp_path), tmp_path)
    assert chunks(store, "When does the library open?", 1) == [0]
    assert chunks(store, "图书馆", 1) == [3]


def test_chunks_of_the_same_text_are_both_found(tmp_path: Path) -> None:
    assert sorted(chunks(opened(factory(tmp_path), tmp_path), "foxes hunt mice", 2)) == [1, 4]


def test_a_store_that_holds_the_chunks_is_not_filled_again(tmp_path: Path) -> None:
    first = opened(factory(tmp_path), tmp_path)
    kept(first).add_documents = None
    assert chunks(opened(factory(tmp_path), tmp_path), "museum", 1) == [2]


def test_a_store_that_was_filled_in_part_is_completed(tmp_path: Path) -> None:
    first = opened(factory(tmp_path), tmp_path)
    lost = [key for key, value in kept(first).store.items() if value["metadata"]["chunk"] in (3, 4)]
    kept(first).delete(ids=lost)
    again = opened(factory(tmp_path), tmp_path)
    assert len(kept(again).store) == len(TEXTS)
    assert chunks(again, "图书馆", 1) == [3]


def test_a_store_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    named = factory(tmp_path, "kept.add_texts(['Foxes hunt mice and men.'])")
    with pytest.raises(UserError, match=r"no chunk of the corpus \('Foxes .* men.'\): return an empty store"):
        opened(named, tmp_path)


def test_a_store_filled_from_other_documents_is_refused(tmp_path: Path) -> None:
    named = factory(tmp_path)
    opened(named, tmp_path)
    with pytest.raises(UserError, match="no chunk of the corpus"):
        opened(named, tmp_path, [text.replace("Foxes", "Wolves") for text in TEXTS])


def test_a_factory_of_one_argument_is_given_the_chunks(tmp_path: Path) -> None:
    more = """
    class Longest(BaseRetriever):
        documents: list[Document]

        def _get_relevant_documents(self, query, *, run_manager):
            return sorted(self.documents, key=lambda document: -len(document.page_content))

    def longest(documents):
        return Longest(documents=documents)
    """
    assert chunks(opened(factory(tmp_path, more, "longest"), tmp_path), "anything", 2) == [0, 2]


def test_a_retriever_over_a_store_that_was_filled_finds_its_chunks(tmp_path: Path) -> None:
    more = """
    def retriever():
        return kept.as_retriever(search_kwargs={"k": 3})
    """
    opened(factory(tmp_path, more), tmp_path)
    assert chunks(opened(factory(tmp_path, more, "retriever"), tmp_path), "the library opens", 2)[0] == 0


def test_a_document_that_is_no_chunk_is_a_failure_of_the_environment(tmp_path: Path) -> None:
    store = opened(factory(tmp_path), tmp_path)
    kept(store).add_texts(["zzz zzz"])
    with pytest.raises(EnvironmentFailure, match="no chunk of the corpus"):
        store.search("zzz", 1)


def test_a_store_that_fails_is_a_failure_of_the_environment(tmp_path: Path) -> None:
    store = opened(factory(tmp_path), tmp_path)
    kept(store).embedding.embed_query = None
    with pytest.raises(EnvironmentFailure, match="failed: TypeError"):
        store.search("fox", 1)


def test_a_factory_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="fails: ConnectionError: no server on 19530"):
        opened(factory(tmp_path, "def broken():\n    raise ConnectionError('no server on 19530')", "broken"), tmp_path)


def test_a_factory_that_gives_something_else_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="returns a int: expected a vector store or a retriever"):
        opened(factory(tmp_path, "def number():\n    return 7", "number"), tmp_path)


def test_what_is_no_function_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a function"):
        Store(factory(tmp_path, "number = 7", "number"))


def test_an_edited_file_is_another_identity(tmp_path: Path) -> None:
    before = Store(factory(tmp_path)).identity()
    factory(tmp_path, "more = 1")
    assert Store(f"{tmp_path / 'store.py'}:store").identity() != before


def test_many_threads_find_what_one_finds(tmp_path: Path) -> None:
    store = opened(factory(tmp_path), tmp_path)
    alone = {text: chunks(store, text) for text in TEXTS}
    together: list[bool] = []
    threads = [
        threading.Thread(target=lambda: together.extend(chunks(store, text) == alone[text] for text in TEXTS))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [True] * 8 * len(TEXTS)
