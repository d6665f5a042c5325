"""What can be asked of a subgraph: from which entities one starts, along which relations, and where one arrives.

A path is how the answer is found, and so gives the words (`wording`), the gold program (`programs`) and the check that
the question has no other answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from r_eval.tasks.graphs.sampling import Subgraph
from r_eval.tasks.graphs.store import Graph, number

MEMBERS = 50
"""Answers that one question may have: nobody lists all that a hub is linked to."""


@dataclasses.dataclass(frozen=True, slots=True)
class Hop:
    """One step along a relation: forward from the subject to its objects, else from the object to its subjects."""

    relation: str
    forward: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Path:
    """A way from an entity that the question names."""

    start: str
    hops: tuple[Hop, ...]

    def ends(self, graph: Graph, most: int) -> set[str]:
        """Where it leads; at a hub, where it leads to more than `most`, only so many that one sees it."""
        at = [graph.number_of[self.start]]
        for hop in self.hops:
            edges, relation = graph.out if hop.forward else graph.into, graph.relation_of[hop.relation]
            found: set[int] = set()
            for node in at:
                found.update(edges.of(node, relation))
                if hop is self.hops[-1] and len(found) > most:
                    break
            at = sorted(found)
        return {graph.names[node] for node in at[: most + 1]}


@dataclasses.dataclass(frozen=True, slots=True)
class Asking:
    """A question before it has words.

    Attributes:
        paths: Of a conditional question, both lead to the answer; of a comparison, to the numbers of two entities.
        answers: The answer; of a set, all its members.
        bridge: An entity between, that must not be named.
        larger: Of a comparison, which number is asked for.
    """

    subgraph: Subgraph
    paths: tuple[Path, ...]
    answers: tuple[str, ...]
    bridge: str = ""
    larger: bool = True

    @property
    def named(self) -> tuple[str, ...]:
        """The entities that the question names."""
        return tuple(path.start for path in self.paths)

    @property
    def evidence(self) -> tuple[str, ...]:
        """What an observation must hold: the answer, the bridge, the numbers that are compared."""
        if self.subgraph.type == "comparison":
            return tuple(dict.fromkeys(o for _, _, o in self.subgraph.triples))
        return (self.bridge, *self.answers) if self.bridge else self.answers

    @property
    def text(self) -> str:
        """Tells it from all others."""
        steps = [(path.start, *((hop.relation, hop.forward) for hop in path.hops)) for path in self.paths]
        return repr((self.subgraph.type, steps, self.larger))


def askings(subgraph: Subgraph) -> list[Asking]:
    """Every way to ask for it."""
    return _ASKED[subgraph.type](subgraph)


def flaw(asking: Asking, graph: Graph) -> str | None:
    """Why the graph has no one answer to the question; None where it has.

    The rules of sampling see to most of it. They do not say that a named entity leads to one bridge only, nor that a
    number is the only one.
    """
    if len(asking.answers) > MEMBERS:
        return f"more than {MEMBERS} answers"
    if asking.bridge and number(asking.bridge) is not None:
        return "bridge is a number"
    if any(";" in answer for answer in asking.answers):
        return "semicolon in answer"
    if asking.subgraph.type == "comparison":
        if len({number(o) for _, _, o in asking.subgraph.triples}) == 1:
            return "equal numbers"
        return "ambiguous" if any(len(path.ends(graph, 1)) > 1 for path in asking.paths) else None
    if asking.bridge and asking.paths[0].ends(graph, 1) != set(asking.answers):
        return "ambiguous"
    return None


def _simple(subgraph: Subgraph) -> list[Asking]:
    subject, relation, object = subgraph.triples[0]
    return [
        Asking(subgraph, (Path(subject, (Hop(relation, True),)),), (object,)),
        Asking(subgraph, (Path(object, (Hop(relation, False),)),), (subject,)),
    ]


def _set(subgraph: Subgraph) -> list[Asking]:
    hop = Hop(subgraph.triples[0][1], subgraph.shape == "S")
    return [Asking(subgraph, (Path(subgraph.shared, (hop,)),), subgraph.ends)]


def _hops(subgraph: Subgraph) -> Iterable[tuple[str, Hop]]:
    """Both ends, each with the way from it to the shared entity."""
    for (subject, relation, _), end in zip(subgraph.triples, subgraph.ends, strict=True):
        yield end, Hop(relation, subject == end)


def _multi_hop(subgraph: Subgraph) -> list[Asking]:
    (end, hop), (end1, hop1) = _hops(subgraph)
    back, back1 = Hop(hop.relation, not hop.forward), Hop(hop1.relation, not hop1.forward)
    return [
        Asking(subgraph, (Path(end, (hop, back1)),), (end1,), subgraph.shared),
        Asking(subgraph, (Path(end1, (hop1, back)),), (end,), subgraph.shared),
    ]


def _conditional(subgraph: Subgraph) -> list[Asking]:
    paths = tuple(Path(end, (hop,)) for end, hop in _hops(subgraph))
    return [Asking(subgraph, paths, (subgraph.shared,))]


def _comparison(subgraph: Subgraph) -> list[Asking]:
    paths = tuple(Path(s, (Hop(r, True),)) for s, r, _ in subgraph.triples)
    values = {s: number(o) or 0.0 for s, _, o in subgraph.triples}
    return [
        Asking(subgraph, paths, (max(values, key=lambda s: values[s]),)),
        Asking(subgraph, paths, (min(values, key=lambda s: values[s]),), larger=False),
    ]


_ASKED = {
    "simple": _simple,
    "set": _set,
    "multi-hop": _multi_hop,
    "conditional": _conditional,
    "comparison": _comparison,
}
