"""The tree of an episode whose workflow searches: rebuilt from its steps, and drawn as indented text.

A reply of a search is recorded with the depth of the node that it was asked from, and depth-first search asks in
pre-order: a whole branch before the next one. So the reply that a later one goes on from is the latest before it that
was asked from a node less deep, and the order of the steps and their depths hold the whole tree.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from r_eval.records import Step

LONGEST = 100
"""Characters of a reply, or of a call with its observation, in a drawing."""


@dataclasses.dataclass(slots=True)
class Branch:
    """A reply in the tree.

    Attributes:
        number: Of the reply among the steps, from 0.
        step: The reply.
        parent: Number of the reply that it goes on from; -1 at the root.
        level: How many replies lie above it.
        after: Numbers of the steps that it led to before the next reply: its call, or what the workflow said to it.
    """

    number: int
    step: Step
    parent: int
    level: int
    after: list[int] = dataclasses.field(default_factory=list)


def tree(steps: Sequence[Step]) -> list[Branch]:
    """The replies of a search in pre-order; empty where nothing was searched."""
    found: list[Branch] = []
    way: list[Branch] = []
    last: Branch | None = None
    for number, step in enumerate(steps):
        if step.kind != "thought":
            if last is not None and step.kind != "answer":
                last.after.append(number)
            continue
        last = None
        if step.depth is not None:
            while way and (way[-1].step.depth or 0) >= step.depth:
                way.pop()
            last = Branch(number, step, way[-1].number if way else -1, len(way))
            found.append(last)
            way.append(last)
    return found


def drawing(steps: Sequence[Step]) -> str:
    """The tree as text, a line a reply and one for each call; replies have the numbers of their steps, from 1.

    Example:
        >>> from r_eval.records import Step
        >>> print(drawing([Step(kind="thought", text="Look.", depth=0), Step(kind="thought", text="Again.", depth=0)]))
        1 Look.
        2 Again.
    """
    width, lines = len(str(len(steps))), []
    for branch in tree(steps):
        indent = "   " * branch.level
        lines.append(f"{branch.number + 1:>{width}} {indent}{_short(branch.step.text) or '(nothing)'}")
        lines += [f"{'':>{width}} {indent}  = {_short(_event(steps[number]))}" for number in branch.after]
    return "\n".join(lines)


def _event(step: Step) -> str:
    if step.kind != "call":
        return step.text
    arguments = ", ".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in (step.arguments or {}).items())
    return f"{step.api}({arguments}): {step.error or step.observation}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
