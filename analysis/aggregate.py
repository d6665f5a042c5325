"""Aggregates: what tables, figures and the terminal show, computed once from the kept scores.

An average over a domain, a level or everything is the mean over its tasks, each with the same weight (as
the published tables have it; a test reproduces their 252 cells). Ranks go by these averages among the
systems under the same condition. A system that lacks one of the tasks behind an average is shown, but not
ranked by it.

Shares of response types are over all recorded episodes, scores over the scored ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from r_eval.analysis.columns import Shared, clusters
from r_eval.analysis.estimate import average, of_questions
from r_eval.analysis.rows import ALL, LEVELS, Aggregates, Failure, Row, Task, roles
from r_eval.analysis.scoring import ensure_scored
from r_eval.analysis.systems import suffixes
from r_eval.folder import Cell, RunFolder


def aggregate(*runs: RunFolder) -> Aggregates:
    """Aggregates of one or more runs; scores that are missing or out of date are computed first.

    Where two runs have the same system on the same task and condition, the later one's name is added to its systems.

    Raises:
        UserError: A folder is not a run, or a record cannot be read.
    """
    manifests, rows = [], []
    tasks: dict[str, Task] = {}
    scoring: dict[tuple[str, float], None] = {}
    for run, suffix in zip(runs, suffixes(runs), strict=True):
        ensure_scored(run)
        manifest = run.manifest()
        manifests.append(manifest)
        for entry in manifest["tasks"]:
            known = {key: str(entry.get(key) or "") for key in Task.__dataclass_fields__}
            tasks.setdefault(entry["name"], Task(**{**known, "domain": known["domain"] or domain_of(known["name"])}))
        cells = run.cells()
        role = roles(manifest)
        expected = {cell: int(entry["episodes"]) for cell, entry in zip(cells, manifest["cells"], strict=True)}
        shared = clusters(run)
        for (condition, system), own in _by_system(cells).items():
            row = Row(condition, system + suffix, own[0].workflow, own[0].llm + suffix, role=role[system])
            _fill(row, ((cell, run.scores(cell).values()) for cell in own), expected, shared, scoring)
            rows.append(row)
    return finish(manifests, list(tasks.values()), _merged(rows), list(scoring))


def finish(
    manifests: list[dict[str, Any]],
    tasks: list[Task],
    rows: list[Row],
    scoring: list[tuple[str, float]],
    has_episodes: bool = True,
) -> Aggregates:
    """Averages and ranks on top of rows that have their tasks."""
    groups = groups_of(tasks)
    for row in rows:
        for group, names in groups.items():
            row.averages[group] = average([row.tasks[name] for name in names if name in row.tasks], len(names))
    found = Aggregates(manifests, tasks, rows, groups, scoring, has_episodes)
    for condition in found.conditions:
        for group in groups:
            _rank(found.under(condition), group)
    return found


def groups_of(tasks: Sequence[Task]) -> dict[str, list[str]]:
    """Group -> task names: "<domain>_<level>", "<domain>" and "all"; empty groups are left out."""
    groups: dict[str, list[str]] = {}
    domains = list(dict.fromkeys(task.domain for task in tasks))
    for domain in domains:
        for level in LEVELS:
            names = [task.name for task in tasks if task.domain == domain and task.level == level]
            if names:
                groups[f"{domain}_{level}"] = names
    for domain in domains:
        groups[domain] = [task.name for task in tasks if task.domain == domain]
    groups[ALL] = [task.name for task in tasks]
    return groups


def domain_of(task: str) -> str:
    """The domain that a task's name says: what stands before the slash."""
    return task.partition("/")[0]


def _by_system(cells: Sequence[Cell]) -> dict[tuple[str, str], list[Cell]]:
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.condition, cell.system), []).append(cell)
    return found


def _merged(rows: Iterable[Row]) -> list[Row]:
    """Rows of the same system and condition from runs over different tasks, as one."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        first = found.setdefault((row.condition, row.system), row)
        if first is row:
            continue
        first.tasks |= row.tasks
        first.types += row.types
        first.recorded += row.recorded
        first.undecided += row.undecided
        first.unparsed += row.unparsed
        first.failures += row.failures
    return list(found.values())


def _fill(
    row: Row,
    cells: Iterator[tuple[Cell, Iterable[Mapping[str, Any]]]],
    expected: Mapping[Cell, int],
    shared: Shared,
    scoring: dict[tuple[str, float], None],
) -> None:
    """Read the score records of a system, cell by cell, into its row."""
    failures: Counter[tuple[str, str, str]] = Counter()
    for cell, records in cells:
        questions, scores = [], []
        for record in records:
            row.recorded += 1
            row.types[record["response_type"]] += 1
            row.undecided += record["undecided"]
            row.unparsed += record["unparsed"]
            scoring.setdefault((record["taxonomy"], record["threshold"]))
            if record["outcome"] != "finished":
                failures[cell.task, record["outcome"], record["outcome_cause"]] += 1
            if record["score"] is not None:
                questions.append(record["question_id"])
                scores.append(record["score"])
        row.tasks[cell.task] = of_questions(questions, scores, expected[cell], shared.get(cell.task))
    row.failures = [Failure(*key, count) for key, count in failures.most_common()]


def _rank(rows: Sequence[Row], group: str) -> None:
    """Ranks within one condition. Means that differ by rounding of the last bits only are a tie.

    References are not ranked: an oracle in the first place would say nothing about the systems.
    """
    means = [round(mean, 12) for row in rows if (mean := _ranked(row, group)) is not None]
    for row in rows:
        mean = _ranked(row, group)
        row.ranks[group] = None if mean is None else 1 + sum(other > round(mean, 12) for other in means)


def _ranked(row: Row, group: str) -> float | None:
    found = row.averages[group]
    return found.mean if found.tasks == found.of_tasks and not row.reference else None
