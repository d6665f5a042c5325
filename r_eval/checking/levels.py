"""Whether a question's level is clearly not what its gold program does.

- KS asks for what one entity's entry says. It is not KS where a value that the program took from one observation is
  looked up with a query API that was called before (the page that another page names), or where such look-ups follow
  each other three deep. Finding an entity by its name and then asking for it by its id is still one entity.
- KA asks for several steps or a conclusion. It is not KA where one call is all that the program makes, its observation
  holds the answer, and the program neither compares nor counts.
- Of KU, concepts and understanding, a program says nothing.

A value counts as taken from an observation where it is no literal of the program and an earlier observation holds it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from r_eval.analysis.responses import Observed
from r_eval.records import Step
from r_eval.tasks.solving import Solved

DEEP = 3
SHORTEST = 3
"""Characters of a value that no observation holds by chance."""
CONCLUDING = frozenset({"max", "min", "sorted", "sum", "len", "any", "all", "Counter", "set", "sort", "count"})


def wrong_level(solved: Solved) -> str:
    """What is wrong with the level, as a clause about the program; "" where nothing clearly is."""
    calls = [step for step in solved.steps if step.error is None]
    if solved.question.level == "KS":
        return _several_hops(calls, ast.parse(solved.question.program or ""))
    if solved.question.level == "KA" and len(calls) == 1:
        holds = any(Observed([calls[0].observation or ""]).holds(gold) for gold in solved.question.answers)
        if holds and not _concludes(ast.parse(solved.question.program or "")):
            return "KA, though the one call that its program makes gives the answer"
    return ""


def _several_hops(calls: list[Step], program: ast.AST) -> str:
    literals = {str(node.value) for node in ast.walk(program) if isinstance(node, ast.Constant)}
    before: list[tuple[str | None, Observed, int]] = []
    for step in calls:
        depth = 1
        for value in sorted(set(_texts(step.arguments)) - literals):
            sources = [deep for _, observed, deep in before if observed.holds(value)]
            if sources and any(api == step.api for api, _, _ in before):
                return f"KS, though its program looks up with {step.api} again what a look-up gave"
            depth = max([depth, *(deep + 1 for deep in sources[:1])])
        if depth >= DEEP:
            return f"KS, though its program follows {depth} look-ups, each from what the one before gave"
        before.append((step.api, Observed([step.observation or ""]), depth))
    return ""


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif value is not None and len(str(value)) >= SHORTEST:
        yield str(value)


def _concludes(program: ast.AST) -> bool:
    for node in ast.walk(program):
        if isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp | ast.IfExp):
            return True
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in CONCLUDING:
                return True
    return False
