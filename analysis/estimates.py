"""Means with intervals, group by group: what every table of scores, shares and rates is made of.

Epochs of a question are averaged first, so that each question counts once; `statistics.means` has the intervals.
`by_task` sums up episodes by system and task, and over all tasks of a system, where each task has the same weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from r_eval.analysis.results import IDENTITY
from r_eval.analysis.statistics.means import Floats, Integers, cross, mean_of_groups

if TYPE_CHECKING:
    import pandas

ALL_TASKS = "all tasks"
"""In the column `task`, the row over all tasks of a system; there where it has several."""


def mean_by(
    frame: pandas.DataFrame, by: Sequence[str], value: str = "score", bounded: bool = True, strata: bool = False
) -> pandas.DataFrame:
    """The mean of each group, every question with the same weight.

    Args:
        frame: One row per episode with `task`, `question_id`, `cluster` and the columns named here; a missing value is
            none.
        by: Columns that make a group.
        bounded: Whether values are from 0 to 1, as of `statistics.mean_of_groups`.
        strata: Whether every task of a group has the same weight, and not every question.

    Returns:
        One row per group in the order of first appearance: `by`, the value with `_low` and `_high`, `questions` and
        `clusters`. A group without a value has NaN and 0.
    """
    keys = list(by)
    found = frame.loc[~frame.duplicated(keys), keys].reset_index(drop=True)
    values = frame[value].to_numpy(np.float64, na_value=np.nan)
    of_row, group = cross(_numbers(frame, keys), _numbers(frame, ["task", "question_id"]))
    means = question_means(values, of_row, len(group))
    there = ~np.isnan(means)
    first = np.unique(of_row, return_index=True)[1][there]
    clusters, tasks = _numbers(frame, ["task", "cluster"])[first], _numbers(frame, ["task"])[first]
    number = len(found)
    mean = mean_of_groups(means[there], group[there], number, clusters, tasks if strata else None, bounded=bounded)
    found[value], found[f"{value}_low"], found[f"{value}_high"] = mean.mean, mean.low, mean.high
    return found.assign(questions=mean.questions.astype(np.int64), clusters=mean.clusters.astype(np.int64))


def question_means(values: Floats, of_row: Integers, number: int) -> Floats:
    """The mean of each question over its rows that have a value; NaN where none has.

    Args:
        values: One per row, NaN for none.
        of_row: The question of each row, from 0 to `number` - 1.
    """
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.bincount(of_row[there], values[there], number) / np.bincount(of_row[there], minlength=number)


def _numbers(frame: pandas.DataFrame, columns: Sequence[str]) -> Integers:
    """The number of each row's combination of values, in the order of first appearance; a missing value is a value."""
    import pandas

    found = np.zeros(len(frame), np.int64)
    for column in columns:
        codes, kinds = pandas.factorize(frame[column], use_na_sentinel=False)
        found = pandas.factorize(found * len(kinds) + codes)[0].astype(np.int64)
    return found


def ends(*names: str) -> list[str]:
    """The columns of some estimates, each with those of its interval.

    >>> ends("score")
    ['score', 'score_low', 'score_high']
    """
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]


def by_task(
    rows: pandas.DataFrame,
    means: Sequence[str] = (),
    sums: Sequence[str] = (),
    strata: bool = True,
    further: Sequence[str] = (),
) -> pandas.DataFrame:
    """A row per system and task in the order of the grid, and behind them one over all tasks where there are several.

    Args:
        rows: One per episode or question, with IDENTITY, `task`, `question_id`, `cluster` and the columns named here.
        means: Columns to average; a row without a value does not count.
        sums: Columns to add up.
        strata: Whether every task has the same weight in the row over all tasks, and not every question.
        further: Further columns that distinguish rows, such as a group of episodes.

    Returns:
        IDENTITY, `task`, `further`, the sums, `questions`, and each mean with `_low` and `_high`.
    """
    import pandas

    if rows.empty:
        return pandas.DataFrame(columns=[*IDENTITY, *further, "task", *sums, "questions", *ends(*means)])
    keys = [*IDENTITY, *further, "task"]
    added = {"cluster": "first", **dict.fromkeys(means, "mean"), **dict.fromkeys(sums, "sum")}
    questions = rows.groupby([*keys, "question_id"], observed=True, sort=False).agg(added).reset_index()

    def summed(part: pandas.DataFrame, by: list[str]) -> pandas.DataFrame:
        groups = part.groupby(by, observed=True)
        found = groups[list(sums)].sum().assign(questions=groups.size())
        for name in means:
            found = found.join(mean_by(part, by, name, strata=strata).set_index(by)[ends(name)])
        return found.reset_index()

    own = summed(questions, keys)
    tasks = own.groupby(keys[:-1], observed=True)["task"].transform("nunique")
    found = own.assign(order=own["task"].cat.codes).astype({"task": str})
    if len(several := own.loc[tasks > 1, keys]):
        together = summed(questions.merge(several, on=keys), keys[:-1]).assign(order=len(own), task=ALL_TASKS)
        found = pandas.concat([found, together], ignore_index=True)
    return found.sort_values([*IDENTITY, "order", *further], ignore_index=True).drop(columns="order")
