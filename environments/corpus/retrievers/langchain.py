"""`langchain:<module or file.py>:<factory>`: a vector store or a retriever of LangChain.

The factory is a function without arguments that returns a vector store (Milvus, Qdrant, Elasticsearch, ...), empty or
as R-Eval filled it before: the chunks are put into it, each with its number in the metadata `chunk`. Or it is a
function of one argument that receives the chunks as LangChain documents and returns what it has made of them: a vector
store or a retriever. A retriever decides itself how many documents it finds; the first k of them count.
"""

from __future__ import annotations

import inspect
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
    from langchain_core.vectorstores import VectorStore

CHUNK = "chunk"
"""Metadata of a document: its chunk's number, from 0."""
_BATCH = 256
"""Documents put into a store at once."""
_PROBED = 8
"""Documents looked at to see what a store holds; more than one, since other chunks may have the same text."""


class Store(Retriever):
    """What a vector store or a retriever of LangChain finds."""

    def __init__(self, factory: str) -> None:
        """Find the factory; it is called when the chunks are known.

        Args:
            factory: `module:name` or `file.py:name` of a function that returns a vector store or a retriever.

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
            raise UserError(f"{factory} is not a function: expected one that returns a vector store or a retriever")
        self._texts: Sequence[str] = ()
        self._found: Callable[[str, int], list[Document]] = lambda query, k: []

    def identity(self) -> dict[str, Any]:
        """The factory, and a hash of its file if it is one; what is behind it, LangChain does not say."""
        where, _, name = self._factory.rpartition(":")
        if not is_file(Path(where)):
            return {"retriever": "langchain", "factory": self._factory}
        return {"retriever": "langchain", "factory": f"{Path(where).name}:{name}", "file": file_hash(Path(where))}

    def open(self, texts: Sequence[str], folder: Path) -> None:
        """Call the factory, and fill its store if that does not hold the chunks yet.

        Raises:
            UserError: The factory fails, returns something else, or a store that holds something else.
        """
        from langchain_core.retrievers import BaseRetriever
        from langchain_core.vectorstores import VectorStore

        self._texts = texts
        takes_documents = _takes_one(self._make)
        try:
            made = self._make(self._documents(0, len(texts))) if takes_documents else self._make()
        except Exception as error:  # noqa: BLE001  a factory is the user's code
            raise UserError(f"{self._factory} fails: {_message(error)}") from None
        if isinstance(made, VectorStore):
            self._found = lambda query, k: made.similarity_search(query, k=k)
            if not takes_documents:
                self._fill(made)
        elif isinstance(made, BaseRetriever):
            self._found = lambda query, k: list(made.invoke(query))
        else:
            expected = "expected a vector store or a retriever of LangChain"
            raise UserError(f"{self._factory} returns a {type(made).__name__}: {expected}")

    def search(self, query: str, k: int) -> list[Hit]:
        """The first k that the store finds, each chunk once.

        Raises:
            EnvironmentFailure: The store fails, or finds a document that is none of the chunks.
        """
        try:
            chunks = dict.fromkeys(map(self._number, self._found(query, k)))
        except UserError as error:
            raise EnvironmentFailure(str(error)) from None
        except Exception as error:
            raise EnvironmentFailure(f"{self._factory} failed: {_message(error)}") from error
        return [Hit(chunk, 1 / rank) for rank, chunk in enumerate(list(chunks)[:k], 1)]

    def _fill(self, store: VectorStore) -> None:
        """Put the chunks into a store that does not find the last one by its own text.

        The documents' ids are the same each time, so that a store that was filled in part is completed.
        """
        last = len(self._texts) - 1
        try:
            if last in map(self._number, self._found(self._texts[last], _PROBED)):
                return
            for start in range(0, len(self._texts), _BATCH):
                documents = self._documents(start, start + _BATCH)
                store.add_documents(documents, ids=[str(document.id) for document in documents])
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001  each store fails in its own way
            raise UserError(f"{self._factory}: the store cannot be filled: {_message(error)}") from None

    def _number(self, document: Document) -> int:
        """Which chunk a document is."""
        number: Any = document.metadata.get(CHUNK)
        try:
            if self._texts[int(number)].split() == document.page_content.split() and int(number) >= 0:
                return int(number)
        except (TypeError, ValueError, IndexError):
            pass
        hint = "return an empty store, or one made of the documents that a factory of one argument receives"
        text = clip(document.page_content, 60)
        raise UserError(f"{self._factory} holds a document that is no chunk of the corpus ({text!r}): {hint}")

    def _documents(self, start: int, end: int) -> list[Document]:
        from langchain_core.documents import Document

        found = []
        for number in range(start, min(end, len(self._texts))):
            name = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{number}\0{self._texts[number]}"))  # Qdrant needs UUIDs
            found.append(Document(page_content=self._texts[number], metadata={CHUNK: number}, id=name))
        return found


def _takes_one(function: Callable[..., Any]) -> bool:
    """Whether a function needs exactly one positional argument."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in positional and one.default is one.empty for one in parameters) == 1


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {clip(str(error), 300)}"
