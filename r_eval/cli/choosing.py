"""What `r-eval report --max-seconds --max-usd` says: the best system within bounds, and how sure that is."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from r_eval.errors import UserError
from r_eval.folder import RunFolder

if TYPE_CHECKING:
    from r_eval.analysis.deployment import Choice, Deployed

SURE = 0.95
SHOWN = 5
"""Rivals, and systems left out, that are named."""


def say_choice(folders: Sequence[RunFolder], max_seconds: float | None, max_usd: float | None) -> None:
    """Print the best system within bounds, for each condition.

    Raises:
        UserError: None of the folders is a run with episodes.
    """
    from r_eval.analysis.deployment import choose
    from r_eval.analysis.published import is_published
    from r_eval.analysis.systems import clusters_of, systems

    runs = [folder for folder in folders if not is_published(folder.path)]
    if not runs:
        raise UserError(f"{folders[0].path} holds published means; --max-seconds and --max-usd need episodes, of a run")
    choices = choose(systems(*runs), max_seconds, max_usd, clusters_of(runs))
    for choice in choices:
        within = f" ({choice.condition})" if len(choices) > 1 else ""
        sys.stdout.write("\n" + "\n".join(_lines(choice, _bounds(max_seconds, max_usd) + within)) + "\n")


def _bounds(max_seconds: float | None, max_usd: float | None) -> str:
    given = [f"{max_seconds:g} s"] if max_seconds is not None else []
    given += [f"{max_usd:g} USD"] if max_usd is not None else []
    return f"Within {' and '.join(given)} a question, on average"


def _lines(choice: Choice, bounds: str) -> Iterator[str]:
    if choice.best is None:
        yield f"{bounds}: no system fits."
    else:
        yield f"{bounds}: {choice.best.system}"
        yield f"  {_ends(choice.best)}"
        yield f"  {_sure(choice)}"
    if choice.best is None and choice.rivals:
        some = _percent(1 - choice.none_fits)
        yield f"  Some system fits in {some} of {choice.resamples:,} resamples of the {choice.questions} questions."
    for name, share in choice.rivals[:SHOWN]:
        yield f"  {name} is the best in {_percent(share)}"
    if choice.best is not None and choice.none_fits > 0:
        yield f"  none fits in {_percent(choice.none_fits)}"
    for name, why in choice.beyond[:SHOWN]:
        yield f"  beyond: {name} ({why})"
    if len(choice.beyond) > SHOWN:
        yield f"  beyond: {len(choice.beyond) - SHOWN} more"
    for name, why in choice.left_out:
        yield f"  left out: {name} ({why})"
    for note in choice.best.notes if choice.best is not None else ():
        yield f"  {note}"


def _ends(best: Deployed) -> str:
    parts = [f"quality {100 * (best.quality or 0.0):.1f} %"]
    if best.seconds is not None:
        seconds = best.seconds
        parts.append(f"{seconds.mean:.3g} s (median {seconds.p50:.3g}, 95th percentile {seconds.p95:.3g})")
    parts.append(f"{best.cost.mean:.3g} USD" if best.cost is not None else "price not known")
    return ", ".join(parts)


def _sure(choice: Choice) -> str:
    verdict = "" if choice.share >= SURE else ", so that this is not certain"
    return (
        f"It is the best in {_percent(choice.share)} of {choice.resamples:,} resamples of "
        f"the {choice.questions} questions{verdict}."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
