"""The tables of questions that are asked in variants: scores over samples, and how alike the variants are answered."""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.estimate import Estimate
from r_eval.analysis.placeholder_scores import Scored
from r_eval.analysis.stability import Stability
from r_eval.analysis.tables.scores import NAMES, percent
from r_eval.analysis.tables.sheet import ABSENT, Sheet, View

ALL_TASKS = "all tasks"
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
    header = [*NAMES, "condition", "task", "part", "samples", "n", "missing", "score", "score_low", "score_high"]
    lines = [
        [
            *(one.system, one.workflow, one.llm, one.condition, one.task or ALL_TASKS, one.part),
            *(one.samples, one.score.n, one.score.missing, *ends(one.score)),
        ]
        for one in found
    ]
    shown = ["workflow", "llm", "task", "part", "samples", "missing", "score"]
    views = [
        View(
            _title("Scores over samples, percent", condition, found),
            shown,
            [
                [
                    *(one.workflow, one.llm, one.task or ALL_TASKS, one.part or "all"),
                    *(str(one.samples), str(one.score.missing), with_interval(one.score)),
                ]
                for one in found
                if one.condition == condition
            ],
            notes=SCORE_NOTES,
            left=4,
        )
        for condition in _conditions(found)
    ]
    return Sheet("placeholder_scores", "Scores over samples, percent", header, lines, views, SCORE_NOTES)


def stability_sheet(found: Sequence[Stability]) -> Sheet:
    """A line a system, condition and task, and one over all tasks of a system."""
    variants = list(dict.fromkeys(name for one in found for name in one.by_variant))
    columns = [f"{name}{end}" for name in [*SHOWN, "accuracy"] for end in ("", "_low", "_high")]
    of_variants = [f"variant_{name}" for name in variants]
    header = [*NAMES, "condition", "task", "samples", "left_out", *columns, *of_variants]
    lines = [
        [
            *(one.system, one.workflow, one.llm, one.condition, one.task or ALL_TASKS, one.samples, one.left_out),
            *(number for name in [*SHOWN, "accuracy"] for number in ends(getattr(one, name))),
            *(percent(one.by_variant[name].mean) if name in one.by_variant else None for name in variants),
        ]
        for one in found
    ]
    views = [_stability_view(condition, found) for condition in _conditions(found)]
    return Sheet("stability", "Stability over variants, percent", header, lines, views, NOTES)


def _stability_view(condition: str, found: Sequence[Stability]) -> View:
    lines = [
        [
            *(one.workflow, one.llm, one.task or ALL_TASKS, str(one.samples), str(one.left_out)),
            *(with_interval(getattr(one, name)) for name in SHOWN),
            " / ".join(f"{100 * (of.mean or 0):.1f}" for of in one.by_variant.values()) or ABSENT,
        ]
        for one in found
        if one.condition == condition
    ]
    header = ["workflow", "llm", "task", "samples", "left out", *SHOWN.values(), "right by variant"]
    return View(_title("Stability over variants, percent", condition, found), header, lines, notes=NOTES, left=3)


def _conditions(found: Sequence[Scored] | Sequence[Stability]) -> list[str]:
    return list(dict.fromkeys(one.condition for one in found))


def _title(title: str, condition: str, found: Sequence[Scored] | Sequence[Stability]) -> str:
    return f"{title}, {condition}" if len(_conditions(found)) > 1 else title


def ends(found: Estimate) -> tuple[str | None, str | None, str | None]:
    """A mean and the ends of its interval as percent; None where there is none."""
    return percent(found.mean), percent(found.low), percent(found.high)


def with_interval(found: Estimate) -> str:
    """A mean with its interval, as people read it."""
    if found.mean is None:
        return ABSENT
    if found.low is None or found.high is None:
        return f"{100 * found.mean:.1f}"
    return f"{100 * found.mean:.1f} ({100 * found.low:.1f} to {100 * found.high:.1f})"
