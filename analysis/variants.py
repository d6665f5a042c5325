"""Questions that are asked in several variants: scores over samples, and how alike the variants are answered.

A sample is a record of which one question per variant is made: the same words with other values in their placeholders
(`meta` of its questions names `document`, `variant` and `subtask`). As in PRGB, the score of a sample is the mean over
its variants, and that of a task, or of all tasks together, the mean over its samples: a task of 2,042 samples weighs
more there than one of 816. Everywhere else an average over tasks gives each the same weight.

A verdict is that of the response types: right is EM or AM. A variant with several epochs is right where at least half
of them are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from r_eval.analysis.estimates import ALL_TASKS, by_task, ends, mean_by
from r_eval.analysis.frame import NUMBER, TEXT, WHOLE
from r_eval.analysis.results import IDENTITY, Results, once, tidy
from r_eval.analysis.robustness import RIGHT

if TYPE_CHECKING:
    import pandas

_PLACE = dict.fromkeys((*IDENTITY, "task"), TEXT)


class SampleVariant(NamedTuple):
    """Which variant of which sample a question is.

    Attributes:
        sample: The record's id.
        variant: Its name within the sample.
        part: The part of the task that the sample belongs to; "" where the task has none.
    """

    sample: str
    variant: str
    part: str = ""


def variant_of(meta: Mapping[str, Any]) -> SampleVariant | None:
    """What the meta of a question says of its variant; None where it says nothing."""
    sample, name = meta.get("document"), meta.get("variant")
    if not isinstance(sample, str) or not sample or name is None:
        return None
    return SampleVariant(sample, str(name), str(meta.get("subtask") or ""))


def placeholder_scores(results: Results) -> pandas.DataFrame:
    """The scores over samples, by part and task, and over the samples of all tasks.

    `episodes` counts variants with a score, `incomplete` the others that the run asks for; `score_worst` and
    `score_best` are the mean over variants if all of these failed, or succeeded.
    """
    import pandas

    bounds = ("score_worst", "score_best")
    types = {**_PLACE, "part": TEXT, **dict.fromkeys(("samples", "episodes", "incomplete"), WHOLE)}
    types |= dict.fromkeys((*ends("score"), *bounds), NUMBER)
    rows = _asked(results, "score")
    if rows.empty:
        return tidy([], types)
    own = _samples(rows, "score").assign(samples=lambda rows: (rows["episodes"] > 0).astype("int64"))
    sums = ["samples", "episodes", "incomplete", "total"]
    whole = by_task(own, ["score"], sums=sums, whole=mean_by).assign(part="")
    several = own.groupby([*IDENTITY, "task"], observed=True)["part"].transform("nunique") > 1
    parts = by_task(own[several], ["score"], sums=sums, further=["part"])
    found = pandas.concat([parts[parts["task"] != ALL_TASKS], whole], ignore_index=True)
    order = {name: place for place, name in enumerate(whole["task"])}
    keys = {"order": found["task"].map(order), "last": found["part"] == ""}
    found = found.assign(**keys).sort_values([*IDENTITY, *keys], kind="stable")
    variants = found["episodes"] + found["incomplete"]
    found["score_worst"] = found["total"] / variants
    found["score_best"] = found["score_worst"] + found["incomplete"] / variants
    return tidy(found, types)


@once
def stability(results: Results) -> pandas.DataFrame:
    """Of every sample all of whose variants have a verdict: is it right in all of them, in none, or in some?

    `flip_rate` says how often two variants of a sample, drawn at random, get different verdicts;
    `right_of_partly_share` is the share of right variants among the samples that are partly right. Samples with one
    variant, or with one that has no verdict, are counted as `left_out`.
    """
    shares = ["all_right", "partly_right", "all_wrong", "right_of_partly", "right"]
    names = [*(f"{name}_share" for name in shares), "flip_rate"]
    types = {**_PLACE, **dict.fromkeys(("samples", "left_out"), WHOLE), **dict.fromkeys(ends(*names), NUMBER)}
    rows = _asked(results, "right")
    if rows.empty:
        return tidy([], types)
    own = _samples(rows, "right")
    number, right = own["episodes"], own["total"]
    known = (own["incomplete"] == 0) & (number > 1)
    share = (right / number).where(known)
    partly = (share > 0) & (share < 1)
    own = own.assign(
        samples=known.astype("int64"),
        left_out=(~known).astype("int64"),
        all_right_share=(share == 1).where(known).astype("float64"),
        partly_right_share=partly.where(known).astype("float64"),
        all_wrong_share=(share == 0).where(known).astype("float64"),
        right_of_partly_share=share.where(partly),
        right_share=share,
        flip_rate=(2 * right * (number - right) / (number * (number - 1)).clip(lower=1)).where(known),
    )
    return tidy(by_task(own, names, sums=["samples", "left_out"], whole=mean_by), types)


def _asked(results: Results, value: str) -> pandas.DataFrame:
    """A row per system and variant that the run asks for, with the mean of a value over its epochs, if it has one.

    Args:
        value: "score", or "right" for the verdict.
    """
    variants = tidy(list(_variants(results)), dict.fromkeys(("task", "question_id", *SampleVariant._fields), TEXT))
    variants["task"] = variants["task"].astype(results.cells["task"].dtype)
    cells = results.cells.loc[results.cells["expected"].notna(), [*IDENTITY, "task"]]
    rows = cells.merge(variants.drop_duplicates(["task", "question_id"]), on="task")
    episodes = results.episodes[results.episodes["score"].notna()]
    episodes = episodes.assign(right=episodes["response_type"].isin(RIGHT).astype("float64"))
    keys = [*IDENTITY, "task", "question_id"]
    means = episodes.astype({"question_id": TEXT}).groupby(keys, observed=True)[value].mean().reset_index()
    rows = rows.merge(means, on=keys, how="left")
    if value == "right":
        rows[value] = (rows[value] >= 0.5).where(rows[value].notna()).astype("float64")
    rows["question_id"] = rows["cluster"] = rows["task"].astype(str) + "\n" + rows["sample"]
    return rows


def _variants(results: Results) -> Iterator[dict[str, str]]:
    for run in results.runs:
        for entry in run.manifest()["tasks"]:
            for question in run.questions(entry["name"]):
                if (found := variant_of(question.meta)) is not None:
                    yield {"task": entry["name"], "question_id": question.id, **found._asdict()}


def _samples(rows: pandas.DataFrame, value: str) -> pandas.DataFrame:
    """A row per system and sample: the mean and the sum of the value over its variants, and how many have one."""
    keys = [*IDENTITY, "task", "question_id", "cluster", "part"]
    groups = rows.groupby(keys, observed=True, sort=False)[value]
    found = groups.agg(["mean", "sum", "count", "size"]).reset_index()
    found["incomplete"] = found.pop("size") - found["count"]
    return found.rename(columns={"mean": value, "sum": "total", "count": "episodes"})
