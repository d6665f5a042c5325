"""A graph file: the questions to generate from a graph and their wording; `examples/wiki-graph.yaml` is an example.

It names an `environment` with triples(), or a file of `triples` with the texts that state them: `documents`, which are
the questions' context, or a `corpus` to search (questions list them as `text_ids` in meta).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from r_eval.tasks.files import Part, read_file, slots

Type = Literal["simple", "set", "multi-hop", "conditional", "comparison"]


OfSubject = Annotated[str, slots("subject")]
OfObject = Annotated[str, slots("object")]
OfTwo = Annotated[str, slots("first", "second")]


class SubjectWords(Part):
    """A description of the subject by the object: "the <kind> <clause>"."""

    kind: str
    clause: OfObject


class ObjectWords(Part):
    """A description of the object by the subject."""

    kind: str
    clause: OfSubject


class Phrases(Part):
    """The value of `{phrase}` in the program, by direction: towards the object or the subject."""

    forward: str | None = None
    backward: str | None = None


class RelationWords(Part):
    """The wording of one relation; questions whose wording is missing are not generated.

    Attributes:
        forward, backward: Questions for the object or the subject; `_all` for several, if worded differently.
        subject, object: Descriptions of one end by the other, for multi-hop and conditional questions.
        larger, smaller: Questions that compare two subjects by a relation to numbers.
    """

    forward: OfSubject | None = None
    backward: OfObject | None = None
    forward_all: OfSubject | None = None
    backward_all: OfObject | None = None
    subject: SubjectWords | None = None
    object: ObjectWords | None = None
    larger: OfTwo | None = None
    smaller: OfTwo | None = None
    program: Phrases = Field(default_factory=Phrases)


class Frames(Part):
    """How descriptions are combined."""

    bridge: Annotated[str, slots("kind", "clause")] = "the {kind} {clause}"
    conditional: Annotated[str, slots("kind", "first", "second")] = "Which {kind} is the one {first} and {second}?"


class Filters(Part):
    """The filters of a file; all but the last name an LLM.

    Attributes:
        closed_book: Drops questions that it answers without context.
        fluency, judge: Drops questions that it grades 0 (of 0 to 2) by any criterion.
        entities: Drops questions whose names are not named entities of their documents. natasha, if installed, reads
            Russian documents; this LLM reads all others.
        trim: The share (0.05 in DRAGON) of simple and multi-hop questions dropped at either end of the presence score,
            which measures how closely question and answer name their entities.
    """

    closed_book: str | None = None
    fluency: str | None = None
    judge: str | None = None
    entities: str | None = None
    trim: float = Field(default=0.0, ge=0, lt=0.5)


class GraphPart(Part):
    """The key `graph`.

    Attributes:
        types: Question types, in equal numbers.
        program: Code that assigns the other ends of a relation to `answer` as a list. `{entity}` becomes the known
            entity, as a string literal or a variable, and `{phrase}` the relation's phrase.
        llm: LLM that words the questions instead of `relations`.
        per_type: Number of questions per type, if no total is requested.
    """

    types: list[Type] = Field(list(get_args(Type)), min_length=1)
    relations: dict[str, RelationWords] = {}
    frames: Frames = Field(default_factory=Frames)
    program: str | None = None
    llm: str | None = None
    per_type: int | None = Field(default=None, ge=1)
    filters: Filters = Field(default_factory=Filters)

    @property
    def llms(self) -> list[str]:
        """The LLMs that the file names."""
        filters = self.filters
        llms = {self.llm, filters.closed_book, filters.fluency, filters.judge, filters.entities}
        return sorted(name for name in llms if name is not None)

    @model_validator(mode="after")
    def _possible(self) -> GraphPart:
        if not self.relations and self.llm is None:
            raise ValueError("needs words for relations, or an llm that words the questions")
        if self.program is not None and "{entity}" not in self.program:
            raise ValueError("program: holds no {entity}, so it always finds the same")
        return self


class GraphFile(Part):
    """A graph file."""

    environment: str | None = None
    triples: Path | None = None
    documents: Path | None = None
    corpus: Path | None = None
    graph: GraphPart

    @model_validator(mode="after")
    def _one_source(self) -> GraphFile:
        if (self.environment is None) == (self.triples is None):
            raise ValueError("needs environment or triples, one of them")
        if (self.documents or self.corpus) and (self.triples is None or (self.documents and self.corpus)):
            raise ValueError("documents or corpus, one of them, goes with triples: the texts that say these")
        if self.graph.program is not None and self.environment is None:
            raise ValueError("graph.program: needs an environment to run over")
        return self


def read_graph_file(path: Path) -> GraphFile:
    """Read a graph file; its paths are relative to its folder.

    Raises:
        UserError: The file does not exist, is not YAML, or a key is wrong.
    """
    file = read_file(path, "graph file", GraphFile)
    paths = {key: path.parent / name for key in ("triples", "documents", "corpus") if (name := getattr(file, key))}
    return file.model_copy(update=paths)
