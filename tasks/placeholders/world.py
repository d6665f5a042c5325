"""World files, from which records with placeholders are generated (see `making`).

Things of several kinds have values in dimensions, each with sentences that state them; docs/placeholders.md shows a
file, `prgb/en.placeholders.yaml` has every key. Facts come from `triples` (a file) or `facts: {member: {dimension:
value}}`; others are generated like any value.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from r_eval.files import yaml_keys
from r_eval.tasks.files import Part, read_file, slots
from r_eval.tasks.graphs.source import read_triples
from r_eval.tasks.placeholders.record import number_as_text

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
    """Values of one sort: whole numbers, words composed of parts, or members of a list."""

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


OfName = Annotated[str, slots("name")]
OfValue = Annotated[str, slots("name", "value")]


class Dimension(Part):
    """A property of things, with the sentences about it.

    Attributes:
        fact, general: State a value of a thing, or of its kind in general; `also` states a further value.
        ask, ask_all, ask_kind: Ask for the value of a thing, all its values, or the values of a kind's members.
        most: Asks which of several things has the highest number.
        common: Asks what two things have in common.
        feature: Name of the dimension for the rules of relations.
    """

    values: str
    fact: OfValue
    ask: OfName
    general: Annotated[str, slots("kind", "value")]
    most: Annotated[str, slots("names")] | None = None
    also: OfValue | None = None
    ask_all: OfName | None = None
    ask_kind: Annotated[str, slots("kind")] | None = None
    common: Annotated[str, slots("first", "second")] | None = None
    feature: Annotated[str, slots()] | None = None

    @model_validator(mode="after")
    def _together(self) -> Self:
        if (self.also is None) != (self.ask_all is None) or (self.common and not self.also):
            raise ValueError("also and ask_all go together, and common with them")
        return self


class Relation(Part):
    """A relation between two members: a sentence and the rule that it implies."""

    fact: Annotated[str, slots("name", "other")]
    rule: Annotated[str, slots("kind", "feature")]


class Kind(Part):
    """A kind with its members and their dimensions."""

    dimensions: list[str] = Field(min_length=1)
    members: list[str] = Field(min_length=3)
    member: Annotated[str, slots("name", "kind")] | None = None
    relations: list[Relation] = []


class Wanted(Part):
    """The records to generate; `comma` separates the names in `{names}`, `gap` two consecutive questions."""

    records: dict[Subtask, Annotated[int, Field(ge=0)]] = dict(RECORDS)
    variants: int = Field(4, ge=2)
    seed: int = 0
    documents: list[Annotated[str, slots("name", "fact")]] = []
    premises: list[Annotated[str, slots("kind", "fact")]] = []
    llm: str | None = None
    comma: str = ", "
    gap: str = " "


class World(Part):
    """A world file."""

    placeholders: Annotated[Wanted, BeforeValidator(lambda value: {} if value is None else value)]
    values: dict[str, Values]
    dimensions: dict[str, Dimension]
    kinds: dict[str, Kind]
    facts: dict[str, dict[str, Annotated[str, BeforeValidator(number_as_text)]]] = {}
    triples: Path | None = None

    @property
    def members(self) -> list[str]:
        """The members of all kinds."""
        return [member for kind in self.kinds.values() for member in kind.members]

    @model_validator(mode="after")
    def _known(self) -> Self:
        for name, dimension in self.dimensions.items():
            if dimension.values not in self.values:
                raise ValueError(f"dimensions.{name}: values: there are none called {dimension.values!r}")
            if dimension.most is not None and self.values[dimension.values].from_ is None:
                raise ValueError(f"dimensions.{name}: most: goes with numbers only")
        if duplicates := [member for member, number in collections.Counter(self.members).items() if number > 1]:
            raise ValueError(f"kinds: {duplicates[0]!r} is a member twice")
        if unknown := [member for member in self.facts if member not in self.members]:
            raise ValueError(f"facts: {unknown[0]!r} is a member of no kind")
        names = [name for kind in self.kinds.values() for name in kind.dimensions]
        for name in (*names, *(name for facts in self.facts.values() for name in facts)):
            if name not in self.dimensions:
                raise ValueError(f"there is no dimension {name!r}")
        return self


def is_world_file(path: Path) -> bool:
    """Whether a YAML file has the key `placeholders`."""
    return "placeholders" in yaml_keys(path)


def read_world(path: Path) -> World:
    """Read a world file with its facts; triples about things other than its members are ignored.

    Raises:
        UserError: The file does not exist, is not YAML, or a key is wrong.
    """
    world = read_file(path, "file of placeholders", World)
    if world.triples is not None:
        for row in read_triples(path.parent / world.triples):
            subject, relation, object = row.triple
            if subject in world.members and relation in world.dimensions:
                world.facts.setdefault(subject, {}).setdefault(relation, object)
    return world
