"""What the records of a sub-task can be about: things of a world, and the sides of them that are asked for."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from r_eval.tasks.placeholders.noise import shuffled
from r_eval.tasks.placeholders.world import Dimension, Kind, Relation, Subtask, World

COMPARED = 3
"""Things that a comparison lets choose from."""


@dataclasses.dataclass(frozen=True)
class Topic:
    """What a record is about.

    Attributes:
        members: The thing that is asked about, or those that are compared.
        sides: The dimensions that are asked for, by name.
        scenarios: In which one side is asked for.
        relation: By which the second member is told, from the first.
        heir: The place of the member that has what holds for its kind; None where all have facts of their own.
        own: Whether the thing that could be an heir has a fact of its own.
    """

    kind: str
    members: tuple[str, ...]
    sides: tuple[str, ...]
    scenarios: tuple[str, ...] = ()
    relation: Relation | None = None
    heir: int | None = None
    own: bool = False

    @property
    def key(self) -> str:
        """A name of its own among the topics of a sub-task."""
        told = self.relation.fact if self.relation else ""
        return "\0".join([self.kind, *self.members, *self.sides, *self.scenarios, told, str(self.heir), str(self.own)])

    @property
    def settled(self) -> tuple[str, ...]:
        """The members of whose sides the right documents tell."""
        return self.members[1:] if self.relation else self.members


Topics = Callable[[str, Kind, Mapping[str, Dimension]], Iterator[Topic]]


def topics(subtask: Subtask, world: World) -> list[Topic]:
    """All that a sub-task can ask about in a world."""
    make = _TOPICS[subtask]
    return [topic for name, kind in world.kinds.items() for topic in make(name, kind, world.dimensions)]


def spread(found: Sequence[Topic], wanted: int, seed: int) -> list[Topic]:
    """Some of the topics by chance, about as many of one form, of one thing and of one side as of another."""
    place = {key: at for at, key in enumerate(shuffled([topic.key for topic in found], seed))}
    left = sorted(found, key=lambda topic: place[topic.key])
    taken: list[Topic] = []
    had = Counter[object]()
    while left and len(taken) < wanted:
        chosen = min(left, key=lambda topic: [had[trait] for trait in _traits(topic)])
        left.remove(chosen)
        had.update(_traits(chosen))
        taken.append(chosen)
    return taken


def _traits(topic: Topic) -> tuple[object, ...]:
    """What topics are to be spread over, the most important first."""
    return (topic.heir, topic.own), topic.members[0], topic.sides


def _one_side(name: str, kind: Kind, dimensions: Mapping[str, Dimension]) -> Iterator[Topic]:
    for member, side in itertools.product(kind.members, kind.dimensions):
        if not dimensions[side].scenarios:
            yield Topic(name, (member,), (side,))


def _two_sides(name: str, kind: Kind, dimensions: Mapping[str, Dimension]) -> Iterator[Topic]:
    plain = [side for side in kind.dimensions if not dimensions[side].scenarios]
    for member, sides in itertools.product(kind.members, itertools.combinations(plain, 2)):
        yield Topic(name, (member,), sides)


def _several(name: str, kind: Kind, dimensions: Mapping[str, Dimension]) -> Iterator[Topic]:
    yield from (topic for topic in _one_side(name, kind, dimensions) if dimensions[topic.sides[0]].also)


def _in_scenarios(name: str, kind: Kind, dimensions: Mapping[str, Dimension]) -> Iterator[Topic]:
    for member, side in itertools.product(kind.members, kind.dimensions):
        for pair in itertools.combinations(dimensions[side].scenarios, 2):
            yield Topic(name, (member,), (side,), scenarios=pair)


def _compared(name: str, kind: Kind, dimensions: Mapping[str, Dimension]) -> Iterator[Topic]:
    numbered = [side for side in kind.dimensions if dimensions[side].most]
    for side, members in itertools.product(numbered, itertools.combinations(kind.members, COMPARED)):
        yield Topic(name, members, (side,))


def _compared_with_an_heir(name: str, kind: Kind, dimensions: Mapping[str, Dimension]) -> Iterator[Topic]:
    for topic, heir in itertools.product(_compared(name, kind, dimensions) if kind.member else (), range(COMPARED)):
        yield dataclasses.replace(topic, heir=heir)


def _inherited(name: str, kind: Kind, dimensions: Mapping[str, Dimension]) -> Iterator[Topic]:
    for topic, own in itertools.product(_one_side(name, kind, dimensions) if kind.member else (), (False, True)):
        yield dataclasses.replace(topic, heir=0, own=own)


def _related(name: str, kind: Kind, dimensions: Mapping[str, Dimension]) -> Iterator[Topic]:
    for topic in _one_side(name, kind, dimensions):
        for relation, other in itertools.product(kind.relations, kind.members):
            if other not in topic.members:
                yield dataclasses.replace(topic, members=(*topic.members, other), relation=relation)


_TOPICS: Mapping[Subtask, Topics] = {
    "filter": _one_side,
    "combination_v1": _two_sides,
    "combination_v2": _several,
    "combination_v3": _in_scenarios,
    "comp": _compared,
    "compare_ad": _compared_with_an_heir,
    "deductive_v1": _inherited,
    "deductive_v2": _related,
}
