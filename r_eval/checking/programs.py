"""Runs the gold programs of a question file and says which give no answer, another one, or one that nothing observed
holds; and which do what another level asks for.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Sequence

from r_eval.analysis import metrics
from r_eval.analysis.responses import Response
from r_eval.checking.golds import response
from r_eval.checking.grouped import Group
from r_eval.checking.levels import wrong_level
from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.records import Question
from r_eval.tasks.base import DEFAULT_METRIC
from r_eval.tasks.solving import Solved, same_values, solve

LONGEST = 120


def check_programs(
    questions: Sequence[Question], environment: Environment, sandbox: Sandbox, metric: str = DEFAULT_METRIC
) -> list[Group]:
    """What the programs show; those that are no Python are left out.

    Args:
        metric: The task's: the program's answer is to score 1 by it, as the oracle's would.
    """
    score = metrics.get(metric)
    solved = asyncio.run(solve([q for q in questions if parses(q.program)], environment, sandbox))
    failed = [s for s in solved if s.error]
    answered = [s for s in solved if not s.error]
    other = [s for s in answered if not _right(s, score)]
    seen = {s.question.id: response(s.steps, s.question, 1.0, metric) for s in answered}
    unseen = [s for s in answered if not seen[s.question.id].supported and not seen[s.question.id].undecided]
    named = [s for s in unseen if s.question.evidence]
    unnamed = [s for s in unseen if not s.question.evidence and s not in other]
    return [
        _group(
            failed,
            f"a program that fails{_first(failed, lambda s: s.error)}",
            "mend the program or leave the question out: nobody can be shown how it is solved",
        ),
        _group(
            other,
            f"a program that gives another answer{_first(other, lambda s: f'{s.answer} in place of {_golds(s)}')}",
            "make the gold what the program gives, or mend the program",
        ),
        _group(
            named,
            f"evidence that no observation of the program holds{_first(named, lambda s: _missing(s, seen))}",
            "name what the query APIs return, in their own words",
        ),
        _group(
            unnamed,
            f"an answer that no observation of the program holds{_first(unnamed, _golds)}",
            "name in evidence what must have been observed: the answer is worked out, or is known without the APIs",
        ),
        *_levels(answered),
    ]


def parses(program: str | None) -> bool:
    """Whether there is a program and it is Python."""
    try:
        return bool(program and ast.parse(program))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _right(solved: Solved, score: metrics.Metric) -> bool:
    golds = solved.question.answers
    return score(solved.answer, golds) >= 1 or any(same_values(solved.answer, gold) for gold in golds)


def _levels(solved: Sequence[Solved]) -> list[Group]:
    found: dict[str, list[Question]] = {}
    for one in solved:
        if wrong := wrong_level(one):
            found.setdefault(wrong, []).append(one.question)
    todo = "give the level that it has: KS for what one entity's entry says, KA for several steps or a conclusion"
    return [Group("warning", f"the level {wrong}", todo, questions) for wrong, questions in sorted(found.items())]


def _group(solved: Sequence[Solved], what: str, todo: str) -> Group:
    return Group("error", what, todo, [s.question for s in solved])


def _first(solved: Sequence[Solved], text: Callable[[Solved], str]) -> str:
    """What is said of the first one, as the end of a sentence."""
    if not solved:
        return ""
    said = " ".join(text(solved[0]).split())
    said = said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"
    return f" ({solved[0].question.id}: {said})" if len(solved) > 1 else f" ({said})"


def _golds(solved: Solved) -> str:
    return " or ".join(solved.question.answers)


def _missing(solved: Solved, seen: dict[str, Response]) -> str:
    return ", ".join(seen[solved.question.id].missing)
