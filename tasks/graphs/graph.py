"""A graph of facts and its subgraphs that yield a question with one answer: DRAGON's five types.

The triples of a pair share an entity x in one of three shapes and have different relations and different far ends:

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

Two subgraphs of one type with the same names and relations count as one.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import networkx as nx

Triple = tuple[str, str, str]

TYPES = ("simple", "set", "multi-hop", "conditional", "comparison")
MOST = 10_000
"""Maximum candidates per relation or shared entity: a node with a million edges has too many pairs."""
NUMBER = re.compile(r"[-+−]?[0-9]{1,40}(?:\.[0-9]{1,40})?")
GROUPED = re.compile(r"(?<![\d.])\d{1,3}([,'’ \u00a0\u2009\u202f])\d{3}(?:\1\d{3})*(?!\d)")
"""A number with thousands separators."""


def number(text: str) -> float | None:
    """A name as a number, with or without thousands separators; None if it is not a number.

    >>> number("1,234"), number("14 March 1879")
    (1234.0, None)
    """
    text = ungrouped(text)
    return float(text.replace("−", "-")) if NUMBER.fullmatch(text) else None


def ungrouped(text: str) -> str:
    """A text without the thousands separators of its numbers: commas, apostrophes and spaces."""
    return GROUPED.sub(lambda match: match[0].replace(match[1], ""), text)


class Graph:
    """Triples as edges of a `networkx.MultiDiGraph` whose keys are the relations.

    Triples whose subject equals their object are left out. The order of the triples does not matter.
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
        by_relation = collections.defaultdict(list)
        for subject, object_, relation in self._graph.edges(keys=True):
            by_relation[relation].append((subject, object_))
        return dict(sorted(by_relation.items()))

    def links(self, node: str, forward: bool) -> Mapping[str, Sequence[str]]:
        """By relation, the sorted objects of a node, or with `forward` false the subjects that have it as object."""
        if (node, forward) not in self._links:
            by_relation = collections.defaultdict(list)
            edges = self._graph.out_edges if forward else self._graph.in_edges
            for subject, object_, relation in edges(node, keys=True):
                by_relation[relation].append(object_ if forward else subject)
            self._links[node, forward] = {relation: sorted(ends) for relation, ends in sorted(by_relation.items())}
        return self._links[node, forward]


