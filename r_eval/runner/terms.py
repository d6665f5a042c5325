"""What people should know before a run: what a cell may cost, and what is not the same as they may think."""

from __future__ import annotations

from collections.abc import Iterator

from r_eval.runner.plan import Plan, PlannedTask


def terms(plan: Plan) -> list[str]:
    """The terms of a run, a line each."""
    lines = list(_costs(plan))
    for planned in plan.tasks:
        lines += [f"task '{planned.task.name}': {text}" for text in _of_task(planned)]
    sharing = [c for c in plan.cells if c.workflow.branches and not c.planned.environment.copies_state]
    for name in dict.fromkeys(cell.cell.workflow for cell in sharing):
        tasks = dict.fromkeys(f"'{c.planned.task.name}'" for c in sharing if c.cell.workflow == name)
        lines.append(f"{name}: branches share the environment's state, which cannot be copied, in {', '.join(tasks)}")
    return lines


def _costs(plan: Plan) -> Iterator[str]:
    """What an episode and a cell of each workflow may cost; of cells of several sizes, the largest."""
    most, questions = dict[str, int](), dict[str, int]()
    for cell in plan.cells:
        name = cell.cell.workflow
        most[name] = cell.workflow.most_calls(plan.limits)
        questions[name] = max(questions.get(name, 0), len(cell.planned.questions))
    bounds = {name: min(calls, plan.limits.calls or calls) for name, calls in most.items()}
    parts = [
        f"{name} {calls * questions[name] * plan.grid.epochs:,} ({calls} per episode)"
        for name, calls in bounds.items()
        if calls
    ]
    if parts:
        tokens = f"; at most {plan.limits.tokens:,} tokens per episode" if plan.limits.tokens else ""
        yield f"LLM calls per cell, at most: {', '.join(parts)}{tokens}"


def _of_task(planned: PlannedTask) -> Iterator[str]:
    if planned.unsuited:
        names = ", ".join(planned.unsuited)
        yield f"demonstrations left out, because they call query APIs that the environment lacks: {names}"
    if any(question.context for question in planned.questions):
        places = {"prompt": "in every prompt", "environment": "behind the query APIs only", "none": "nowhere"}
        yield f"passages: {planned.passages} (the questions' own documents are {places[planned.passages]})"
    if planned.passages == "environment" and planned.task.data and not (planned.takes_documents or planned.settings):
        lacks = "which may lack pages of published questions; name another source"
        yield f"the environment {planned.task.environment} contains only the embedded snapshot, {lacks}"
