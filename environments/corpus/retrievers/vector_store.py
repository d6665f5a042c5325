"""`langchain:<module or file.py>:<factory>`: a vector store or a retriever of LangChain.

The factory is a function that receives the chunks as LangChain documents, and returns what it has made of them: a
vector store (Milvus, Qdrant, Elasticsearch, ...) or a retriever. A document's id is the same each time, so that a store
that lasts can be filled once. A retriever decides itself how many documents it finds; the first k of them count.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval import plugins
from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.schema import clip
from r_eval.errors import MissingExtra, UserError
from r_eval.files import is_file
from r_eval.fingerprints import file_hash

from .base import Hit, Retriever

if TYPE_CHECKING:
    from langchain_core.documents import Document

CHUNK = "chunk"
"""Metadata of a document: its chunk's number, from 0."""


class VectorStoreRetriever(Retriever):
    """What a vector store or a retriever of LangChain finds."""

    def __init__(self, factory: str) -> None:
        """Find the factory; it is called when the chunks are known.

        Args:
            factory: `module:name` or `file.py:name` of a function of one argument.

        Raises:
            MissingExtra, UserError: langchain-core is not installed; there is no such function.
        """
        try:
            import langchain_core.vectorstores  # noqa: F401
        except ImportError:
            raise MissingExtra("langchain-core", "langchain", f"The retriever langchain:{factory}") from None
        self._factory = factory
        self._make = plugins.from_path(factory, "environments")
        if not callable(self._make):
            raise UserError(f"{factory} is not a function: expected one that makes a vector store of documents")
        self._texts: Sequence[str] = ()
        self._found: Callable[[str, int], list[Document]] = lambda query, k: []

    def identity(self) -> dict[str, Any]:
        """The factory, and a hash of its file if it is one; what is behind it, LangChain does not say."""
        where, _, name = self._factory.rpartition(":")
        if not is_file(Path(where)):
            return {"retriever": "langchain", "factory": self._factory}
        return {"retriever": "langchain", "factory": f"{Path(where).name}:{name}", "file": file_hash(Path(where))}

    def open(self, texts: Sequence[str], folder: Path) -> None:
        """Call the factory.

        Raises:
            UserError: It fails, or returns something else.
        """
        from langchain_core.documents import Document
        from langchain_core.retrievers import BaseRetriever
        from langchain_core.vectorstores import VectorStore

        self._texts = texts
        documents = [
            Document(text, metadata={CHUNK: number}, id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{number}\0{text}")))
            for number, text in enumerate(texts)
        ]
        try:
            made = self._make(documents)
        except Exception as error:  # noqa: BLE001  a factory is the user's code
            raise UserError(f"{self._factory} fails: {_message(error)}") from None
        if isinstance(made, VectorStore):
            self._found = lambda query, k: made.similarity_search(query, k=k)
        elif isinstance(made, BaseRetriever):
            self._found = lambda query, k: made.invoke(query)
        else:
            expected = "expected a vector store or a retriever of LangChain"
            raise UserError(f"{self._factory} returns a {type(made).__name__}: {expected}")

    def search(self, query: str, k: int) -> list[Hit]:
        """The first k that the store finds, each chunk once.

        Raises:
            EnvironmentFailure: The store fails, or finds a document that is none of the chunks.
        """
        try:
            documents = self._found(query, k)
        except Exception as error:
            raise EnvironmentFailure(f"{self._factory} failed: {_message(error)}") from error
        chunks = list(dict.fromkeys(map(self._number, documents)))[:k]
        return [Hit(chunk, 1 / rank) for rank, chunk in enumerate(chunks, 1)]

    def _number(self, document: Document) -> int:
        """Which chunk a document is."""
        number: Any = document.metadata.get(CHUNK)
        try:
            if self._texts[int(number)].split() == document.page_content.split() and int(number) >= 0:
                return int(number)
        except (TypeError, ValueError, IndexError):
            pass
        what = f"{self._factory} holds a document that is no chunk of the corpus ({clip(document.page_content, 60)!r})"
        raise EnvironmentFailure(f"{what}: put the documents into it that the factory receives, and no others")


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {clip(str(error), 300)}"
