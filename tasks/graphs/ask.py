"""What can be asked of a subgraph: from which entities one starts, along which relations, and where one arrives.

A path is how the answer is found, and so gives the words (`wording`), the gold program and the check that the question
has no other answer.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping

from r_eval.tasks.graphs.graph import Graph, Subgraph, number
from r_eval.tasks.graphs.graph_file import RelationWords

MOST_ANSWERS = 50
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

    def ends(self, graph: Graph) -> set[str]:
        """Where it leads."""
        nodes = {self.start}
        for hop in self.hops:
            nodes = {end for node in nodes for end in graph.links(node, hop.forward).get(hop.relation, ())}
        return nodes


@dataclasses.dataclass(frozen=True, slots=True)
class QuestionPlan:
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
    def key(self) -> str:
        """Tells it from all others."""
        steps = [(path.start, *((hop.relation, hop.forward) for hop in path.hops)) for path in self.paths]
        return repr((self.subgraph.type, steps, self.larger))

    def rejection_reason(self, graph: Graph) -> str | None:
        """Why the graph has no one answer to the question; None where it has.

        The rules of sampling see to most of it. They do not say that a named entity leads to one bridge only, nor that
        a number is the only one.
        """
        if len(self.answers) > MOST_ANSWERS:
            return f"more than {MOST_ANSWERS} answers"
        if self.bridge and number(self.bridge) is not None:
            return "bridge is a number"
        if any(";" in answer for answer in self.answers):
            return "semicolon in answer"
        if self.subgraph.type == "comparison":
            if len({number(o) for _, _, o in self.subgraph.triples}) == 1:
                return "equal numbers"
            return "ambiguous" if any(len(path.ends(graph)) > 1 for path in self.paths) else None
        return "ambiguous" if self.bridge and self.paths[0].ends(graph) != set(self.answers) else None


def plans(subgraph: Subgraph) -> list[QuestionPlan]:
    """Every way to ask for it."""
    if subgraph.type == "simple":
        ((subject, relation, object_),) = subgraph.triples
        ways = ((subject, True, object_), (object_, False, subject))
        return [QuestionPlan(subgraph, (Path(start, (Hop(relation, on),)),), (end,)) for start, on, end in ways]
    if subgraph.type == "set":
        hop = Hop(subgraph.triples[0][1], subgraph.shape == "S")
        return [QuestionPlan(subgraph, (Path(subgraph.shared, (hop,)),), subgraph.ends)]
    if subgraph.type == "comparison":
        paths = tuple(Path(s, (Hop(r, True),)) for s, r, _ in subgraph.triples)
        values = {s: number(o) or 0.0 for s, _, o in subgraph.triples}
        low, high = sorted(values, key=lambda name: values[name])
        return [QuestionPlan(subgraph, paths, (high,)), QuestionPlan(subgraph, paths, (low,), larger=False)]
    # Both ends of a pair, each with the way from it to the shared entity.
    (end, hop), (end1, hop1) = (
        (end, Hop(relation, subject == end))
        for (subject, relation, _), end in zip(subgraph.triples, subgraph.ends, strict=True)
    )
    if subgraph.type == "conditional":
        return [QuestionPlan(subgraph, (Path(end, (hop,)), Path(end1, (hop1,))), (subgraph.shared,))]
    back, back1 = Hop(hop.relation, not hop.forward), Hop(hop1.relation, not hop1.forward)
    return [
        QuestionPlan(subgraph, (Path(end, (hop, back1)),), (end1,), subgraph.shared),
        QuestionPlan(subgraph, (Path(end1, (hop1, back)),), (end,), subgraph.shared),
    ]


def gold_program(plan: QuestionPlan, program: str, words: Mapping[str, RelationWords]) -> str | None:
    """The program that answers, put together from the graph file's own one, which follows one relation.

    None where a relation has no phrase for it.
    """
    parts = [code for path in plan.paths if (code := _path_code(path, program, words)) is not None]
    if len(parts) < len(plan.paths):
        return None
    if len(parts) == 1:
        return parts[0]
    code = f"{parts[0]}first = answer\n{parts[1]}second = answer\n"
    if plan.subgraph.type == "conditional":
        return f"{code}answer = [value for value in first if value in second]\n"
    sign = ">" if plan.larger else "<"
    one, two = (f'float(str({name}[0]).replace(",", "").replace("−", "-"))' for name in ("first", "second"))
    return f"{code}answer = {plan.named[0]!r} if {one} {sign} {two} else {plan.named[1]!r}\n"


def _path_code(path: Path, program: str, words: Mapping[str, RelationWords]) -> str | None:
    """Lines that leave the ends of a path in `answer`."""
    code, entity = "", repr(path.start)
    for hop in path.hops:
        own = words.get(hop.relation)
        phrase = None if own is None else own.program.forward if hop.forward else own.program.backward
        if phrase is None:
            return None
        # the entity last: a name that holds "{phrase}" stays as it is
        step = program.replace("{phrase}", phrase).replace("{entity}", entity).strip() + "\n"
        if not code:
            code, entity = step, "bridge"
            continue
        code += f"bridges, found = answer, []\nfor bridge in bridges:\n{textwrap.indent(step, '    ')}"
        code += "    found = found + [value for value in answer if value not in found]\nanswer = found\n"
    return code
