"""Question plans for a subgraph: start entities, relations to follow, and answers.

A path leads to the answer and determines the wording (`wording`), the gold program and the check that the answer is
unique.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping

from r_eval.tasks.graphs.graph import Graph, Subgraph, number
from r_eval.tasks.graphs.graph_file import Phrases, RelationWords

MOST_ANSWERS = 50
"""Maximum number of answers of a question, which excludes hubs."""


@dataclasses.dataclass(frozen=True, slots=True)
class Hop:
    """One step along a relation: forward from subject to objects, otherwise from object to subjects."""

    relation: str
    forward: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Path:
    """A path from an entity that the question names."""

    start: str
    hops: tuple[Hop, ...]

    def ends(self, graph: Graph) -> set[str]:
        """The entities at its end."""
        nodes = {self.start}
        for hop in self.hops:
            nodes = {end for node in nodes for end in graph.links(node, hop.forward).get(hop.relation, ())}
        return nodes


@dataclasses.dataclass(frozen=True, slots=True)
class QuestionPlan:
    """A question before its wording.

    Attributes:
        paths: For a conditional question, two paths to the answer; for a comparison, to the numbers of two entities.
        answers: The answer, or all members of a set.
        bridge: An intermediate entity that must not be named.
        larger: For a comparison, whether the larger number is asked for.
    """

    subgraph: Subgraph
    paths: tuple[Path, ...]
    answers: tuple[str, ...]
    bridge: str = ""
    larger: bool = True

    @property
    def entities(self) -> tuple[str, ...]:
        """The entities that the question names."""
        return tuple(path.start for path in self.paths)

    @property
    def evidence(self) -> tuple[str, ...]:
        """Texts that observations must contain: the answer, the bridge, the compared numbers."""
        if self.subgraph.type == "comparison":
            return tuple(dict.fromkeys(o for _, _, o in self.subgraph.triples))
        return (self.bridge, *self.answers) if self.bridge else self.answers

    @property
    def key(self) -> str:
        """A unique key."""
        steps = [(path.start, *((hop.relation, hop.forward) for hop in path.hops)) for path in self.paths]
        return repr((self.subgraph.type, steps, self.larger))

    def rejection_reason(self, graph: Graph) -> str | None:
        """Why the question has no unique answer in the graph; None if it has one.

        The sampling rules ensure most of this, but not that a named entity has one bridge or one number only.
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
    """All question plans for a subgraph."""
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
    # Both ends of a pair, each with the hop from it to the shared entity.
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
    """The gold program, composed of the graph file's program, which follows one relation.

    None if a relation has no phrase for it.
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
    digits = r'float(re.sub("[^0-9.-]", "", str({}[0]).replace("−", "-")))'
    one, two = digits.format("first"), digits.format("second")
    return f"import re\n{code}answer = {plan.entities[0]!r} if {one} {sign} {two} else {plan.entities[1]!r}\n"


def _path_code(path: Path, program: str, words: Mapping[str, RelationWords]) -> str | None:
    """Code that assigns the ends of a path to `answer`."""
    code, entity = "", repr(path.start)
    for hop in path.hops:
        phrases = words[hop.relation].program if hop.relation in words else Phrases()
        phrase = phrases.forward if hop.forward else phrases.backward
        if phrase is None:
            return None
        # the entity last, so that "{phrase}" in a name stays as it is
        step = program.replace("{phrase}", phrase).replace("{entity}", entity).strip() + "\n"
        if not code:
            code, entity = step, "bridge"
            continue
        code += f"bridges, found = answer, []\nfor bridge in bridges:\n{textwrap.indent(step, '    ')}"
        code += "    found = found + [value for value in answer if value not in found]\nanswer = found\n"
    return code
