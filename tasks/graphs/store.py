"""A graph of triples in memory: about 40 bytes a triple besides the names, looked up by bisection.

Names and relations are numbered in sorted order, so the same triples give the same graph whatever their order.
Triples whose subject is their object are left out: they ask nothing.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

Triple = tuple[str, str, str]

NUMBER = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")


def number(text: str) -> float | None:
    """The number that a name is, with or without commas between thousands; None where it is none.

    >>> number("1,234"), number("14 March 1879")
    (1234.0, None)
    """
    if not text.isascii() and not text.startswith("−"):
        return None
    return float(text.replace(",", "").replace("−", "-")) if NUMBER.fullmatch(text) and len(text) < 40 else None


class Edges:
    """The edges of every node in one direction, sorted by node, relation and far end.

    Attributes:
        starts: Where each node's edges begin; one more entry than there are nodes.
        relations, ends: Of each edge.
    """

    def __init__(self, keys: list[int], nodes: int, relations: int) -> None:
        """Take edges as single numbers, `(node * relations + relation) * nodes + end`, sorted."""
        self.relations = array("q", (key // nodes % relations for key in keys))
        self.ends = array("q", (key % nodes for key in keys))
        self.starts = array("q", bytes(8 * (nodes + 1)))
        for key in keys:
            self.starts[key // nodes // relations + 1] += 1
        for node in range(nodes):
            self.starts[node + 1] += self.starts[node]

    def span(self, node: int, relation: int) -> tuple[int, int]:
        """Where a node's edges of a relation begin and end."""
        low, high = self.starts[node], self.starts[node + 1]
        return bisect_left(self.relations, relation, low, high), bisect_right(self.relations, relation, low, high)

    def count(self, node: int, relation: int) -> int:
        """How many edges of a relation a node has."""
        low, high = self.span(node, relation)
        return high - low

    def of(self, node: int, relation: int) -> Sequence[int]:
        """The far ends of a node's edges of a relation, ascending."""
        low, high = self.span(node, relation)
        return self.ends[low:high]

    def has(self, node: int, relation: int, end: int) -> bool:
        """Whether there is such an edge."""
        low, high = self.span(node, relation)
        at = bisect_left(self.ends, end, low, high)
        return at < high and self.ends[at] == end

    def groups(self, node: int) -> list[tuple[int, int, int]]:
        """A node's relations in their order, each with where its edges begin and end."""
        found, at, stop = [], self.starts[node], self.starts[node + 1]
        while at < stop:
            relation = self.relations[at]
            after = bisect_right(self.relations, relation, at, stop)
            found.append((relation, at, after))
            at = after
        return found


class Graph:
    """Triples, found by subject and relation, or by relation and object.

    Attributes:
        names, relations: By number.
        out: Edges from subjects to objects.
        into: Edges from objects to subjects.
    """

    def __init__(self, triples: Iterable[Triple]) -> None:
        kept = [t for t in triples if t[0] != t[2]]
        self.names = sorted({name for s, _, o in kept for name in (s, o)})
        self.relations = sorted({r for _, r, _ in kept})
        self.number_of = {name: at for at, name in enumerate(self.names)}
        self.relation_of = {name: at for at, name in enumerate(self.relations)}
        nodes, count = len(self.names), len(self.relations)
        numbered = {(self.number_of[s], self.relation_of[r], self.number_of[o]) for s, r, o in kept}
        self.out = Edges(sorted((s * count + r) * nodes + o for s, r, o in numbered), nodes, count)
        self.into = Edges(sorted((o * count + r) * nodes + s for s, r, o in numbered), nodes, count)

    def __len__(self) -> int:
        return len(self.out.ends)

    def triple(self, subject: int, relation: int, object: int) -> Triple:
        """A triple in words."""
        return self.names[subject], self.relations[relation], self.names[object]

    def objects(self, subject: str, relation: str) -> list[str]:
        """The objects that a subject has under a relation, sorted."""
        return self._ends(self.out, subject, relation)

    def subjects(self, relation: str, object: str) -> list[str]:
        """The subjects that have an object under a relation, sorted."""
        return self._ends(self.into, object, relation)

    def _ends(self, edges: Edges, name: str, relation: str) -> list[str]:
        node, kind = self.number_of.get(name), self.relation_of.get(relation)
        if node is None or kind is None:
            return []
        return [self.names[end] for end in edges.of(node, kind)]

    def by_relation(self) -> list[list[tuple[int, int]]]:
        """The subject and object of every triple, by the relation's number."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.relations]
        for subject, (low, high) in enumerate(pairwise(self.out.starts)):
            for at in range(low, high):
                found[self.out.relations[at]].append((subject, self.out.ends[at]))
        return found
