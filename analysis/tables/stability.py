"""The tables of questions that are asked in variants: scores over samples, and how alike the variants are answered."""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.placeholder_scores import Scored
from r_eval.analysis.stability import Stability
from r_eval.analysis.tables.findings import PLACE, by_condition, ends, place, place_shown, with_ends, with_interval
from r_eval.analysis.tables.scores import percent
from r_eval.analysis.tables.sheet import ABSENT, Sheet

SCORES = "Scores over samples, percent"
TITLE = "Stability over variants, percent"
SHOWN = {
    "all_right": "all right",
    "partly": "partly",
    "all_wrong": "all wrong",
    "flips": "flips",
    "partial_mean": "right of partly",
}
"""Columns with their intervals, with the headings that people read."""
SCORE_NOTES = [
    "The score of a sample is the mean over its variants; scores are means over samples, in percent, with intervals of "
    "95 %. Over all tasks too every sample weighs the same, not every task."
]
NOTES = [
    "Shares of the samples of which several variants are scored, in percent, with intervals of 95 %; the others are "
    "left out. Over all tasks every sample weighs the same.",
    "Flips: how often two variants of a sample, drawn at random, get different verdicts. Right of partly: of the "
    "samples that are partly right, the share of variants that is.",
]


def placeholder_scores_sheet(found: Sequence[Scored]) -> Sheet:
    """A line a system, condition and part, task or all tasks."""
    header = [*PLACE, "part", "samples", "n", "missing", "score", "score_low", "score_high"]
    lines = [
        [
            *(*place(one), one.part, one.samples, one.score.n, one.score.missing, *ends(one.score)),
        ]
        for one in found
    ]
    shown = ["workflow", "llm", "task", "part", "samples", "missing", "score"]
    views = by_condition(SCORES, shown, found, _score_shown, SCORE_NOTES, left=4)
    return Sheet("placeholder_scores", SCORES, header, lines, views, SCORE_NOTES)


def _score_shown(one: Scored) -> list[str]:
    numbers = [str(one.samples), str(one.score.missing), with_interval(one.score)]
    return [*place_shown(one), one.part or "all", *numbers]


def stability_sheet(found: Sequence[Stability]) -> Sheet:
    """A line a system, condition and task, and one over all tasks of a system."""
    variants = list(dict.fromkeys(name for one in found for name in one.by_variant))
    columns = with_ends([*SHOWN, "accuracy"])
    of_variants = [f"variant_{name}" for name in variants]
    header = [*PLACE, "samples", "left_out", *columns, *of_variants]
    lines = [
        [
            *(*place(one), one.samples, one.left_out),
            *(number for name in [*SHOWN, "accuracy"] for number in ends(getattr(one, name))),
            *(percent(one.by_variant[name].mean) if name in one.by_variant else None for name in variants),
        ]
        for one in found
    ]
    shown = ["workflow", "llm", "task", "samples", "left out", *SHOWN.values(), "right by variant"]
    views = by_condition(TITLE, shown, found, _stability_shown, NOTES)
    return Sheet("stability", TITLE, header, lines, views, NOTES)


def _stability_shown(one: Stability) -> list[str]:
    shares = [with_interval(getattr(one, name)) for name in SHOWN]
    by_variant = " / ".join(f"{100 * (of.mean or 0):.1f}" for of in one.by_variant.values()) or ABSENT
    return [*place_shown(one), str(one.samples), str(one.left_out), *shares, by_variant]
