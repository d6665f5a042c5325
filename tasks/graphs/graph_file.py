"""A graph file: which questions to make of a graph, and in which words.

    environment: wiki                    one that offers triples(); or a file of them:
    triples: triples.tsv                 subject, relation, object and, if known, document
    documents: texts.jsonl               the texts of those documents, to come with the questions; or
    corpus: texts.jsonl                  the same, to be searched for: questions name them (`text_ids` in meta) and come
                                         without
    graph:
      types: [simple, multi-hop]         evenly; or in proportion, {simple: 2, set: 1}; absent: all, evenly
      relations:
        capital:
          forward: What is the capital of {subject}?
          backward: Which country has its capital in {object}?
          subject: {kind: country, clause: "whose capital is {object}"}
          object: {kind: city, clause: "that is the capital of {subject}"}
          larger: ...                    of a relation to numbers; {first} and {second} are compared
          program: {forward: capital is, backward: is the capital of}
      program: |                         finds the other ends of a relation; leaves a list in `answer`
        import re
        Search(entity={entity})
        answer = re.search("{phrase} ([^.;]+)", Lookup(keyword="{phrase}")).group(1).split(", ")
      llm: openai/gpt-4o-mini            in place of words: an LLM words the questions
      per_type: 150                      this many questions of each type, unless --count says how many in all
      filters: {closed_book: LLM, fluency: LLM, judge: {llm: LLM, at_least: 2}, entities: LLM, trim: 0.05}
      settings: {openai/gpt-4o-mini: {connections: 16}}    of those LLMs, as a grid takes them

`forward` asks for the object, `backward` for the subject; `forward_all` and `backward_all` for several of them, where
that takes other words. `subject` and `object` describe that end by the other: multi-hop and conditional questions are
put together from them by the `frames`. A relation without the words that a question takes makes no such question.

In `program`, `{entity}` becomes the entity that is known, as a text in quotes or a variable, and `{phrase}` the
relation's own words, as they stand. Programs of questions with several facts are put together from it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from r_eval.tasks.files import Part, read_file
from r_eval.tasks.graphs.graph import TYPES
from r_eval.tasks.slots import check_slots

Type = Literal["simple", "set", "multi-hop", "conditional", "comparison"]


class Description(Part):
    """An end of a relation in words, by the other end: "the <kind> <clause>"."""

    kind: str
    clause: str


class Phrases(Part):
    """What `{phrase}` becomes in the program, by what is looked for: forward the object, backward the subject."""

    forward: str | None = None
    backward: str | None = None


class RelationWords(Part):
    """The words of one relation; see the module."""

    forward: str | None = None
    backward: str | None = None
    forward_all: str | None = None
    backward_all: str | None = None
    subject: Description | None = None
    object: Description | None = None
    larger: str | None = None
    smaller: str | None = None
    program: Phrases = Field(default_factory=Phrases)

    @model_validator(mode="after")
    def _slots(self) -> RelationWords:
        for key in ("forward", "forward_all"):
            check_slots(key, getattr(self, key), {"subject"})
        for key in ("backward", "backward_all"):
            check_slots(key, getattr(self, key), {"object"})
        for key in ("larger", "smaller"):
            check_slots(key, getattr(self, key), {"first", "second"})
        check_slots("subject.clause", self.subject.clause if self.subject else None, {"object"})
        check_slots("object.clause", self.object.clause if self.object else None, {"subject"})
        return self


class Frames(Part):
    """How descriptions are put together."""

    bridge: str = "the {kind} {clause}"
    conditional: str = "Which {kind} is the one {first} and {second}?"

    @model_validator(mode="after")
    def _slots(self) -> Frames:
        check_slots("bridge", self.bridge, {"kind", "clause"})
        check_slots("conditional", self.conditional, {"kind", "first", "second"})
        return self


class ClosedBook(Part):
    """Drops what the LLM answers without context: kept are answers less like the gold than `below` (0 to 1)."""

    llm: str
    below: float = Field(0.8, gt=0, le=1)


class Graded(Part):
    """Drops what the LLM grades lower than `at_least` (0, 1 or 2) by any criterion."""

    llm: str
    at_least: int = Field(1, ge=0, le=2)


class Filters(Part):
    """The filters that a file switches on; a bare LLM stands for a filter with its default threshold.

    Attributes:
        entities: Drops questions of which no name is a named entity of their documents. Russian documents are read by
            natasha, where that is installed; all others by this LLM.
        trim: The share (0.05 in DRAGON) of simple and multi-hop questions that is dropped at either end, by how nearly
            question and answer name their entities.
    """

    closed_book: ClosedBook | None = None
    fluency: Graded | None = None
    judge: Graded | None = None
    entities: str | None = None
    trim: float = Field(default=0.0, ge=0, lt=0.5)

    @field_validator("closed_book", "fluency", "judge", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"llm": value} if isinstance(value, str) else value


class GraphPart(Part):
    """The key `graph`; see the module."""

    types: dict[Type, int] = dict.fromkeys(TYPES, 1)  # type: ignore[arg-type]  # they are the same names
    relations: dict[str, RelationWords] = {}
    frames: Frames = Field(default_factory=Frames)
    program: str | None = None
    llm: str | None = None
    per_type: int | None = Field(default=None, ge=1)
    filters: Filters = Field(default_factory=Filters)
    settings: dict[str, dict[str, Any]] = {}

    @property
    def shares(self) -> dict[str, int]:
        """The types to make, each with its share."""
        return {type: share for type, share in self.types.items() if share}

    @property
    def llms(self) -> list[str]:
        """All LLMs that it names."""
        filters = (self.filters.closed_book, self.filters.fluency, self.filters.judge)
        named = {self.llm, self.filters.entities, *(part.llm for part in filters if part is not None)}
        return sorted(name for name in named if name is not None)

    @field_validator("types", mode="before")
    @classmethod
    def _evenly(cls, value: Any) -> Any:
        return dict.fromkeys(value, 1) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _possible(self) -> GraphPart:
        if any(share < 0 for share in self.types.values()) or not any(self.types.values()):
            raise ValueError("types: needs a share above 0, and none below")
        if not self.relations and self.llm is None:
            raise ValueError("needs words for relations, or an llm that words the questions")
        for name in self.settings:
            if name not in self.llms:
                raise ValueError(f"settings: no part of the file asks the LLM '{name}'")
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
        if self.documents is not None and self.corpus is not None:
            raise ValueError("documents or corpus, one of them: the texts come with the questions or are searched for")
        if (self.documents or self.corpus) is not None and self.triples is None:
            raise ValueError(f"{'corpus: goes' if self.documents is None else 'documents: go'} with triples only")
        if self.graph.program is not None and self.environment is None:
            raise ValueError("graph.program: needs an environment to run over")
        return self


def read_graph_file(path: Path) -> GraphFile:
    """A graph file, its paths taken from its own folder.

    Raises:
        UserError: It is not there, not YAML, or a key is wrong.
    """
    file = read_file(path, "graph file", GraphFile)
    for key in ("triples", "documents", "corpus"):
        if getattr(file, key) is not None:
            setattr(file, key, path.parent / getattr(file, key))
    return file
