"""`langchain:<module or file.py>:<factory>`: a vector store or a retriever of LangChain, for those who have one.

The factory is a function without arguments that gives a vector store (Milvus, Qdrant, Elasticsearch, ...): empty, or as
R-Eval filled it before. The chunks are put into it, each with its number in the metadata `chunk`. Or it is a function
of one argument, to which the chunks are given as LangChain documents, and which gives whatever it has made of them: a
vector store or a retriever. A retriever decides itself how many documents it finds; the first k of them count. How
equal ones are ordered is the store's affair.
"""

from __future__ import annotations

import hashlib
import inspect
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval import plugins
from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.corpus.retrievers.base import Hit, Indexed
from r_eval.environments.schema import clip
from r_eval.errors import MissingExtra, UserError

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore

CHUNK = "chunk"
"""Metadata of a document: its chunk's number, from 0."""

_BATCH = 256
"""Documents put into a store at once."""
_PROBED = 8
"""Documents looked at to see what a store holds; more than one, since other chunks may have the same text."""


class Store(Indexed):
    """What a vector store or a retriever of LangChain finds."""

    def __init__(self, factory: str) -> None:
        """Find the factory; it is called when the chunks are known.

        Args:
            factory: `module:name` or `file.py:name` of a function that gives a vector store or a retriever.

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
            raise UserError(f"{factory} is no function: expected one that gives a vector store or a retriever")
        self._texts: Sequence[str] = ()
        self._found: Callable[[str, int], list[Document]] = lambda query, k: []

    def identity(self) -> dict[str, Any]:
        """The factory, and a hash of its file if it is one; what is behind it, LangChain does not say."""
        where, _, name = self._factory.rpartition(":")
        if not where.endswith(".py"):
            return {"retriever": "langchain", "factory": self._factory}
        content = hashlib.blake2b(Path(where).read_bytes(), digest_size=16).hexdigest()
        return {"retriever": "langchain", "factory": f"{Path(where).name}:{name}", "file": content}

    def build(self, texts: Sequence[str], folder: Path) -> None:
        """Nothing is kept here: the store keeps its own."""

    def open(self, texts: Sequence[str], folder: Path) -> None:
        """Call the factory, and fill its store if that does not hold the chunks yet.

        Raises:
            UserError: The factory fails, gives something else, or a store that holds something else.
        """
        from langchain_core.retrievers import BaseRetriever
        from langchain_core.vectorstores import VectorStore

        self._texts = texts
        given = len(_needed(self._make)) == 1
        try:
            made = self._make(_documents(texts, 0, len(texts))) if given else self._make()
        except Exception as error:  # noqa: BLE001  a factory is the user's code
            raise UserError(f"{self._factory} fails: {_said(error)}") from None
        if isinstance(made, VectorStore):
            self._found = _search(made)
            if not given and len(texts):
                self._fill(made)
        elif isinstance(made, BaseRetriever):
            self._found = _invoke(made)
        else:
            expected = "expected a vector store or a retriever of LangChain"
            raise UserError(f"{self._factory} gives a {type(made).__name__}: {expected}")

    def search(self, query: str, k: int) -> list[Hit]:
        """The first k that the store finds, each chunk once.

        Raises:
            EnvironmentFailure: The store fails, or gives a document that is none of the chunks.
        """
        try:
            found = self._found(query, k)
        except Exception as error:
            raise EnvironmentFailure(f"{self._factory} failed: {_said(error)}") from error
        try:
            chunks = dict.fromkeys(self._number(document) for document in found)
        except UserError as error:
            raise EnvironmentFailure(str(error)) from None
        return [Hit(chunk, 1 / rank) for rank, chunk in enumerate(list(chunks)[:k], 1)]

    def _fill(self, store: VectorStore) -> None:
        """Put the chunks into a store that does not find the last one by its own text.

        The documents' ids are the same each time, so that one that was filled in part is completed.
        """
        last = len(self._texts) - 1
        try:
            if last in [self._number(document) for document in self._found(self._texts[last], _PROBED)]:
                return
            for start in range(0, len(self._texts), _BATCH):
                documents = _documents(self._texts, start, start + _BATCH)
                store.add_documents(documents, ids=[str(document.id) for document in documents])
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001  each store fails in its own way
            raise UserError(f"{self._factory}: the store cannot be filled: {_said(error)}") from None

    def _number(self, document: Document) -> int:
        """Which chunk a document is."""
        said = document.metadata.get(CHUNK)
        try:
            number = int(said)
            same = 0 <= number < len(self._texts) and self._texts[number].split() == document.page_content.split()
        except (TypeError, ValueError):
            same = False
        if not same:
            hint = "give an empty store, or make it of the documents that a factory of one argument is given"
            text = clip(document.page_content, 60)
            raise UserError(f"{self._factory} holds a document that is no chunk of the corpus ({text!r}): {hint}")
        return number


def _documents(texts: Sequence[str], start: int, end: int) -> list[Document]:
    from langchain_core.documents import Document

    found = []
    for number in range(start, min(end, len(texts))):
        name = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{number}\0{texts[number]}"))  # Qdrant takes nothing but UUIDs
        found.append(Document(page_content=texts[number], metadata={CHUNK: number}, id=name))
    return found


def _search(store: VectorStore) -> Callable[[str, int], list[Document]]:
    return lambda query, k: store.similarity_search(query, k=k)


def _invoke(retriever: BaseRetriever) -> Callable[[str, int], list[Document]]:
    return lambda query, k: list(retriever.invoke(query))


def _needed(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one for one in parameters if one.kind in positional and one.default is one.empty]


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {clip(str(error), 300)}"
