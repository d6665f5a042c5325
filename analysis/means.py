"""Rows of episodes or questions summed up by system and task: means and ratios with intervals, and counts.

The epochs of a question are averaged first; over all tasks of a system each task has the same weight. The formulas are
those of `estimates`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from r_eval.analysis.estimates import average_by, mean_by
from r_eval.analysis.results import IDENTITY

if TYPE_CHECKING:
    import pandas

ALL_TASKS = "all tasks"
"""In the column `task`, the row over all tasks of a system; there where it has several."""


def ends(*names: str) -> list[str]:
    """The columns of some estimates, each with those of its interval.

    >>> ends("score")
    ['score', 'score_low', 'score_high']
    """
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]


def by_task(
    rows: pandas.DataFrame,
    means: Sequence[str] = (),
    ratios: Mapping[str, tuple[str, str]] | None = None,
    sums: Sequence[str] = (),
    whole: Callable[..., pandas.DataFrame] = average_by,
    further: Sequence[str] = (),
) -> pandas.DataFrame:
    """A row per system and task in the order of the grid, and behind them one over all tasks where there are several.

    Args:
        rows: One per episode or question, with IDENTITY, `task`, `question_id`, `cluster` and the columns asked for.
        means: Columns to average; a row without a value does not count.
        ratios: By the name of the result a column that is summed, and the one it is a share of.
        sums: Columns to add up.
        whole: How the row over all tasks is made of its questions, one of the functions of `estimates`.
        further: Further columns that distinguish rows, such as a group of episodes.

    Returns:
        IDENTITY, `task`, `further`, the sums, `questions`, and each mean and ratio with `_low` and `_high`.
    """
    import pandas

    shares = ratios or {}
    if rows.empty:
        numbers = ends(*means, *shares)
        return pandas.DataFrame(columns=[*IDENTITY, *further, "task", *sums, "questions", *numbers])
    parts = [column for pair in shares.values() for column in pair]
    keys = [*IDENTITY, *further, "task"]
    added = {**dict.fromkeys(means, "mean"), **dict.fromkeys((*parts, *sums), "sum")}
    questions = rows.groupby([*keys, "question_id"], observed=True, sort=False).agg({"cluster": "first", **added})
    questions = questions.reset_index()
    for name, (part, of) in shares.items():
        questions[name] = _linearised(questions, keys, part, of)
    own = _summed(questions, keys, [*means, *shares], sums, mean_by)
    tasks = own.groupby(keys[:-1], observed=True)["task"].transform("nunique")
    found = own.assign(order=own["task"].cat.codes).astype({"task": str})
    if len(several := own.loc[tasks > 1, keys]):
        together = _summed(questions.merge(several, on=keys), keys[:-1], [*means, *shares], sums, whole)
        found = pandas.concat([found, together.assign(order=len(own), task=ALL_TASKS)], ignore_index=True)
    return found.sort_values([*IDENTITY, "order", *further], ignore_index=True).drop(columns="order")


def _summed(
    questions: pandas.DataFrame,
    by: Sequence[str],
    names: Sequence[str],
    sums: Sequence[str],
    estimate: Callable[..., pandas.DataFrame],
) -> pandas.DataFrame:
    keys = list(by)
    groups = questions.groupby(keys, observed=True)
    found = groups[list(sums)].sum() if sums else groups.size().to_frame()[[]]
    found["questions"] = groups.size()
    for name in names:
        found = found.join(estimate(questions, keys, name).set_index(keys)[ends(name)])
    return found.reset_index()


def _linearised(questions: pandas.DataFrame, keys: Sequence[str], part: str, whole: str) -> pandas.Series:
    """A value per question whose mean is the ratio of the sums of two columns, as its variance is to first order.

    A question counts as much as its whole is large (Cochran 1977, section 6.3); one whose whole is 0 has no value.
    Where all wholes are 1 it is the part itself.
    """
    there = questions[whole] > 0
    groups = questions[there].groupby(list(keys), observed=True)
    ratio = groups[part].transform("sum") / groups[whole].transform("sum")
    size = groups[whole].transform("mean")
    return ratio + (questions[part] - ratio * questions[whole]) / size
