"""Faithful, leaked, other: whether an answer was read or remembered, where the environment's values were replaced.

Under the condition `counterfactual` a question has a new gold answer, which only the environment tells, and an old one,
which only a memory of the world as it is can give. Of each answer that was not stopped by the machinery:

- faithful: it matches the new gold.
- leaked: it matches the old gold. What the LLM knew won over what it could have read.
- other: it matches neither, or both alike.

An answer matches a gold from the threshold of the response types on, by `token_f1`; where it matches both, the better
match counts. The old golds are those of the run's questions, the new ones those of its episodes. A cell counts as
counterfactual where these differ; questions whose gold did not change there are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from r_eval.analysis.columns import Shared
from r_eval.analysis.estimate import Estimate, average, of_questions
from r_eval.analysis.metrics import token_f1
from r_eval.analysis.responses import THRESHOLDS
from r_eval.analysis.systems import CLEAN, clusters_of, suffixes
from r_eval.folder import Cell, RunFolder
from r_eval.records import INFRASTRUCTURE_FAILURES, Episode

Verdict = Literal["faithful", "leaked", "other"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class Faithful:
    """One system on one counterfactual task, or over all its tasks.

    Attributes:
        task: "" for all tasks together: means over tasks, each with the same weight, and sums of answers.
        answers: Those with a verdict.
        incomplete: Episodes that the run asks for without one: stopped by the machinery, or not recorded yet.
        dropped: Questions of the task that the condition could not change.
        counts: By verdict, how many answers.
        shares: By verdict, of the answers.
    """

    condition: str
    workflow: str
    llm: str
    task: str
    answers: int
    incomplete: int
    dropped: int
    counts: Mapping[Verdict, int]
    shares: Mapping[Verdict, Estimate]

    @property
    def system(self) -> str:
        """Name of the workflow x LLM pair."""
        return f"{self.workflow}+{self.llm}"


def verdict(answer: str, new: Sequence[str], old: Sequence[str]) -> Verdict:
    """Whether an answer matches the new golds, the old ones, or neither (or both alike).

    >>> verdict("Lima", ["Lima"], ["Oslo"]), verdict("It is Oslo", ["Lima"], ["Oslo"]), verdict("", ["Lima"], ["Oslo"])
    ('faithful', 'leaked', 'other')
    """
    faithful, leaked = token_f1(answer, new), token_f1(answer, old)
    if max(faithful, leaked) < THRESHOLDS["strict"] or faithful == leaked:
        return "other"
    return "faithful" if faithful > leaked else "leaked"


def faithful(*runs: RunFolder) -> list[Faithful]:
    """A line a system and counterfactual task, in the order of the runs' cells, and one over several tasks of a system.

    None of a run that has no counterfactual cell, or is older than the file of its questions. Systems are named as in
    the aggregates.

    Raises:
        UserError: A run, or a record of it, cannot be read.
    """
    shared = clusters_of(runs) if any(cell.condition != CLEAN for run in runs for cell in run.cells()) else {}
    lines: dict[tuple[str, str, str], list[Faithful]] = {}
    for run, suffix in zip(runs, suffixes(runs), strict=True):
        for line in _of_run(run, suffix, shared):
            lines.setdefault((line.condition, line.workflow, line.llm), []).append(line)
    found: list[Faithful] = []
    for own in lines.values():
        found += own
        if len(own) > 1:
            found.append(_over_tasks(own))
    return found


def _of_run(run: RunFolder, suffix: str, shared: Shared) -> Iterator[Faithful]:
    facts: dict[tuple[str, ...], dict[str, Any]] = {
        (c["workflow"], c["llm"], c["condition"], c["task"]): c for c in run.manifest()["cells"]
    }
    olds: dict[str, dict[str, list[str]]] = {}
    for cell in run.cells():
        if cell.condition == CLEAN:
            continue
        if cell.task not in olds:
            olds[cell.task] = {question.id: question.answers for question in run.questions(cell.task)}
        entry = facts.get(tuple(cell), {})
        line = _of_cell(
            cell._replace(llm=cell.llm + suffix),
            run.cell_episodes(cell),
            olds[cell.task],
            expected=entry.get("episodes", 0),
            dropped=entry.get("dropped", 0),
            shared=shared.get(cell.task, {}),
        )
        if line is not None:
            yield line


def _of_cell(
    cell: Cell,
    episodes: Iterable[Episode],
    olds: Mapping[str, list[str]],
    expected: int,
    dropped: int,
    shared: Mapping[str, str],
) -> Faithful | None:
    """A cell's line; None where no episode has another gold than its question."""
    questions: list[str] = []
    verdicts: list[Verdict] = []
    changed = 0
    unchanged = 0
    for episode in episodes:
        old = olds.get(episode.question_id)
        if old is None or old == episode.golds:
            unchanged += 1
            continue
        changed += 1
        if episode.outcome.kind not in INFRASTRUCTURE_FAILURES:
            questions.append(episode.question_id)
            verdicts.append(verdict(episode.answer, episode.golds, old))
    if not changed:
        return None
    expected = max(expected - unchanged, changed)
    return Faithful(
        *(cell.condition, cell.workflow, cell.llm, cell.task),
        answers=len(verdicts),
        incomplete=expected - len(verdicts),
        dropped=dropped,
        counts={kind: verdicts.count(kind) for kind in VERDICTS},
        shares={
            kind: of_questions(questions, [float(one == kind) for one in verdicts], expected, shared)
            for kind in VERDICTS
        },
    )


def _over_tasks(lines: Sequence[Faithful]) -> Faithful:
    first = lines[0]
    return Faithful(
        *(first.condition, first.workflow, first.llm, ""),
        answers=sum(line.answers for line in lines),
        incomplete=sum(line.incomplete for line in lines),
        dropped=sum(line.dropped for line in lines),
        counts={kind: sum(line.counts[kind] for line in lines) for kind in VERDICTS},
        shares={kind: average([line.shares[kind] for line in lines], len(lines)) for kind in VERDICTS},
    )
