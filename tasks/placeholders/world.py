"""A world file: what records with placeholders are made of (see `making`).

    placeholders:
      records: {filter: 20, combination_v1: 8, comp: 6}    how many of each sub-task; absent: those of RECORDS
      variants: 4
      seed: 0
      documents: ["{name} lies on the old road. {fact} Most people come on foot."]    absent: documents of one sentence
      premises: ["This is known of every {kind}. {fact}"]   the same, of what holds for a kind
      llm: openai/gpt-4o-mini                  writes the documents, in place of these
    values:                                    how values are made, by name
      length: {from: 110, to: 980}             whole numbers
      family: {parts: [[Ba, Ke, Or], [lo, ra], [ven, mis]]}    words, a part from each list
      stone: {of: [basalt, tuff, marl]}        some of a list
    dimensions:                                sides of a thing, each with sentences about it
      height:
        values: length
        fact: "{name} rises {value} metres above the water."
        general: "Unless told otherwise, a {kind} of the coast rises {value} metres above the water."
        ask: "How many metres does {name} rise above the water?"
        most: "Which rises highest above the water: {names}?"      of numbers; makes comparisons
        ask_kind: "How many metres do a {kind} rise above the water? Name every height that is known."
      keepers:
        values: family
        fact: "{name} is kept by the family {value}."
        general: "A {kind} of the coast has been kept by the family {value} for the most part."
        ask: "Who keeps {name}?"
        also: "{name} is kept by the family {value} too."          several values at once
        ask_all: "Which families keep {name}? Name all of them."
        common: "Which family keeps both {first} and {second}?"
        feature: "the family that keeps it"                        for the rules of relations
    kinds:
      lighthouse:
        dimensions: [height, keepers]
        members: [Orlan Light, Skarn Light, Ulva Light]
        member: "{name} is a {kind}."
        relations:
          - fact: "{name} takes its oil from {other}."
            rule: "A {kind} that takes its oil from another has {feature} in common with it."
    triples: mine.tsv                          subject, relation, object: facts of one's own about members

What a fact of the world is, where neither `triples` nor `facts: {member: {dimension: value}}` says, is made like any
other value.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from r_eval.files import yaml_keys
from r_eval.tasks.files import Part, read_file
from r_eval.tasks.graphs.source import read_triples
from r_eval.tasks.slots import check_slots

Subtask = Literal[
    "filter", "combination_v1", "combination_v2", "combination_v3", "comp", "compare_ad", "deductive_v1", "deductive_v2"
]

RECORDS: Mapping[Subtask, int] = {
    "filter": 20,
    "combination_v1": 7,
    "combination_v2": 7,
    "combination_v3": 6,
    "comp": 5,
    "compare_ad": 5,
    "deductive_v1": 5,
    "deductive_v2": 5,
}


class Values(Part):
    """How values of one sort are made: whole numbers, words put together of parts, or members of a list."""

    from_: int | None = Field(None, alias="from", ge=0)
    to: int | None = Field(None, ge=0)
    parts: list[Annotated[list[str], Field(min_length=1)]] = []
    of: list[str] = []

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.from_ is None) != (self.to is None):
            raise ValueError("from and to go together")
        if sum((self.from_ is not None, bool(self.parts), bool(self.of))) != 1:
            raise ValueError("needs from and to, parts, or of: one of them")
        if self.from_ is not None and self.to is not None and self.from_ > self.to:
            raise ValueError(f"from is {self.from_}, which is above to, {self.to}")
        return self


SLOTS = {
    "fact": {"name", "value"},
    "ask": {"name"},
    "general": {"kind", "value"},
    "most": {"names"},
    "also": {"name", "value"},
    "ask_all": {"name"},
    "ask_kind": {"kind"},
    "common": {"first", "second"},
    "feature": set[str](),
}


class Dimension(Part):
    """One side of things, with the sentences about it; see the module."""

    values: str
    fact: str
    ask: str
    general: str
    most: str | None = None
    also: str | None = None
    ask_all: str | None = None
    ask_kind: str | None = None
    common: str | None = None
    feature: str | None = None

    @model_validator(mode="after")
    def _slots(self) -> Self:
        for key, slots in SLOTS.items():
            check_slots(key, getattr(self, key), slots)
        if (self.also is None) != (self.ask_all is None):
            raise ValueError("also and ask_all go together")
        if self.common and not self.also:
            raise ValueError("common: goes with also")
        return self


class Relation(Part):
    """What one member has to do with another: a sentence, and a rule that follows from it."""

    fact: str
    rule: str

    @model_validator(mode="after")
    def _slots(self) -> Self:
        check_slots("fact", self.fact, {"name", "other"})
        check_slots("rule", self.rule, {"kind", "feature"})
        return self


class Kind(Part):
    """A parent: its members, and which dimensions they have."""

    dimensions: list[str] = Field(min_length=1)
    members: list[str] = Field(min_length=3)
    member: str | None = None
    relations: list[Relation] = []

    @model_validator(mode="after")
    def _slots(self) -> Self:
        check_slots("member", self.member, {"name", "kind"})
        return self


class Wanted(Part):
    """What is to be made."""

    records: dict[Subtask, Annotated[int, Field(ge=0)]] = dict(RECORDS)
    variants: int = Field(4, ge=2)
    seed: int = 0
    documents: list[str] = []
    premises: list[str] = []
    llm: str | None = None
    comma: str = ", "
    """Between the names in `{names}`."""
    gap: str = " "
    """Between two questions in a row."""

    @model_validator(mode="after")
    def _slots(self) -> Self:
        for text in self.documents:
            check_slots("documents", text, {"name", "fact"})
        for text in self.premises:
            check_slots("premises", text, {"kind", "fact"})
        return self


def _texts(value: object) -> object:
    return {k: str(v) for k, v in value.items()} if isinstance(value, Mapping) else value


Facts = Annotated[dict[str, str], BeforeValidator(_texts)]


class World(Part):
    """A world file."""

    placeholders: Annotated[Wanted, BeforeValidator(lambda value: {} if value is None else value)]
    values: dict[str, Values]
    dimensions: dict[str, Dimension]
    kinds: dict[str, Kind]
    facts: dict[str, Facts] = {}
    triples: Path | None = None

    @model_validator(mode="after")
    def _known(self) -> Self:
        for name, dimension in self.dimensions.items():
            if dimension.values not in self.values:
                raise ValueError(f"dimensions.{name}: values: there are none called {dimension.values!r}")
            if dimension.most is not None and self.values[dimension.values].from_ is None:
                raise ValueError(f"dimensions.{name}: most: goes with numbers only")
        members: set[str] = set()
        for name, kind in self.kinds.items():
            for dimension_name in kind.dimensions:
                if dimension_name not in self.dimensions:
                    raise ValueError(f"kinds.{name}: there is no dimension {dimension_name!r}")
            for member in kind.members:
                if member in members:
                    raise ValueError(f"kinds.{name}: {member!r} is a member twice")
                members.add(member)
        for member, own in self.facts.items():
            if member not in members:
                raise ValueError(f"facts: {member!r} is a member of no kind")
            for name in own:
                if name not in self.dimensions:
                    raise ValueError(f"facts.{member}: there is no dimension {name!r}")
        return self


def is_world_file(path: Path) -> bool:
    """Whether a YAML file has the key `placeholders`."""
    return "placeholders" in yaml_keys(path)


def read_world(path: Path) -> World:
    """A world file with its facts; triples about other things than its members are passed over.

    Raises:
        UserError: It is not there, not YAML, or a key is wrong.
    """
    world = read_file(path, "file of placeholders", World)
    if world.triples is not None:
        members = {member for kind in world.kinds.values() for member in kind.members}
        for row in read_triples(path.parent / world.triples):
            subject, relation, object = row.triple
            if subject in members and relation in world.dimensions:
                world.facts.setdefault(subject, {}).setdefault(relation, object)
    return world
