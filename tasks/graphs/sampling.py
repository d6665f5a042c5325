"""Subgraphs that make a question with one answer: DRAGON's five types, drawn by a seed, without replacement.

Pairs of triples share an entity x in one of three shapes, have different relations and different far ends:

- S: (x, r, o) and (x, r1, o1);
- O: (s, r, x) and (s1, r1, x);
- B: (x, r, o) and (s1, r1, x).

| type | subgraph | rule |
|---|---|---|
| simple | one triple | its subject has one object under the relation, its object one subject |
| set | all triples of a subject and relation, or of an object and relation | there is more than one |
| conditional | a pair | x alone fits both relations and ends |
| multi-hop | a pair | x has one pair of ends under the two relations |
| comparison | (s, r, n) and (s1, r, n1) | the subjects differ, n and n1 are numbers |

Two subgraphs of one type that hold the same names and relations count as one.

At a node with a million edges there are too many pairs to list. So candidates are numbered, not made: a drawn number is
turned into its pair and tried. Every shared entity (or relation, where nothing is shared) has its turn before one has a
second, so that hubs do not fill the sample. In the end everything is found where candidates are few; after `PATIENCE`
vain draws in a row the rest is given up.
"""

from __future__ import annotations

import dataclasses
import inspect
import random
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from itertools import islice
from typing import Protocol

from r_eval.tasks.graphs.store import Edges, Graph, Triple, number

TYPES = ("simple", "set", "multi-hop", "conditional", "comparison")
SHAPES = ("S", "O", "B")

PATIENCE = 500_000
"""Vain draws in a row after which no more are made."""
TURN = 100
"""Vain draws after which the next unit has its turn."""

