"""A graph of facts, and the subgraphs of it that make a question with one answer: DRAGON's five types.

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

A node with a million edges has too many pairs to list. So candidates are numbered, and a number is turned into its pair
when it is drawn. Every shared entity (or relation, where nothing is shared) has its turn before one has a second, so
that hubs do not fill the sample.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

import networkx as nx

Triple = tuple[str, str, str]

TYPES = ("simple", "set", "multi-hop", "conditional", "comparison")
PATIENCE = 200_000
"""Vain draws in a row after which no more are made."""
TURN = 100
"""Vain draws after which the next unit has its turn."""
NUMBER = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")


def number(text: str) -> float | None:
    """The number that a name is, with or without commas between thousands; None where it is none.

    >>> number("1,234"), number("14 March 1879")
    (1234.0, None)
    """
    if not text.isascii() and not text.startswith("−"):
        return None
    return float(text.replace(",", "").replace("−", "-")) if NUMBER.fullmatch(text) and len(text) < 40 else None


class Graph:
    """Triples as edges of a `networkx.MultiDiGraph`, whose keys are the relations.

    Triples whose subject is their object are left out: they ask nothing. The order of the triples changes nothing.
    Takes about 600 bytes per triple, its names included.
    """

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
        for subject, relation, object_ in sorted({t for t in triples if t[0] != t[2]}):
            self._graph.add_edge(subject, object_, relation)
        self._links: dict[tuple[str, bool], dict[str, list[str]]] = {}

    def __len__(self) -> int:
        return int(self._graph.number_of_edges())

    @property
    def nodes(self) -> list[str]:
        """Every subject and object."""
        return list(self._graph)

    @functools.cached_property
    def by_relation(self) -> dict[str, list[tuple[str, str]]]:
        """The subject and object of every triple, by relation; relations are sorted."""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for subject, object_, relation in self._graph.edges(keys=True):
            found[relation].append((subject, object_))
        return {relation: found[relation] for relation in sorted(found)}

    def links(self, node: str, forward: bool) -> dict[str, list[str]]:
        """By relation, the sorted objects that a node has as a subject; not `forward`, the subjects it is object of.

        A node that is not in the graph has none.
        """
        key = node, forward
        if key not in self._links:
            found: dict[str, list[str]] = defaultdict(list)
            if node in self._graph:
                edges = self._graph.out_edges if forward else self._graph.in_edges
                for subject, object_, relation in edges(node, keys=True):
                    found[relation].append(object_ if forward else subject)
            self._links[key] = {relation: sorted(found[relation]) for relation in sorted(found)}
        return self._links[key]


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


class Candidates(NamedTuple):
    """The candidates of one unit: how many, and what makes one of its number, None where that breaks a rule."""

    size: int
    make: Callable[[int], Subgraph | None]


def sample(graph: Graph, type: str, seed: int, relations: Collection[str] | None = None) -> Iterator[Subgraph]:
    """Subgraphs of a type, in the order that the seed gives them, each once.

    Args:
        relations: Only subgraphs of these relations; uniqueness is judged over the whole graph all the same.
    """
    generator = random.Random(f"{seed}/{type}")
    allowed = set(graph.by_relation) if relations is None else set(relations)
    units, candidates = _SPACES[type](graph, allowed)
    generator.shuffle(units)
    turns: Iterable[Iterator[Subgraph | None]] = (_draws(candidates(unit), generator) for unit in units)
    seen: set[frozenset[tuple[str, str]]] = set()
    vain = 0
    while turns:
        unfinished = []
        for draws in turns:
            found = next(draws, _END)
            if isinstance(found, _End):
                continue
            unfinished.append(draws)
            if found is not None and found.ids not in seen:
                seen.add(found.ids)
                vain = 0
                yield found
            elif (vain := vain + (TURN if found is None else 1)) > PATIENCE:
                return
        turns = unfinished


class _End:
    """What comes after a unit's last candidate."""


_END = _End()


def _draws(candidates: Candidates, generator: random.Random) -> Iterator[Subgraph | None]:
    """A unit's subgraphs in random order; None after every `TURN` candidates that break a rule."""
    vain = 0
    for index in permuted(candidates.size, generator):
        if (found := candidates.make(index)) is not None:
            yield found
        elif (vain := vain + 1) % TURN == 0:
            yield None


def permuted(count: int, generator: random.Random) -> Iterator[int]:
    """The numbers below `count` in random order, made as they are taken: memory grows with those taken alone."""
    moved: dict[int, int] = {}
    for at in range(count):
        other = generator.randrange(at, count)
        yield moved.get(other, other)
        moved[other] = moved.pop(at, at)


Space = tuple[list[Hashable], Callable[[Hashable], Candidates]]
"""The units of a type, and what gives the candidates of one."""


