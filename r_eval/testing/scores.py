"""An assertion for one's own continuous integration: a system does not fall below a score."""

from __future__ import annotations

from pathlib import Path

from r_eval import plugins
from r_eval.analysis.estimate import Estimate
from r_eval.analysis.rows import ALL, Aggregates, Row
from r_eval.api import Run
from r_eval.errors import UserError
from r_eval.folder import Cell

SHOWN = 5
"""Questions that a failed assertion names."""


def assert_score(
    run: Run | str | Path,
    system: str,
    at_least: float,
    *,
    task: str | None = None,
    condition: str = "clean",
    sure: bool = False,
    incomplete: bool = False,
) -> Estimate:
    """See that a system of a run scores at least so much, from 0 to 1.

    Args:
        run: What `run` or `load_run` gives, or a run's folder.
        system: `<workflow>+<llm>`.
        task: A task of the run; absent: the mean over all tasks, each with the same weight.
        condition: As in the grid.
        sure: Whether the lower end of the 95 % interval must reach it, and not the mean alone. With few questions a
            system may be good enough and this fail: it asks for evidence.
        incomplete: Whether episodes may be missing that the machinery stopped or that are not run yet. The mean over
            the rest counts then.

    Returns:
        The mean with its interval, and how many episodes stand behind it.

    Raises:
        AssertionError: It does not; the message has the interval, and the questions with the lowest scores.
        UserError: The run has no such system, task or condition.
    """
    from r_eval.analysis.aggregate import aggregate

    opened = run if isinstance(run, Run) else Run(run)
    found = aggregate(opened.folder)
    row = _row(found, system, condition)
    estimate = _estimate(row, task)
    of = f"{system} on {task or 'all tasks'}{'' if condition == 'clean' else f', {condition},'}"
    if not incomplete and not estimate.complete:
        raise AssertionError(
            f"{of}: {estimate.missing} of {estimate.expected} episodes have no score (the machinery failed, or the "
            "run goes on); run the grid again with the same folder, or allow it with incomplete=True"
        )
    reached = estimate.low if sure else estimate.mean
    if reached is None or reached < at_least:
        raise AssertionError(f"{of} {_told(estimate, sure)}, below {at_least}\n{_lowest(opened, row, task)}".rstrip())
    return estimate


def _row(found: Aggregates, system: str, condition: str) -> Row:
    if condition not in found.conditions:
        raise UserError(plugins.unknown("condition", condition, found.conditions))
    rows = {row.system: row for row in found.under(condition)}
    if system not in rows:
        raise UserError(plugins.unknown("system", system, rows))
    return rows[system]


def _estimate(row: Row, task: str | None) -> Estimate:
    if task is None:
        return row.averages[ALL]
    if task not in row.tasks:
        raise UserError(plugins.unknown("task", task, row.tasks))
    return row.tasks[task]


def _told(estimate: Estimate, sure: bool) -> str:
    """A mean with its interval and episodes, in words."""
    if estimate.mean is None or estimate.low is None or estimate.high is None:
        return "has no score"
    interval = f"{estimate.low:.3f} to {estimate.high:.3f} with 95 % confidence"
    count = f"{estimate.n} episodes of {estimate.questions} questions"
    return f"scores {estimate.mean:.3f} ({interval}; {count}){', and is not sure to reach more' if sure else ''}"


def _lowest(run: Run, row: Row, task: str | None) -> str:
    """The questions with the lowest scores, with what was answered."""
    lines: list[tuple[float, str]] = []
    for name in row.tasks if task is None else [task]:
        cell = Cell(row.workflow, row.llm, row.condition, name)
        scores = run.folder.scores(cell)
        for episode in run.folder.cell_episodes(cell):
            score = scores.get(episode.episode_id, {}).get("score")
            if score is not None and score < 1:
                answer = "no answer" if episode.answer is None else repr(episode.answer[:60])
                about = f"  {score:.2f}  {name} {episode.question_id}: {answer} for {'; '.join(episode.golds)[:60]!r}"
                lines.append((score, about))
    return "\n".join(line for _, line in sorted(lines)[:SHOWN])
