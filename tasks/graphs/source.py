"""The source of a graph file's triples: an environment, or a file of triples with documents.

A file of triples is tab-separated with a header. The columns `subject`, `relation` and `object` are required;
`document` is the id of the triple's document, and other columns are ignored. A triple may have several lines, one per
document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from r_eval.environments.base import Environment
from r_eval.environments.corpus.sources import read_documents
from r_eval.environments.opening import located
from r_eval.errors import UserError
from r_eval.files import read_text
from r_eval.records import Document
from r_eval.tasks.base import open_environment
from r_eval.tasks.graphs.graph import Graph, Subgraph, Triple
from r_eval.tasks.graphs.graph_file import GraphFile

COLUMNS = ("subject", "relation", "object", "document")


class Row(NamedTuple):
    """A line of a file of triples; `document` is an id, or empty if unknown."""

    triple: Triple
    document: str = ""


def read_triples(path: Path) -> Iterator[Row]:
    """The lines of a file of triples.

    Raises:
        UserError: The file does not exist, lacks a column, or a line is wrong; names the line.
    """
    heading, *rest = read_text(path, "file of triples").split("\n")
    header = heading.rstrip("\r").split("\t")
    missing = [name for name in COLUMNS[:3] if name not in header]
    if missing:
        raise UserError(
            f"{path}:1: no column {', '.join(missing)}; the first line names the columns, with tabs between:"
            " subject, relation, object and, if known, document"
        )
    for number, line in enumerate(rest, 2):
        cells = line.rstrip("\r").split("\t")
        if cells == [""]:
            continue
        if len(cells) != len(header):
            raise UserError(f"{path}:{number}: {len(cells)} cells, and {len(header)} columns")
        row = dict(zip(header, map(str.strip, cells), strict=True))
        subject, relation, object_, document = (row.get(name, "") for name in COLUMNS)
        if not (subject and relation and object_):
            raise UserError(f"{path}:{number}: an empty subject, relation or object")
        yield Row((subject, relation, object_), document)


def write_triples(path: Path, rows: Iterable[Row]) -> None:
    """Write a file of triples; line breaks and tabs in names become spaces."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("\t".join(COLUMNS) + "\n")
        for row in rows:
            cells = (*row.triple, row.document)
            file.write("\t".join(" ".join(cell.split()) for cell in cells) + "\n")


class TripleFile(Environment):
    """The triples of a file, without query APIs: questions over it have documents as context.

    Attributes:
        origins: Ids of the documents that state a triple.

    Raises:
        UserError: The file is invalid.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.origins: dict[Triple, dict[str, None]] = {}
        for row in read_triples(path):
            self.origins.setdefault(row.triple, {}).update({row.document: None} if row.document else {})

    @property
    def version(self) -> str:
        return hashlib.blake2b(self.path.read_bytes(), digest_size=8).hexdigest()

    def triples(self) -> Iterator[Triple]:
        yield from sorted(self.origins)


class TripleSource:
    """A graph and its origin.

    Args:
        environment: Provides the triples; gold programs run over it.
        name: Name of the environment for messages.
        documents: The texts that state the triples of a `TripleFile`.
        is_corpus: Whether the documents are a corpus to search rather than context of the questions.

    Attributes:
        documents: Documents by id.

    Raises:
        UserError: There are no triples, or a document cannot be read.
    """

    def __init__(
        self, environment: Environment, name: str, documents: Path | None = None, is_corpus: bool = False
    ) -> None:
        self.environment, self.is_corpus, self.graph = environment, is_corpus, Graph(environment.triples())
        if not len(self.graph):
            raise UserError(f"'{name}' offers no triples, of which graph questions are made")
        sources = read_documents(str(documents)) if documents is not None else ()
        self.documents = {source.id: Document(title=source.title or source.id, text=source.text) for source in sources}
        self._origins = environment.origins if isinstance(environment, TripleFile) else {}

    def is_documented(self, subgraph: Subgraph) -> bool:
        """Whether documents state all triples of a subgraph; always true without documents."""
        return not self.documents or all(
            any(key in self.documents for key in self._origins.get(triple, ())) for triple in subgraph.triples
        )

    def texts(self, subgraph: Subgraph) -> dict[str, Document]:
        """The documents that state a subgraph's triples, by id."""
        keys = dict.fromkeys(key for triple in subgraph.triples for key in self._origins.get(triple, ()))
        return {key: self.documents[key] for key in keys if key in self.documents}


def source_of(file: GraphFile, folder: Path, environment: str | None = None) -> tuple[str, TripleSource]:
    """The source of a graph file, with the environment's name, which is "" for a file of triples.

    Args:
        folder: Folder of the graph file.
        environment: Replaces the environment of the file.

    Raises:
        UserError: The environment or a file cannot be read, or there are no triples.
    """
    if file.triples is None:
        name = environment or located(file.environment or "", folder)
        return name, TripleSource(open_environment(name), name)
    documents = file.documents or file.corpus
    return "", TripleSource(TripleFile(file.triples), file.triples.name, documents, bool(file.corpus))
