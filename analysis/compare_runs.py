"""`r-eval compare`: which systems of some runs are compared, and what comes of it.

One run: two systems of it, or all pairs. Several runs: the same system in each (before and after a prompt change), or
two systems wherever they are. A system that is in several runs bears the folder's name in all but the first
(`results`).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from r_eval.analysis import metrics
from r_eval.analysis.compare import ScoreMatrix, comparable, compare_columns, ranking, score_matrix
from r_eval.analysis.frame import metric_column
from r_eval.analysis.published_results import is_published
from r_eval.analysis.results import Results, load
from r_eval.analysis.scoring import ensure_scored, score_to_read
from r_eval.analysis.statistics import MATCH
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.plugins import unknown

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Compared:
    """The comparisons under one condition.

    Attributes:
        matrix: The scores that are compared.
        pairs: One row per pair, over all tasks; as of `compare.compare_columns`.
        by_task: The same on each task, a family of its own; empty for all pairs of a run, and for a single task.
        ranking: Of all systems of one run, as of `compare.ranking`; empty where only some pairs are compared.
        references: Systems left out because they see the gold; they are compared where they are named.
        unscored: Systems that are not ranked because they lack a score on a task.
        changed: Questions that are worded differently in another run, and left out.
    """

    condition: str
    matrix: ScoreMatrix
    pairs: pandas.DataFrame
    by_task: pandas.DataFrame
    ranking: pandas.DataFrame
    references: Sequence[str] = ()
    unscored: Sequence[str] = ()
    changed: int = 0

    def counts(self, a: Hashable, b: Hashable) -> dict[str, int]:
        """On how many common questions each scores higher and each alone is right, and how many only one has."""
        one, two = self.matrix.column(a), self.matrix.column(b)
        both = ~np.isnan(one) & ~np.isnan(two)
        right_a, right_b = one[both] >= MATCH, two[both] >= MATCH
        made = {
            **{"only_a": right_a & ~right_b, "only_b": right_b & ~right_a},
            **{"both": right_a & right_b, "neither": ~right_a & ~right_b},
            **{"wins": one[both] > two[both], "losses": one[both] < two[both], "ties": one[both] == two[both]},
            **{"unpaired_a": ~np.isnan(one) & ~both, "unpaired_b": ~np.isnan(two) & ~both},
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
    for run in runs:
        if is_published(run.path):
            raise UserError(
                f"{run.path} holds published results: means without episodes. "
                "A comparison is paired by question, so it needs runs"
            )
        if metric is not None:
            _score(run, metric)
    results = load(*runs)
    versions = _versions(results)
    wanted = _wanted(versions, systems) if systems or len(runs) > 1 else None
    episodes, changed = comparable(results)
    if metric is not None:
        is_own = episodes["metric"].astype(object) == metric
        episodes = episodes.assign(score=episodes["score"].where(is_own, episodes.get(metric_column(metric), np.nan)))
    scored = episodes[episodes["score"].notna()]
    found = [_compared(results, scored[scored["condition"] == one], one, wanted, cluster) for one in results.conditions]
    compared = [replace(one, changed=changed) for one in found if one.pairs["questions"].sum()]
    if not compared:
        if len(runs) == 1 and len(set(systems or versions)) < 2:
            raise UserError(f"{runs[0].path}: a comparison needs two systems or two runs")
        why = f": the runs share {changed:,} ids, but with different texts" if changed else ""
        raise UserError(f"the systems share no question{why}. Systems: {', '.join(versions)}")
    return compared


def _compared(
    results: Results,
    episodes: pandas.DataFrame,
    condition: str,
    wanted: Sequence[tuple[Hashable, Hashable]] | None,
    cluster: str,
) -> Compared:
    """The comparisons of some pairs under a condition, or of all ranked systems and their ranking."""
    import pandas

    role = dict(zip(results.cells["system"], results.cells["role"], strict=True))
    matrix = score_matrix(episodes, cluster=cluster)
    ranked = [str(name) for name in matrix.columns if role[str(name)] != "reference"]
    pairs = compare_columns(matrix, list(combinations(ranked, 2)) if wanted is None else wanted)
    if wanted is not None:
        groups = {task: [task] for task in matrix.tasks} if len(matrix.tasks) > 1 else {}
        by_task = compare_columns(matrix, wanted, groups)
        return Compared(condition, matrix, pairs, by_task[by_task["questions"] > 0], pairs.head(0))
    cells = results.cells.loc[results.cells["condition"] == condition, "system"]
    others = [str(name) for name in cells.unique() if name not in ranked]
    references = [name for name in others if role[name] == "reference"]
    columns = pandas.DataFrame(matrix.scores, columns=matrix.columns)[ranked]
    means = columns.groupby(matrix.task).mean().mean(skipna=False)  # NaN where a system lacks a score on a task
    places = ranking(means.dropna(), pairs)
    unscored = [name for name in others if name not in references] + list(means.index[means.isna()])
    return Compared(condition, matrix, pairs, pairs.head(0), places, references, unscored)


def _score(run: RunFolder, metric: str) -> None:
    """Compute a metric where it is missing."""
    metrics.get(metric)
    ensure_scored(run)
    records = [record for cell in run.cells() if (record := next(iter(run.scores(cell).values()), None))]
    if any(metric != record["metric"] and metric not in record["metrics"] for record in records):
        first = records[0]
        score_to_read(run, [*metrics.filter_trusted(first["metrics"]), metric], first["taxonomy"], first["threshold"])


def _versions(results: Results) -> dict[str, list[str]]:
    """By the name of a system, what it is called in each run that has it, once each."""
    found: dict[str, dict[str, None]] = {}
    for run, suffix in zip(results.runs, results.suffixes, strict=True):
        for cell in run.cells():
            found.setdefault(cell.system, {})[cell.system + suffix] = None
    return {name: list(called) for name, called in found.items()}


def _wanted(
    versions: Mapping[str, Sequence[str]], systems: tuple[str, str] | None
) -> Sequence[tuple[Hashable, Hashable]]:
    """The pairs to compare: the two systems; or one of them between runs, or all, the later run first.

    Raises:
        UserError: A name is not known, or is that of several systems.
    """
    for name in systems or ():
        if name not in versions:
            raise UserError(unknown("system", name, versions))
        if len(versions[name]) > 1 and systems != (name, name):
            raise UserError(
                f"{name} is in several of the runs; name one of them, or compare it between the runs with "
                f"--systems {name} {name}"
            )
    if systems and systems[0] != systems[1]:
        return [systems]
    chosen = [versions[systems[0]]] if systems else versions.values()
    return [(later, earlier) for called in chosen for earlier, later in combinations(called, 2)]