Group = tuple[int, int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Subgraph:
    """What a question is made of.

    Attributes:
        shape: Of a pair: S, O or B. Of a set: S where the objects are many, O where the subjects are.
        shared: The entity that all triples hold; empty for simple and comparison.
        ends: The other entities, of each triple in turn; subject and object of a simple one, the subjects compared.
    """

    type: str
    triples: tuple[Triple, ...]
    ends: tuple[str, ...]
    shared: str = ""
    shape: str = ""

    @property
    def ids(self) -> frozenset[tuple[str, str]]:
        """All names and relations in it."""
        entities = {("entity", name) for s, _, o in self.triples for name in (s, o)}
        return frozenset(entities | {("relation", r) for _, r, _ in self.triples})


Candidates = tuple[int, Callable[[int], Subgraph | None]]
"""How many there are, and what makes one of its number; None where it breaks a rule."""


class Space(Protocol):
    """All candidates of one type, in units that have turns."""

    units: int

    def candidates(self, unit: int) -> Candidates:
        """Those of a unit."""


def sample(graph: Graph, type: str, seed: int, relations: Collection[str] | None = None) -> Iterator[Subgraph]:
    """Subgraphs of a type, in the order that the seed gives them, each once.

    Args:
        relations: Only subgraphs of these relations; uniqueness is judged over the whole graph all the same.
    """
    allowed = None if relations is None else {graph.relation_of[r] for r in relations if r in graph.relation_of}
    generator = random.Random(f"{seed}/{type}")
    space = _space(graph, type, allowed)
    units: Iterable[Generator[Subgraph | None, None, None]]
    units = (_drawn(space.candidates(unit), generator) for unit in permuted(space.units, generator))
    seen: set[frozenset[tuple[str, str]]] = set()
    vain = 0
    while True:
        left: list[Generator[Subgraph | None, None, None]] = []
        for unit in units:
            for found in islice(unit, TURN):
                if found is not None and found.ids not in seen:
                    seen.add(found.ids)
                    vain = 0
                    yield found
                    break
                vain += 1
                if vain > PATIENCE:
                    return
            left.append(unit)
        if not left:
            return
        units = [unit for unit in left if inspect.getgeneratorstate(unit) != inspect.GEN_CLOSED]


def permuted(count: int, generator: random.Random) -> Iterator[int]:
    """The numbers below `count` in random order, made as they are taken: memory grows with those taken alone."""
    moved: dict[int, int] = {}
    for at in range(count):
        other = generator.randrange(at, count)
        yield moved.get(other, other)
        moved[other] = moved.pop(at, at)


def _drawn(candidates: Candidates, generator: random.Random) -> Generator[Subgraph | None, None, None]:
    count, made = candidates
    for index in permuted(count, generator):
        yield made(index)


def _space(graph: Graph, type: str, allowed: set[int] | None) -> Space:
    if type == "simple":
        return _Simple(graph, allowed)
    if type == "set":
        return _Sets(graph, allowed)
    if type == "comparison":
        return _Comparisons(graph, allowed)
    if type == "conditional":
        return _Pairs(graph, allowed, type)
    return _Pairs(graph, allowed, type, largest=2)  # a relation with three ends never leaves one pair


class _Simple:
    """A unit is a relation."""

    def __init__(self, graph: Graph, allowed: set[int] | None) -> None:
        self.graph = graph
        self.triples = graph.by_relation()
        self.relations = [r for r in range(len(graph.relations)) if allowed is None or r in allowed]
        self.units = len(self.relations)

    def candidates(self, unit: int) -> Candidates:
        relation = self.relations[unit]
        triples = self.triples[relation]

        def made(index: int) -> Subgraph | None:
            subject, object = triples[index]
            if self.graph.out.count(subject, relation) > 1 or self.graph.into.count(object, relation) > 1:
                return None
            triple = self.graph.triple(subject, relation, object)
            return Subgraph("simple", (triple,), (triple[0], triple[2]))

        return len(triples), made


class _Sets:
    """A unit is a relation and the side of it that is many."""

    def __init__(self, graph: Graph, allowed: set[int] | None) -> None:
        self.graph = graph
        self.shared: dict[tuple[str, int], list[int]] = {}
        for shape, edges in (("S", graph.out), ("O", graph.into)):
            for node in range(len(graph.names)):
                for relation, start, end in edges.groups(node):
                    if end - start > 1 and (allowed is None or relation in allowed):
                        self.shared.setdefault((shape, relation), []).append(node)
        self.keys = sorted(self.shared)
        self.units = len(self.keys)

    def candidates(self, unit: int) -> Candidates:
        shape, relation = self.keys[unit]
        nodes, graph = self.shared[self.keys[unit]], self.graph

        def made(index: int) -> Subgraph:
            node = nodes[index]
            if shape == "S":
                ends = graph.out.of(node, relation)
                triples = tuple(graph.triple(node, relation, end) for end in ends)
            else:
                ends = graph.into.of(node, relation)
                triples = tuple(graph.triple(end, relation, node) for end in ends)
            return Subgraph("set", triples, tuple(graph.names[end] for end in ends), graph.names[node], shape)

        return len(nodes), made


class _Comparisons:
    """A unit is a relation."""

    def __init__(self, graph: Graph, allowed: set[int] | None) -> None:
        self.graph = graph
        self.triples: list[tuple[int, list[tuple[int, int]]]] = []
        numeric = {at for at, name in enumerate(graph.names) if number(name) is not None}
        for relation, triples in enumerate(graph.by_relation()):
            kept = [t for t in triples if t[1] in numeric]
            if kept and (allowed is None or relation in allowed):
                self.triples.append((relation, kept))
        self.units = len(self.triples)

    def candidates(self, unit: int) -> Candidates:
        relation, triples = self.triples[unit]

        def made(index: int) -> Subgraph | None:
            at, at1 = divmod(index, len(triples))
            (subject, object), (subject1, object1) = triples[at], triples[at1]
            if subject == subject1 or at > at1:
                return None
            pair = self.graph.triple(subject, relation, object), self.graph.triple(subject1, relation, object1)
            return Subgraph("comparison", pair, (pair[0][0], pair[1][0]))

        return len(triples) ** 2, made


class _Pairs:
    """A unit is a shape and an entity that two triples share."""

    def __init__(self, graph: Graph, allowed: set[int] | None, type: str, largest: int | None = None) -> None:
        self.graph, self.allowed, self.type, self.largest = graph, allowed, type, largest
        self.units = len(SHAPES) * len(graph.names)

    def candidates(self, unit: int) -> Candidates:
        node, kind = divmod(unit, len(SHAPES))
        shape = SHAPES[kind]
        first, second = _sides(self.graph, shape)
        one, two = self._groups(first, node), self._groups(second, node)
        partners = [[g for g in two if (g[0] > r if first is second else g[0] != r)] for r, _, _ in one]
        counts = [sum(end - start for _, start, end in groups) for groups in partners]
        sizes = [(end - start) * count for (_, start, end), count in zip(one, counts, strict=True)]

        def made(index: int) -> Subgraph | None:
            at = 0
            while index >= sizes[at]:
                index -= sizes[at]
                at += 1
            relation, start, _ = one[at]
            ahead, rest = divmod(index, counts[at])
            end = first.ends[start + ahead]
            for relation1, start1, end1 in partners[at]:
                if rest < end1 - start1:
                    return self._checked(shape, node, (relation, end), (relation1, second.ends[start1 + rest]))
                rest -= end1 - start1
            raise AssertionError("a number beyond the last candidate")

        return sum(sizes), made

    def _groups(self, edges: Edges, node: int) -> list[Group]:
        return [
            group
            for group in edges.groups(node)
            if (self.allowed is None or group[0] in self.allowed)
            and (self.largest is None or group[2] - group[1] <= self.largest)
        ]

    def _checked(self, shape: str, node: int, one: tuple[int, int], two: tuple[int, int]) -> Subgraph | None:
        """The pair, where it keeps the rules."""
        graph = self.graph
        first, second = _sides(graph, shape)
        (relation, end), (relation1, end1) = one, two
        if end == end1:
            return None
        if self.type == "multi-hop":
            ends, ends1 = first.of(node, relation), second.of(node, relation1)
            if sum(a != b for a in ends for b in ends1) > 1:
                return None
        elif not _alone(_other(graph, first), _other(graph, second), one, two):
            return None
        triple = (node, relation, end) if first is graph.out else (end, relation, node)
        triple1 = (node, relation1, end1) if second is graph.out else (end1, relation1, node)
        ends_named = graph.names[end], graph.names[end1]
        return Subgraph(
            self.type, (graph.triple(*triple), graph.triple(*triple1)), ends_named, graph.names[node], shape
        )


def _sides(graph: Graph, shape: str) -> tuple[Edges, Edges]:
    """The edges of the shared entity in which the first and the second triple are found."""
    return (graph.into if shape == "O" else graph.out), (graph.out if shape == "S" else graph.into)


def _other(graph: Graph, edges: Edges) -> Edges:
    return graph.into if edges is graph.out else graph.out


def _alone(edges: Edges, edges1: Edges, one: tuple[int, int], two: tuple[int, int]) -> bool:
    """Whether only one entity has both the ends under their relations; `edges` lead from the ends to it."""
    (relation, end), (relation1, end1) = one, two
    if edges.count(end, relation) > edges1.count(end1, relation1):
        edges, edges1, (relation, end), (relation1, end1) = edges1, edges, two, one
    found = 0
    for candidate in edges.of(end, relation):
        found += edges1.has(end1, relation1, candidate)
        if found > 1:
            return False
    return found == 1
