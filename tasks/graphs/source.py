"""Where the triples of a graph file come from: an environment, or a file with documents beside it."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from r_eval.environments.base import Environment
from r_eval.environments.opening import located
from r_eval.errors import UserError
from r_eval.records import Document
from r_eval.tasks.base import open_environment
from r_eval.tasks.graphs.documents import read_documents
from r_eval.tasks.graphs.file import GraphFile
from r_eval.tasks.graphs.sampling import Subgraph
from r_eval.tasks.graphs.store import Graph, Triple
from r_eval.tasks.graphs.tables import read_triples


class TripleFile(Environment):
    """Triples of a file. It has no query APIs: questions over it come with their documents.

    Attributes:
        origins: Ids of the documents that say a triple.

    Raises:
        UserError: The file is wrong.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        origins: dict[Triple, dict[str, None]] = {}
        for row in read_triples(path):
            known = origins.setdefault(row.triple, {})
            if row.document:
                known[row.document] = None
        self.origins = {triple: tuple(keys) for triple, keys in origins.items()}

    @property
    def version(self) -> str:
        return hashlib.blake2b(self.path.read_bytes(), digest_size=8).hexdigest()

    def triples(self) -> Iterator[Triple]:
        yield from sorted(self.origins)


@dataclasses.dataclass(frozen=True)
class Source:
    """A graph, and what stands behind it.

    Attributes:
        environment: Over which programs run.
        documents: By id.
        origins: Ids of the documents that say a triple.
        searched: Whether the documents are a corpus, so that questions name them and come without.
    """

    graph: Graph
    environment: Environment
    documents: Mapping[str, Document] = dataclasses.field(default_factory=dict)
    origins: Mapping[Triple, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    searched: bool = False

    def documented(self, subgraph: Subgraph) -> bool:
        """Whether documents say all of a subgraph's triples; where there are no documents, nothing needs to."""
        return not self.documents or all(
            any(key in self.documents for key in self.origins.get(triple, ())) for triple in subgraph.triples
        )

    def texts(self, subgraph: Subgraph) -> dict[str, Document]:
        """The documents that say a subgraph's triples, by id."""
        keys = dict.fromkeys(key for triple in subgraph.triples for key in self.origins.get(triple, ()))
        return {key: self.documents[key] for key in keys if key in self.documents}

    def context(self, subgraph: Subgraph) -> list[Document]:
        """The documents that come with a question."""
        return [] if self.searched else list(self.texts(subgraph).values())

    def right(self, subgraph: Subgraph) -> dict[str, list[str]]:
        """What a question's meta says of the documents that are to be found: their ids and texts."""
        texts = self.texts(subgraph) if self.searched else {}
        return {"text_ids": list(texts), "sources": [text.text for text in texts.values()]} if texts else {}


def source_of(file: GraphFile, folder: Path, environment: str | None = None) -> tuple[str, Source]:
    """What a graph file's questions come from, with the environment's name: "" of a file of triples.

    Args:
        folder: The graph file's own.
        environment: In place of the one that the file names.

    Raises:
        UserError: The environment or a file cannot be read, or there are no triples.
    """
    if file.triples is not None:
        source = open_source(TripleFile(file.triples), file.triples.name, file.documents or file.corpus)
        return "", dataclasses.replace(source, searched=file.corpus is not None)
    name = environment or located(file.environment or "", folder)
    return name, open_source(open_environment(name), name)


def open_source(environment: Environment, name: str, documents: Path | None = None) -> Source:
    """The triples that an environment offers.

    Args:
        documents: The documents of a `TripleFile`.

    Raises:
        UserError: It offers none, or a document cannot be read.
    """
    graph = Graph(environment.triples())
    if not len(graph):
        raise UserError(f"'{name}' offers no triples, of which graph questions are made")
    known = dict(read_documents(documents)) if documents is not None else {}
    return Source(graph, environment, known, environment.origins if isinstance(environment, TripleFile) else {})
