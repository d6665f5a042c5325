"""`r-eval compare`: which systems of some runs are compared, and what comes of it.

One run: two systems of it, or all pairs. Several runs: the same system in each (before and after a prompt change), or
two systems wherever they are. A question whose text differs between two runs is not the same question: it is left out
and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from r_eval.analysis import metrics
from r_eval.analysis.compare import (
    ScoreMatrix,
    changed_questions,
    compare_columns,
    drop_questions,
    ranking,
    score_matrix,
    with_metric,
)
from r_eval.analysis.frame import plain, read, roles
from r_eval.analysis.published_results import is_published
from r_eval.analysis.scoring import ensure_scored, score_run
from r_eval.analysis.statistics import MATCH
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.plugins import unknown

if TYPE_CHECKING:
    import pandas

ColumnPair = tuple[Hashable, Hashable]


@dataclass(frozen=True)
class Compared:
    """The comparisons under one condition.

    Attributes:
        matrix: The scores that are compared.
        pairs: One row per pair, over all tasks; as of `compare.compare_columns`.
        by_task: The same on each task, a family of its own; empty for all pairs of a run, and for a single task.
        ranking: Of all systems of one run, as of `compare.ranking`; empty where only some pairs are compared.
        references: Systems left out because they see the gold; they are compared where they are named.
        unscored: Systems left out because they have no score yet.
        changed: Questions that are worded differently in another run, and left out.
    """

    condition: str
    matrix: ScoreMatrix
    pairs: pandas.DataFrame
    by_task: pandas.DataFrame
    ranking: pandas.DataFrame
    references: list[str]
    unscored: list[str]
    changed: int

    def counts(self, a: Hashable, b: Hashable) -> dict[str, int]:
        """On how many common questions each scores higher and each alone is right, and how many only one has."""
        one, two = self.matrix.column(a), self.matrix.column(b)
        both = ~np.isnan(one) & ~np.isnan(two)
        right_a, right_b = one[both] >= MATCH, two[both] >= MATCH
        made = {
            "only_a": right_a & ~right_b,
            "only_b": right_b & ~right_a,
            "both": right_a & right_b,
            "neither": ~right_a & ~right_b,
            "wins": one[both] > two[both],
            "losses": one[both] < two[both],
            "ties": one[both] == two[both],
            "unpaired_a": ~np.isnan(one) & ~both,
            "unpaired_b": ~np.isnan(two) & ~both,
        }
        return {name: int(which.sum()) for name, which in made.items()}

    def discordant(self, a: Hashable, b: Hashable) -> list[tuple[str, str]]:
        """The questions (task, id) that `a` answers and `b` does not."""
        rows = (self.matrix.column(a) >= MATCH) & (self.matrix.column(b) < MATCH)
        return list(zip(self.matrix.task[rows].tolist(), self.matrix.question_id[rows].tolist(), strict=True))


def compare_runs(
    runs: Sequence[RunFolder],
    systems: tuple[str, str] | None = None,
    metric: str | None = None,
    cluster: str = "cluster",
) -> list[Compared]:
    """Compare systems, once for each condition that they have in common.

    Args:
        runs: One, or several.
        systems: Two names; the same one twice compares it between runs. None: all pairs of one run, or every system
            that several runs share.
        metric: In place of each task's own; scores that lack it are computed and stored.
        cluster: "cluster" (a document) or "template".

    Raises:
        UserError: A folder is no run or holds published results, a name is not known, or nothing can be paired.
    """
    frame = _episodes(runs, metric)
    known = list(dict.fromkeys(cell.system for run in runs for cell in run.cells()))
    if systems is not None:
        _check_names(known, systems, runs)
    changed = changed_questions(runs)
    names = _run_names(runs)
    compared = []
    for condition in dict.fromkeys(cell.condition for run in runs for cell in run.cells()):
        own = drop_questions(frame[frame["condition"] == condition], changed)
        labelled, pairs = _chosen(own, systems, names)
        matrix = score_matrix(labelled, by="label", value="value", cluster=cluster)
        found = compare_columns(matrix, pairs)
        if not found["questions"].sum():
            continue
        every = len(runs) == 1 and systems is None
        groups = {task: [task] for task in matrix.tasks} if len(matrix.tasks) > 1 and not every else {}
        by_task = compare_columns(matrix, pairs, groups)
        role, there = roles(runs[0].manifest()), set(own["system"])
        cells = dict.fromkeys(cell.system for cell in runs[0].cells() if cell.condition == condition and every)
        compared.append(
            Compared(
                condition,
                matrix,
                found,
                by_task[by_task["questions"] > 0],
                ranking(_means(matrix), found) if every else found.head(0),
                [name for name in cells if role[name] == "reference"],
                [name for name in cells if role[name] != "reference" and name not in there],
                len(changed),
            )
        )
    if not compared:
        raise UserError(_nothing(known, systems, len(runs), len(changed)))
    return compared


def _episodes(runs: Sequence[RunFolder], metric: str | None) -> pandas.DataFrame:
    """The scored episodes of all runs: `value` is what is compared, `place` the place of the run."""
    import pandas

    parts = []
    for place, run in enumerate(runs):
        if is_published(run.path):
            raise UserError(
                f"{run.path} holds published results: means without episodes. "
                "A comparison is paired by question, so it needs runs"
            )
        ensure_scored(run)
        if metric is not None:
            _score(run, metric)
        own = with_metric(plain(read([run])), metric)
        parts.append(own[own["value"].notna()].assign(place=place))
    return pandas.concat(parts, ignore_index=True)


def _score(run: RunFolder, metric: str) -> None:
    """Compute a metric where it is missing."""
    metrics.get(metric)
    records = [record for cell in run.cells() if (record := next(iter(run.scores(cell).values()), None))]
    if any(metric != record["metric"] and metric not in record["metrics"] for record in records):
        first = records[0]
        score_run(run, [*metrics.filter_trusted(first["metrics"]), metric], first["taxonomy"], first["threshold"])


def _check_names(known: Sequence[str], systems: tuple[str, str], runs: Sequence[RunFolder]) -> None:
    for name in systems:
        if name not in known:
            raise UserError(unknown("system", name, known))
    if systems[0] == systems[1] and len(runs) == 1:
        raise UserError(f"{systems[0]} is compared with itself; name another system, or a second run")


def _run_names(runs: Sequence[RunFolder]) -> list[str]:
    """The names of the runs, or their folders where names are the same."""
    names = [str(run.manifest()["name"]) for run in runs]
    twice = Counter(names)
    return [str(run.path) if twice[name] > 1 else name for run, name in zip(runs, names, strict=True)]


def _chosen(
    frame: pandas.DataFrame, systems: tuple[str, str] | None, names: Sequence[str]
) -> tuple[pandas.DataFrame, list[ColumnPair]]:
    """The episodes to compare, with a `label` for each column of the matrix, and the pairs of labels."""
    if systems is not None and systems[0] != systems[1]:
        own = frame[frame["system"].isin(systems)]
        _check_once(own, names)
        return own.assign(label=own["system"]), [systems]
    ranked = frame["system"] == systems[0] if systems is not None else frame["role"] != "reference"
    own = frame[ranked]
    if len(names) == 1:
        return own.assign(label=own["system"]), list(combinations(own["system"].unique(), 2))
    own = own.assign(
        label=[f"{system} ({names[place]})" for system, place in zip(own["system"], own["place"], strict=True)]
    )
    pairs: list[ColumnPair] = []
    for system in own["system"].unique():
        labels = own.loc[own["system"] == system, "label"].unique()
        pairs += [(later, earlier) for earlier, later in combinations(labels, 2)]
    return own, pairs


def _check_once(frame: pandas.DataFrame, names: Sequence[str]) -> None:
    """A system may come from several runs over different tasks, but not over the same one."""
    there = frame[["system", "task", "place"]].drop_duplicates()
    for key, own in there.groupby(["system", "task"], sort=False):
        system, task = key
        if len(places := own["place"].tolist()) > 1:
            runs = ", ".join(names[place] for place in places)
            raise UserError(
                f"{system} is in several of the runs ({runs}) on {task}; name one of them, or "
                f"compare it between the runs with --systems {system} {system}"
            )


def _means(matrix: ScoreMatrix) -> pandas.Series:
    """The mean of each column over the tasks that it has scores on."""
    import pandas

    scores = pandas.DataFrame(matrix.scores, columns=matrix.columns)
    return scores.groupby(matrix.task).mean().mean()


def _nothing(known: Sequence[str], systems: tuple[str, str] | None, runs: int, changed: int) -> str:
    """Why there is nothing to compare."""
    if changed:
        return f"no common questions: all {changed} common ids have another text in another run"
    if systems is not None:
        return f"{systems[0]} and {systems[1]} have no scores on the same question under the same condition"
    if runs == 1:
        return f"there are no two systems to compare, references aside; the run has: {', '.join(known)}"
    return f"no system is in two of these runs; name two with --systems A B. They have: {', '.join(known)}"
