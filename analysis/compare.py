"""Paired comparisons of systems: every difference, p-value and rank interval that a view shows.

`score_matrix` is where questions are paired: questions x systems, the epochs of each question averaged. A family of
comparisons is what one call computes: p-values and intervals hold for all of it (`statistics.comparisons`).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from r_eval.analysis.estimates import question_means
from r_eval.analysis.statistics import ScorePairs, compare, rank_intervals

if TYPE_CHECKING:
    import pandas

    from r_eval.analysis.results import Results

By = Literal["all", "domain", "level"]
ALL: Literal["all"] = "all"
"""The group of all tasks."""
LEVELS = ("KS", "KU", "KA")
RENAMED = {"strata": "tasks", "mean_a": "score_a", "mean_b": "score_b"}
RENAMED |= {"low": "difference_low", "high": "difference_high"}
"""Fields of `statistics.Comparisons` by the names of their columns, where these differ."""


@dataclass(frozen=True)
class ScoreMatrix:
    """The scores of several systems on the same questions.

    Attributes:
        columns: What is compared: systems, or whatever the matrix was made by.
        task, question_id, cluster: Of each question; equal cluster numbers share a document.
        scores: Questions x columns, NaN where there is none.
    """

    columns: list[Hashable]
    task: NDArray[np.object_]
    question_id: NDArray[np.object_]
    cluster: NDArray[np.int64]
    scores: NDArray[np.float64]

    @property
    def tasks(self) -> list[str]:
        """The tasks of the questions, in their order."""
        return list(dict.fromkeys(self.task.tolist()))

    def column(self, key: Hashable) -> NDArray[np.float64]:
        """The scores of one column; of one that is not there, NaN."""
        if key not in self.columns:
            return np.full(len(self.task), np.nan)
        return np.asarray(self.scores[:, self.columns.index(key)])


def score_matrix(
    frame: pandas.DataFrame, by: str | Sequence[str] = "system", value: str = "score", cluster: str = "cluster"
) -> ScoreMatrix:
    """Pair the questions of a frame with one row per episode.

    Args:
        by: The column whose values are compared; of several columns, the tuples of their values.
        value: The column that is compared; a missing value is none.
        cluster: The column that says what questions of a task share: "cluster" (a document) or "template".
    """
    names = [by] if isinstance(by, str) else list(by)
    made = frame.groupby(names, observed=True, sort=False, dropna=False)
    keys = frame.loc[~frame.duplicated(names), names].astype(object).itertuples(index=False, name=None)
    columns: list[Hashable] = [key[0] if isinstance(by, str) else tuple(key) for key in keys]
    questions = frame.groupby(["task", "question_id"], observed=True, sort=False)
    of_row = questions.ngroup().to_numpy(np.int64)
    first = frame.loc[~frame.duplicated(["task", "question_id"])]
    if cluster == "template":  # a question without a template counts as its document
        template, document = (first[name].astype(object) for name in ("template", "cluster"))
        first = first.assign(template=template.where(template.fillna("") != "", document))
    made_of = first.groupby(["task", cluster], observed=True, sort=False, dropna=False)
    shared = np.asarray(made_of.ngroup(), np.int64)
    cells = of_row * len(columns) + made.ngroup().to_numpy(np.int64)
    means = question_means(frame[value].to_numpy(np.float64, na_value=np.nan), cells, len(first) * len(columns))
    tasks, ids = (first[name].astype(object).to_numpy() for name in ("task", "question_id"))
    return ScoreMatrix(columns, tasks, ids, shared, means.reshape(len(first), len(columns)))


def compare_columns(
    matrix: ScoreMatrix,
    pairs: Sequence[tuple[Hashable, Hashable]],
    groups: Mapping[str, Sequence[str]] | None = None,
) -> pandas.DataFrame:
    """Compare pairs of columns, over all tasks or over each group of tasks; all of it is one family.

    Args:
        groups: Tasks by the name of the group; None: one group "all".

    Returns:
        One row per pair and group, the groups of a pair together: `a`, `b`, `group`, `tasks`, `questions`, `clusters`,
        `score_a`, `score_b`, `difference` (a less b) with its interval, `p`, `p_adjusted`, `significant`, `mde`; as of
        `statistics.Comparisons`.
    """
    import pandas

    keys = list(dict.fromkeys(key for pair in pairs for key in pair))
    scores = np.column_stack([matrix.column(key) for key in keys]) if keys else matrix.scores[:, :0]
    left, right = ([keys.index(pair[side]) for pair in pairs] for side in (0, 1))
    chosen = {ALL: matrix.tasks} if groups is None else groups
    samples = []
    for tasks in chosen.values():
        rows = np.isin(matrix.task.astype(str), list(tasks))
        own = scores[rows]
        samples.append(ScorePairs(own[:, left], own[:, right], matrix.cluster[rows], matrix.task[rows].astype(str)))
    names = [(a, b, group) for group in chosen for a, b in pairs]
    sides = pandas.DataFrame(names, columns=["a", "b", "group"], dtype=object)
    found = sides.join(pandas.DataFrame(compare(*samples)._asdict()).rename(columns=RENAMED))
    order = np.arange(len(found)).reshape(len(chosen), len(pairs)).T.ravel()
    return found.iloc[order].reset_index(drop=True)


def pairs(results: Results, by: By = "all") -> pandas.DataFrame:
    """All pairs of systems but the references under each condition; the pairs and groups of a condition are one family.

    Args:
        by: Over all tasks; or over those of each domain, or of each domain and level.

    Returns:
        As of `compare_columns`, with `condition`, `system_a`, `system_b`; questions that several runs word differently
        are left out.
    """
    import pandas

    name = f"compare.pairs({by})"
    if name not in results.found:
        episodes, changed = comparable(results)
        episodes = episodes[(episodes["role"] != "reference") & episodes["score"].notna()]
        groups = {one.name: one.tasks for one in groups_of(results.tasks) if one.by == by}
        matrices = {str(key): score_matrix(own) for key, own in episodes.groupby("condition", observed=True)}
        parts = [
            compare_columns(one, list(combinations(one.columns, 2)), groups).assign(condition=condition)
            for condition, one in (matrices or {"": score_matrix(episodes)}).items()
        ]
        found = pandas.concat(parts).rename(columns={"a": "system_a", "b": "system_b"})
        found.insert(0, "condition", found.pop("condition"))
        texts = ("condition", "system_a", "system_b", "group")
        found = found[found["questions"] > 0].astype(dict.fromkeys(texts, "string")).reset_index(drop=True)
        found.attrs["notes"] = [left_out(changed)] if changed else []
        results.found[name] = found
    return results.found[name].copy()


def mirrored(pairs: pandas.DataFrame, a: str = "system_a", b: str = "system_b") -> pandas.DataFrame:
    """Pairs in both directions, so that each side can be looked up as `a`."""
    import pandas

    exchanged = {a: b, "score_a": "score_b", "difference_low": "difference_high"}
    turned = pairs.rename(columns=exchanged | {new: old for old, new in exchanged.items()})
    differences = ["difference", "difference_low", "difference_high"]
    return pandas.concat([pairs, turned.assign(**{name: -turned[name] for name in differences})], ignore_index=True)


def ranking(scores: pandas.Series, pairs: pandas.DataFrame) -> pandas.DataFrame:
    """Rank systems by their scores, with the ranks that the significant differences leave open.

    Args:
        scores: By system.
        pairs: Of one condition, as of `pairs` or `compare_columns`; systems without a pair are not significantly
            different.

    Returns:
        `system`, `score`, `rank`, `rank_low`, `rank_high`, best first.
    """
    import pandas

    place = {system: number for number, system in enumerate(scores.index)}
    better = np.zeros((len(place), len(place)), bool)
    names = ("system_a", "system_b") if "system_a" in pairs else ("a", "b")
    for a, b, difference in pairs.loc[pairs["significant"], [*names, "difference"]].itertuples(index=False):
        if a in place and b in place:
            winner, loser = (a, b) if difference > 0 else (b, a)
            better[place[winner], place[loser]] = True
    rank, low, high = rank_intervals(scores.to_numpy(np.float64), better)
    frame = pandas.DataFrame({"system": list(place), "score": scores.to_numpy(), "rank": rank})
    return frame.assign(rank_low=low, rank_high=high).sort_values("rank", kind="stable", ignore_index=True)


def comparable(results: Results) -> tuple[pandas.DataFrame, int]:
    """The episodes whose questions all runs word alike, and how many other questions there are.

    Questions (task, id) that several runs word differently are not the same question.
    """
    texts: dict[tuple[str, str], set[str]] = {}
    for run in results.runs if len(results.runs) > 1 else ():
        for task in run.manifest()["tasks"]:
            for question in run.questions(task["name"]):
                texts.setdefault((task["name"], question.id), set()).add(question.question)
    changed = {key for key, found in texts.items() if len(found) > 1}
    keys = zip(results.episodes["task"], results.episodes["question_id"], strict=True)
    is_same = np.fromiter((key not in changed for key in keys), bool) if changed else slice(None)
    return results.episodes[is_same], len(changed)


def left_out(questions: int) -> str:
    """That questions are worded differently."""
    return f"{questions} question{'' if questions == 1 else 's'} left out: worded differently in another run."


class TaskGroup(NamedTuple):
    """Tasks over which scores are averaged and compared; `domain` and `level` are "" where there may be several."""

    by: By
    name: str
    domain: str
    level: str
    tasks: list[str]


def groups_of(tasks: pandas.DataFrame) -> list[TaskGroup]:
    """Each domain's levels, each domain, and everything."""
    own = {str(domain): rows for domain, rows in tasks.groupby("domain", sort=False)}
    levels = [
        TaskGroup("level", f"{domain}_{level}", domain, level, names)
        for domain, rows in own.items()
        for level in LEVELS
        if (names := rows.loc[rows["level"] == level, "name"].tolist())
    ]
    domains = [TaskGroup("domain", domain, domain, "", rows["name"].tolist()) for domain, rows in own.items()]
    return [*levels, *domains, TaskGroup(ALL, ALL, "", "", tasks["name"].tolist())]
