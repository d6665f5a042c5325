"""Checks a grid: everything that resolving it finds, and how large it is."""

from __future__ import annotations

from pathlib import Path

from r_eval.checking.finding import Finding, counted
from r_eval.grid import Grid
from r_eval.runner import budget
from r_eval.runner.plan import resolve


def check_grid(path: Path) -> list[Finding]:
    """What is found in a grid.

    Raises:
        UserError: It is no grid, or something in it is unknown or wrong.
    """
    target = str(path)
    plan = resolve(Grid.load(path))
    budget.check(plan)
    findings = [
        Finding(
            target,
            target,
            "warning",
            f"the question '{question.id}' of task '{planned.task.name}' has no program, so the oracle gives up on it",
            "give it its program, or leave oracle out",
        )
        for planned in plan.tasks
        if any(c.workflow.uses_gold and c.planned.task is planned.task for c in plan.cells)
        for question in [next((q for q in planned.asked if not q.program), None)]
        if question is not None
    ]
    for planned in plan.tasks:
        if len(planned.shown) < plan.grid.shots:
            text = f"task '{planned.task.name}' has no demonstrations, though shots is {plan.grid.shots}"
            findings.append(Finding(target, target, "warning", text, "name a file: demonstrations: FILE.jsonl"))
    size = f"{counted(len(plan.cells), 'cell')}, {counted(plan.episodes(), 'episode')}"
    return [*findings, Finding(target, target, "note", size)]
