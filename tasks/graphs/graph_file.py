"""A graph file: which questions to make of a graph, and in which words; `examples/wiki-graph.yaml` is one.

It names an `environment` that offers triples(), or a file of `triples` with the texts that say them: `documents`, which
come with the questions, or a `corpus`, in which they are to be found (questions name them as `text_ids` in meta).
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
    """The subject in words, by the object: "the <kind> <clause>"."""

    kind: str
    clause: OfObject


class ObjectWords(Part):
    """The object in words, by the subject."""

    kind: str
    clause: OfSubject


class Phrases(Part):
    """What `{phrase}` becomes in the program, as it stands, by what is looked for: the object, or the subject."""

    forward: str | None = None
    backward: str | None = None


class RelationWords(Part):
    """The words of one relation; without those that a question takes it makes no such question.

    Attributes:
        forward, backward: Ask for the object, the subject; `_all` for several, where that takes other words.
        subject, object: That end by the other; multi-hop and conditional questions are put together of them.
        larger, smaller: Of a relation to numbers; two subjects are compared.
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
    """How descriptions are put together."""

    bridge: Annotated[str, slots("kind", "clause")] = "the {kind} {clause}"
    conditional: Annotated[str, slots("kind", "first", "second")] = "Which {kind} is the one {first} and {second}?"


class Filters(Part):
    """The filters that a file switches on; all but the last name an LLM.

    Attributes:
        closed_book: Drops what it answers without context.
        fluency, judge: Drops what it grades 0 (of 0 to 2) by any criterion.
        entities: Drops questions of which no name is a named entity of their documents. Russian documents are read by
            natasha, where that is installed; all others by this LLM.
        trim: The share (0.05 in DRAGON) of simple and multi-hop questions that is dropped at either end, by how nearly
            question and answer name their entities.
    """

    closed_book: str | None = None
    fluency: str | None = None
    judge: str | None = None
    entities: str | None = None
    trim: float = Field(default=0.0, ge=0, lt=0.5)


class GraphPart(Part):
    """The key `graph`.

    Attributes:
        types: As many questions of each.
        program: Finds the other ends of a relation, which it leaves as a list in `answer`. `{entity}` becomes the
            entity that is known, as a text in quotes or a variable, and `{phrase}` the relation's own words.
        llm: Words the questions in place of `relations`.
        per_type: How many questions of each type, where nobody says how many in all.
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
        """All LLMs that it names."""
        filters = self.filters
        named = {self.llm, filters.closed_book, filters.fluency, filters.judge, filters.entities}
        return sorted(name for name in named if name is not None)

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
    """A graph file, its paths taken from its own folder.

    Raises:
        UserError: It is not there, not YAML, or a key is wrong.
    """
    file = read_file(path, "graph file", GraphFile)
    found = {key: path.parent / name for key in ("triples", "documents", "corpus") if (name := getattr(file, key))}
    return file.model_copy(update=found)
