"""The tree of an episode whose workflow searches: rebuilt from its steps, and drawn as indented text.

A reply of a search is recorded with the depth of the node that it was made from, and depth-first search goes in
pre-order: a whole branch before the next one. So the reply that a later one continues is the latest before it that was
made from a node less deep, and the order of the steps and their depths hold the whole tree.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from r_eval.records import Step

LONGEST = 100
"""Characters of a reply, or of a call with its observation, in a drawing."""


class Branch(NamedTuple):
    """A reply in the tree.

    Attributes:
        number: Of the reply among the steps, from 0.
        step: The reply.
        parent: Number of the reply that it continues; -1 at the root.
        level: How many replies are above it.
        after: Numbers of the steps that it led to before the next reply: its call, or the workflow's message.
    """

    number: int
    step: Step
    parent: int
    level: int
    after: list[int]


def tree(steps: Sequence[Step]) -> list[Branch]:
    """The replies of a search in pre-order; empty where nothing was searched."""
    found: list[Branch] = []
    path: list[Branch] = []
    last: Branch | None = None
    for number, step in enumerate(steps):
        if step.kind != "thought":
            if last is not None and step.kind != "answer":
                last.after.append(number)
            continue
        last = None
        if step.depth is not None:
            while path and (path[-1].step.depth or 0) >= step.depth:
                path.pop()
            last = Branch(number, step, path[-1].number if path else -1, len(path), [])
            found.append(last)
            path.append(last)
    return found


def drawing(steps: Sequence[Step]) -> str:
    """The tree as text, a line per reply and per call; replies have the numbers of their steps, from 1.

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
        lines += [f"{'':>{width}} {indent}  = {_event(steps[number])}" for number in branch.after]
    return "\n".join(lines)


def _event(step: Step) -> str:
    if step.kind != "call":
        return _short(step.text)
    arguments = ", ".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in (step.arguments or {}).items())
    return _short(f"{step.api}({arguments}): {step.error or step.observation}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
