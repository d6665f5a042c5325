"""Means with intervals, group by group: what every table of scores, shares and rates is made of.

Epochs of a question are averaged first, so that each question counts once; `statistics.means` has the intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from r_eval.analysis.statistics.means import Floats, Integers, cross, mean_of_groups

if TYPE_CHECKING:
    import pandas


def mean_by(
    frame: pandas.DataFrame, by: Sequence[str], value: str = "score", bounded: bool = True, strata: bool = False
) -> pandas.DataFrame:
    """The mean of each group, every question with the same weight.

    Args:
        frame: One row per episode with `task`, `question_id`, `cluster` and the columns named here; a missing value is
            none.
        by: Columns that make a group.
        bounded: Whether values are from 0 to 1, as of `statistics.mean`.
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


def average_by(
    frame: pandas.DataFrame, by: Sequence[str], value: str = "score", bounded: bool = True
) -> pandas.DataFrame:
    """The mean over tasks of each group, every task with the same weight; as `mean_by`, and with `tasks`."""
    keys = list(by)
    there = frame.loc[frame[value].notna(), [*keys, "task"]].drop_duplicates()
    tasks = there.groupby(keys, observed=True, sort=False, dropna=False).size().rename("tasks").reset_index()
    found = mean_by(frame, keys, value, bounded, strata=True).merge(tasks, how="left", on=keys)
    return found.fillna({"tasks": 0}).astype({"tasks": "int64"})


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
