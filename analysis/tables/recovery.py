"""The table of failures: how many calls failed, what the agents did about it, and what it cost them."""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.recovery import REACTIONS, Group, Recovery
from r_eval.analysis.tables.against_clean import difference, difference_text, means
from r_eval.analysis.tables.findings import PLACE, ends, place, place_shown, with_ends, with_interval
from r_eval.analysis.tables.sheet import Sheet, View

TITLE = "Calls that fail, percent"
NOTES = [
    "Failed: of the calls that reached the environment, those that failed for the moment or whose result was cut off. "
    "After such a failure: retried (the same call again, at any later step), another (another call after the next "
    "reply), answered, or stopped. Success: of the retries, those that did not fail. Percent, with intervals of 95 %; "
    "over all tasks a mean over tasks.",
    "Met: episodes with a failure, spared: those without. Longer episodes meet more failures, so they are not alike. "
    "Against clean: the score less that of the same system on the same questions under clean, paired by question.",
]
OF_GROUP = ("episodes", "score", "score_low", "score_high", "clean", "difference", "low", "high", "questions")


def recovery_sheet(found: Sequence[Recovery]) -> Sheet:
    """A line a system, condition and task, and one over all tasks of a system."""
    counted = ["calls", "failures", *REACTIONS, "succeeded"]
    shares = with_ends(["failed_share", *(f"{kind}_share" for kind in REACTIONS), "success"])
    groups = [f"{group}_{name}" for group in ("met", "spared") for name in OF_GROUP]
    header = [*PLACE, *counted, *shares, *groups]
    lines = [
        [
            *(*place(one), one.calls, one.failures, *(one.counts[kind] for kind in REACTIONS), one.succeeded),
            *(end for of in (one.failed, *(one.shares[kind] for kind in REACTIONS), one.success) for end in ends(of)),
            *_group(one.met),
            *_group(one.spared),
        ]
        for one in found
    ]
    views = [view for condition in dict.fromkeys(one.condition for one in found) for view in _views(condition, found)]
    return Sheet("recovery", TITLE, header, lines, views, NOTES)


def _group(group: Group) -> list[object]:
    pair = group.clean
    return [
        *(group.episodes, *ends(group.score), means(pair)[1]),
        *difference(pair),
        pair.questions if pair else None,
    ]


def _views(condition: str, found: Sequence[Recovery]) -> list[View]:
    """What the agents did, and what it cost."""
    own = [one for one in found if one.condition == condition]
    did = [
        [
            *(*place_shown(one), str(one.calls)),
            *map(with_interval, (one.failed, *(one.shares[kind] for kind in REACTIONS), one.success)),
        ]
        for one in own
    ]
    cost = [
        [
            *place_shown(one),
            *(
                text
                for group in (one.met, one.spared)
                for text in (str(group.episodes), with_interval(group.score), difference_text(group.clean))
            ),
        ]
        for one in own
    ]
    names = ["workflow", "llm", "task"]
    costs = [f"{group}{name}" for group in ("met", "spared") for name in ("", ": score", ": against clean")]
    return [
        View(f"{TITLE}, {condition}", [*names, "calls", "failed", *REACTIONS, "success"], did, notes=NOTES[:1], left=3),
        View(f"What failures cost, percent, {condition}", [*names, *costs], cost, notes=NOTES[1:], left=3),
    ]