def _simple(graph: Graph, allowed: Collection[str]) -> Space:
    def candidates(relation: str) -> Candidates:
        def make(index: int) -> Subgraph | None:
            subject, object_ = triples[index]
            if len(graph.links(subject, True)[relation]) > 1 or len(graph.links(object_, False)[relation]) > 1:
                return None
            return Subgraph("simple", ((subject, relation, object_),), (subject, object_))

        triples = graph.by_relation[relation]
        return Candidates(len(triples), make)

    return [relation for relation in graph.by_relation if relation in allowed], candidates  # type: ignore[return-value]


def _sets(graph: Graph, allowed: Collection[str]) -> Space:
    """A unit is a relation and the side of it that is known."""
    counts: Counter[tuple[str, bool, str]] = Counter()
    for relation, triples in graph.by_relation.items():
        if relation in allowed:
            counts.update((relation, True, subject) for subject, _ in triples)
            counts.update((relation, False, object_) for _, object_ in triples)
    shared: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for (relation, forward, node), count in sorted(counts.items()):
        if count > 1:
            shared[relation, forward].append(node)

    def candidates(unit: tuple[str, bool]) -> Candidates:
        relation, forward = unit

        def make(index: int) -> Subgraph:
            node = shared[unit][index]
            ends = graph.links(node, forward)[relation]
            triples = tuple(_triple(node, relation, end, forward) for end in ends)
            return Subgraph("set", triples, tuple(ends), node, "S" if forward else "O")

        return Candidates(len(shared[unit]), make)

    return list(shared), candidates  # type: ignore[return-value]


def _comparisons(graph: Graph, allowed: Collection[str]) -> Space:
    numeric = {
        relation: [(s, o) for s, o in triples if number(o) is not None]
        for relation, triples in graph.by_relation.items()
        if relation in allowed
    }

    def candidates(relation: str) -> Candidates:
        triples = numeric[relation]

        def make(index: int) -> Subgraph | None:
            at, at1 = divmod(index, len(triples))
            (subject, object_), (subject1, object1) = triples[at], triples[at1]
            if subject == subject1 or at > at1:
                return None
            pair = (subject, relation, object_), (subject1, relation, object1)
            return Subgraph("comparison", pair, (subject, subject1))

        return Candidates(len(triples) ** 2, make)

    return list(numeric), candidates  # type: ignore[return-value]


def _pairs(type: str, graph: Graph, allowed: Collection[str]) -> Space:
    """A unit is an entity that two triples share, and a shape."""

    def edges(node: str, forward: bool) -> list[tuple[str, str]]:
        links = graph.links(node, forward).items()
        # a relation with three ends never leaves one pair of them
        fitting = [(r, ends) for r, ends in links if r in allowed and (type != "multi-hop" or len(ends) < 3)]
        return [(relation, end) for relation, ends in fitting for end in ends]

    def candidates(unit: tuple[str, str]) -> Candidates:
        node, shape = unit
        forward, forward1 = shape != "O", shape == "S"
        first, second = edges(node, forward), edges(node, forward1)

        def make(index: int) -> Subgraph | None:
            at, at1 = divmod(index, len(second))
            (relation, end), (relation1, end1) = first[at], second[at1]
            if relation == relation1 or end == end1 or (forward is forward1 and relation > relation1):
                return None
            if type == "multi-hop":
                ends, ends1 = graph.links(node, forward)[relation], graph.links(node, forward1)[relation1]
                unique = sum(a != b for a in ends for b in ends1) == 1
            else:
                nodes, nodes1 = graph.links(end, not forward)[relation], graph.links(end1, not forward1)[relation1]
                unique = _share_one(nodes, nodes1)
            if not unique:
                return None
            triples = _triple(node, relation, end, forward), _triple(node, relation1, end1, forward1)
            return Subgraph(type, triples, (end, end1), node, shape)

        different = len({relation for relation, _ in (*first, *second)}) > 1
        return Candidates(len(first) * len(second) if different else 0, make)

    return [(node, shape) for node in graph.nodes for shape in "SOB"], candidates  # type: ignore[return-value]


def _share_one(nodes: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two lists have one member in common."""
    few, many = sorted((nodes, others), key=len)
    return len(set(few).intersection(many)) == 1


def _triple(node: str, relation: str, end: str, forward: bool) -> Triple:
    return (node, relation, end) if forward else (end, relation, node)


_SPACES: dict[str, Callable[[Graph, Collection[str]], Space]] = {
    "simple": _simple,
    "set": _sets,
    "multi-hop": functools.partial(_pairs, "multi-hop"),
    "conditional": functools.partial(_pairs, "conditional"),
    "comparison": _comparisons,
}
