"""Questions that are asked in several variants: scores over samples, and how alike the variants are answered.

A sample is a record of which one question per variant is made: the same words with other values in their placeholders
(`meta` of its questions names `document`, `variant` and `subtask`). As in PRGB, the score of a sample is the mean over
its variants, and that of a task, or of all tasks together, the mean over its samples: a task of 2,042 samples weighs
more there than one of 816. Everywhere else an average over tasks gives each the same weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from r_eval.analysis.estimates import ALL_TASKS, by_task, ends, mean_by
from r_eval.analysis.frame import NUMBER, TEXT, WHOLE
from r_eval.analysis.results import IDENTITY, Results, tidy
from r_eval.analysis.robustness import RIGHT

if TYPE_CHECKING:
    import pandas

_PLACE = dict.fromkeys((*IDENTITY, "task"), TEXT)


def placeholder_scores(results: Results) -> pandas.DataFrame:
    """The scores over samples, by task and part of it, and over the samples of all tasks.

    `episodes` counts variants with a score, `incomplete` those whose infrastructure failed; `score_worst` and
    `score_best` are the mean over variants if all of these were wrong, or right.
    """
    import pandas

    sums = ["samples", "episodes", "incomplete", "total"]
    types = {**_PLACE, "part": TEXT, **dict.fromkeys(sums[:3], WHOLE)}
    types |= dict.fromkeys((*ends("score"), "score_worst", "score_best"), NUMBER)
    own = _samples(results).assign(samples=lambda rows: (rows["episodes"] > 0).astype("int64"))
    several = own.groupby([*IDENTITY, "task"], observed=True)["part"].transform("nunique") > 1
    rows = pandas.concat([own.assign(part=""), own[several]], ignore_index=True)
    found = by_task(rows, ["score"], sums=sums, whole=mean_by, further=["part"])
    found = found[(found["task"] != ALL_TASKS) | (found["part"] == "")]
    variants = found["episodes"] + found["incomplete"]
    worst = found["total"] / variants
    return tidy(found.assign(score_worst=worst, score_best=worst + found["incomplete"] / variants), types)


def stability(results: Results) -> pandas.DataFrame:
    """Of every sample all of whose variants have a verdict: is it right in all of them, in none, or in some?

    Right is EM or AM, in half of the epochs at least. `right_of_partly_share` is the share of right variants among the
    samples that are partly right. Samples with one variant, or with one without a verdict, are counted as `left_out`.
    """
    names = [f"{name}_share" for name in ("all_right", "partly_right", "all_wrong", "right_of_partly")]
    types = {**_PLACE, **dict.fromkeys(("samples", "left_out"), WHOLE), **dict.fromkeys(ends(*names), NUMBER)}
    own = _samples(results)
    known = (own["incomplete"] == 0) & (own["episodes"] > 1)
    share = own["right"].where(known)
    partly = (share > 0) & (share < 1)
    kinds = zip(names, (share == 1, partly, share == 0), strict=False)
    own = own.assign(samples=known.astype("int64"), left_out=(~known).astype("int64"))
    own = own.assign(**{name: kind.astype("float64").where(known) for name, kind in kinds})
    own[names[3]] = share.where(partly)
    return tidy(by_task(own, names, sums=["samples", "left_out"], whole=mean_by), types)


def _samples(results: Results) -> pandas.DataFrame:
    """A row per system and sample: of its variants the mean and the sum (`total`) of the scores, the share that is
    right, how many have a score (`episodes`) and how many have none."""
    variants = tidy(list(_variants(results)), dict.fromkeys(("task", "question_id", "sample", "part"), TEXT))
    variants["task"] = variants["task"].astype(results.cells["task"].dtype)
    episodes = results.episodes.astype({"question_id": TEXT})
    episodes["right"] = episodes["response_type"].isin(RIGHT).astype("float64").where(episodes["score"].notna())
    rows = episodes.merge(variants.drop_duplicates(["task", "question_id"]), on=["task", "question_id"])
    keys = [*IDENTITY, "task", "part", "sample"]
    each = rows.groupby([*keys, "question_id"], observed=True, sort=False)[["score", "right"]].mean()
    each["right"] = (each["right"] >= 0.5).astype("float64").where(each["right"].notna())
    groups = each.groupby(keys, observed=True, sort=False)
    found = groups.mean().assign(total=groups["score"].sum(), episodes=groups["score"].count())
    found = found.assign(incomplete=groups.size() - found["episodes"]).reset_index()
    return found.assign(cluster=found["sample"], question_id=found["task"].astype(str) + "\n" + found["sample"])


def _variants(results: Results) -> Iterator[dict[str, str]]:
    """The sample, and its part of the task, of each question that is a variant of one."""
    for run in results.runs:
        for entry in run.manifest()["tasks"]:
            for question in run.questions(entry["name"]):
                sample, part = question.meta.get("document"), str(question.meta.get("subtask") or "")
                if isinstance(sample, str) and sample and question.meta.get("variant") is not None:
                    yield {"task": entry["name"], "question_id": question.id, "sample": sample, "part": part}