@dataclasses.dataclass(frozen=True, slots=True)
class Subgraph:
    """The subgraph of a question.

    Attributes:
        shape: For a pair: S, O or B. For a set: S with several objects, O with several subjects.
        shared: The entity in all triples; empty for simple and comparison.
        ends: The other entity of each triple; for simple its subject and object, for comparison the subjects.
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


def sample(graph: Graph, type: str, seed: int, relations: Collection[str] | None = None) -> Iterator[Subgraph]:
    """Distinct subgraphs of a type in a seeded order.

    Shared entities (or relations, if nothing is shared) take turns, so that hubs do not fill the sample.

    Args:
        relations: Only subgraphs of these relations; uniqueness still refers to the whole graph.
    """
    chance = random.Random(f"{seed}/{type}")
    allowed = set(graph.by_relation) if relations is None else set(relations)
    streams = list(_STREAMS[type](graph, allowed, chance))
    chance.shuffle(streams)
    turns = collections.deque(streams)
    seen: set[frozenset[tuple[str, str]]] = set()
    while turns:
        subgraph = next(turns[0], None)
        if subgraph is None:
            turns.popleft()
            continue
        turns.rotate(-1)
        if subgraph.ids not in seen:
            seen.add(subgraph.ids)
            yield subgraph


def _random_indices(size: int, chance: random.Random) -> list[int]:
    return chance.sample(range(size), min(size, MOST))


def _simple(graph: Graph, allowed: Collection[str], chance: random.Random) -> Iterator[Iterator[Subgraph]]:
    def stream(relation: str) -> Iterator[Subgraph]:
        triples = graph.by_relation[relation]
        for subject, object_ in chance.sample(triples, len(triples)):
            if len(graph.links(subject, True)[relation]) == len(graph.links(object_, False)[relation]) == 1:
                yield Subgraph("simple", ((subject, relation, object_),), (subject, object_))

    return (stream(relation) for relation in graph.by_relation if relation in allowed)


def _sets(graph: Graph, allowed: Collection[str], chance: random.Random) -> Iterator[Iterator[Subgraph]]:
    def stream(relation: str, forward: bool) -> Iterator[Subgraph]:
        counts = collections.Counter(pair[not forward] for pair in graph.by_relation[relation])
        several = sorted(node for node, count in counts.items() if count > 1)
        for node in chance.sample(several, len(several)):
            ends = graph.links(node, forward)[relation]
            triples = tuple(_triple(node, relation, end, forward) for end in ends)
            yield Subgraph("set", triples, tuple(ends), node, "S" if forward else "O")

    relations = [relation for relation in graph.by_relation if relation in allowed]
    return (stream(relation, forward) for relation in relations for forward in (True, False))


def _comparisons(graph: Graph, allowed: Collection[str], chance: random.Random) -> Iterator[Iterator[Subgraph]]:
    def stream(relation: str) -> Iterator[Subgraph]:
        numeric = [pair for pair in graph.by_relation[relation] if number(pair[1]) is not None]
        for index in _random_indices(len(numeric) ** 2, chance):
            at, at1 = divmod(index, len(numeric))
            (subject, object_), (subject1, object1) = numeric[at], numeric[at1]
            if at < at1 and subject != subject1:
                pair = (subject, relation, object_), (subject1, relation, object1)
                yield Subgraph("comparison", pair, (subject, subject1))

    return (stream(relation) for relation in graph.by_relation if relation in allowed)


def _pairs(graph: Graph, allowed: Collection[str], chance: random.Random, type: str) -> Iterator[Iterator[Subgraph]]:
    def edges(node: str, forward: bool) -> list[tuple[str, str]]:
        links = graph.links(node, forward).items()
        # a relation with three ends never has a unique pair
        fitting = [(r, ends) for r, ends in links if r in allowed and (type != "multi-hop" or len(ends) < 3)]
        return [(relation, end) for relation, ends in fitting for end in ends]

    def stream(node: str, shape: str) -> Iterator[Subgraph]:
        forward, forward1 = shape != "O", shape == "S"
        first, second = edges(node, forward), edges(node, forward1)
        if len({relation for relation, _ in (*first, *second)}) < 2:
            return
        for index in _random_indices(len(first) * len(second), chance):
            (relation, end), (relation1, end1) = first[index // len(second)], second[index % len(second)]
            if relation == relation1 or end == end1 or (forward is forward1 and relation > relation1):
                continue
            if type == "multi-hop":
                ends, ends1 = graph.links(node, forward)[relation], graph.links(node, forward1)[relation1]
                unique = sum(a != b for a in ends for b in ends1) == 1
            else:
                nodes, nodes1 = graph.links(end, not forward)[relation], graph.links(end1, not forward1)[relation1]
                unique = len(set(nodes).intersection(nodes1)) == 1
            if unique:
                triples = _triple(node, relation, end, forward), _triple(node, relation1, end1, forward1)
                yield Subgraph(type, triples, (end, end1), node, shape)

    return (stream(node, shape) for node in graph.nodes for shape in "SOB")


def _triple(node: str, relation: str, end: str, forward: bool) -> Triple:
    return (node, relation, end) if forward else (end, relation, node)


_STREAMS: dict[str, Callable[[Graph, Collection[str], random.Random], Iterator[Iterator[Subgraph]]]] = {
    "simple": _simple,
    "set": _sets,
    "multi-hop": functools.partial(_pairs, type="multi-hop"),
    "conditional": functools.partial(_pairs, type="conditional"),
    "comparison": _comparisons,
}
"""By type, the subgraphs of each relation or shared entity in random order."""
