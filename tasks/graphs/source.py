"""Where the triples of a graph file come from: an environment, or a file of triples with documents.

A file of triples is tab-separated, with a header line of column names. The columns `subject`, `relation` and `object`
are required; `document` names where the triple was read, and there may be others. One triple may take several lines,
one for each document.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from r_eval.environments.base import Environment
from r_eval.environments.corpus.sources import read_documents
from r_eval.environments.opening import located
from r_eval.errors import UserError
from r_eval.records import Document
from r_eval.tasks.base import open_environment
from r_eval.tasks.graphs.graph import Graph, Subgraph, Triple
from r_eval.tasks.graphs.graph_file import GraphFile

COLUMNS = ("subject", "relation", "object", "document", "raw_subject", "raw_relation", "raw_object")


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A line of a file of triples.

    Attributes:
        triple: With names as they are known elsewhere.
        document: Its id; empty where it is not known.
        raw: As it was read.
    """

    triple: Triple
    document: str = ""
    raw: Triple = ("", "", "")


def read_triples(path: Path) -> Iterator[Row]:
    """The lines of a file, one after another.

    Raises:
        UserError: It is not there, lacks a column, or a line is wrong; names the line.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = next(file, "").rstrip("\r\n").split("\t")
            missing = [name for name in COLUMNS[:3] if name not in header]
            if missing:
                raise UserError(
                    f"{path}:1: no column {', '.join(missing)}; the first line names the columns, with tabs between:"
                    " subject, relation, object and, if known, document"
                )
            for number, line in enumerate(file, 2):
                cells = line.rstrip("\r\n").split("\t")
                if cells == [""]:
                    continue
                if len(cells) != len(header):
                    raise UserError(f"{path}:{number}: {len(cells)} cells, and {len(header)} columns")
                row = dict(zip(header, map(str.strip, cells), strict=True))
                subject, relation, object_, document, *raw = (row.get(name, "") for name in COLUMNS)
                if not (subject and relation and object_):
                    raise UserError(f"{path}:{number}: an empty subject, relation or object")
                yield Row((subject, relation, object_), document, (raw[0], raw[1], raw[2]))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file of triples") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as UTF-8 text ({error})") from None


def write_triples(path: Path, rows: Iterable[Row]) -> None:
    """Write a file of triples; what would break a line becomes a space."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("\t".join(COLUMNS) + "\n")
        for row in rows:
            cells = (*row.triple, row.document, *row.raw)
            file.write("\t".join(" ".join(cell.split()) for cell in cells) + "\n")


class TripleFile(Environment):
    """Triples of a file. It has no query APIs: questions over it come with their documents.

    Attributes:
        origins: Ids of the documents that say a triple.

    Raises:
        UserError: The file is wrong.
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


@dataclasses.dataclass(frozen=True)
class Source:
    """A graph, and what it was made from.

    Attributes:
        environment: Over which programs run.
        documents: By id.
        origins: Ids of the documents that say a triple.
        searched: Whether the documents are a corpus, so that questions name them and come without.
    """

    graph: Graph
    environment: Environment
    documents: Mapping[str, Document] = dataclasses.field(default_factory=dict)
    origins: Mapping[Triple, Iterable[str]] = dataclasses.field(default_factory=dict)
    searched: bool = False

    def is_documented(self, subgraph: Subgraph) -> bool:
        """Whether documents say all of a subgraph's triples; where there are no documents, nothing needs to."""
        return not self.documents or all(
            any(key in self.documents for key in self.origins.get(triple, ())) for triple in subgraph.triples
        )

    def texts(self, subgraph: Subgraph) -> dict[str, Document]:
        """The documents that say a subgraph's triples, by id."""
        keys = dict.fromkeys(key for triple in subgraph.triples for key in self.origins.get(triple, ()))
        return {key: self.documents[key] for key in keys if key in self.documents}


def source_of(file: GraphFile, folder: Path, environment: str | None = None) -> tuple[str, Source]:
    """What a graph file's questions come from, with the environment's name: "" of a file of triples.

    Args:
        folder: The graph file's own.
        environment: In place of the one that the file names.

    Raises:
        UserError: The environment or a file cannot be read, or there are no triples.
    """
    if file.triples is None:
        name = environment or located(file.environment or "", folder)
        return name, open_source(open_environment(name), name)
    return "", open_source(
        TripleFile(file.triples), file.triples.name, file.documents or file.corpus, bool(file.corpus)
    )


def open_source(environment: Environment, name: str, documents: Path | None = None, searched: bool = False) -> Source:
    """The triples that an environment offers.

    Args:
        documents: The documents of a `TripleFile`; see `Source` for `searched`.

    Raises:
        UserError: It offers none, or a document cannot be read.
    """
    graph = Graph(environment.triples())
    if not len(graph):
        raise UserError(f"'{name}' offers no triples, of which graph questions are made")
    found = read_documents(str(documents)) if documents is not None else ()
    known = {document.id: Document(title=document.title or document.id, text=document.text) for document in found}
    return Source(
        graph, environment, known, environment.origins if isinstance(environment, TripleFile) else {}, searched
    )
