"""What the deployment view is given: what each system reaches and takes, and the same where questions are drawn again.

The page judges any bounds that a person sets, so it gets the resamples themselves: in each the quality, the seconds and
the money of every contender. They are those of `deployment.choose`, so the page and the terminal name the same shares.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r_eval.analysis.columns import Shared
from r_eval.analysis.deployment import PAPER_CONNECTIONS, Deployed, Percentiles, deployment, percentiles, resampled
from r_eval.analysis.report.analysed import Analysed
from r_eval.analysis.report.payload import rounded
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.systems import System

BOUNDED = ("seconds", "cost")
"""Numbers that a person may bound, beside the quality."""
NUMBERS = ("seconds", "queue", "retry", "calls", "prompt_tokens", "completion_tokens", "cost")


def deployment_payload(aggregates: Aggregates, found: Analysed) -> dict[str, Any]:
    """What the page is given of deployment, condition by condition."""
    places = aggregates.row_places
    taken = {(one.condition, one.system): one for one in deployment(found.systems)}
    return {
        "paperConnections": PAPER_CONNECTIONS,
        "conditions": [
            _condition(
                condition,
                [
                    (places[condition, system.name], system, taken[condition, system.name])
                    for system in found.systems
                    if system.condition == condition and (condition, system.name) in places
                ],
                found.shared,
            )
            for condition in aggregates.conditions
        ],
    }


def _condition(condition: str, own: Sequence[tuple[int, System, Deployed]], shared: Shared) -> dict[str, Any]:
    contenders = [
        (place, system)
        for place, system, one in own
        if one.role != "reference" and one.complete and one.quality is not None
    ]
    return {
        "name": condition,
        "systems": [_system(place, system, one) for place, system, one in own],
        "resampled": _resampled(contenders, shared),
    }


def _system(place: int, system: System, one: Deployed) -> dict[str, Any]:
    tokens = percentiles(system.scored("prompt_tokens") + system.scored("completion_tokens"))
    return {
        "row": place,
        "reference": one.role == "reference",
        "complete": one.complete,
        "quality": one.quality,  # whole: of equals the quicker is best
        "episodes": one.episodes,
        "replayed": one.replayed,
        **{name: _percentiles(getattr(one, name)) for name in NUMBERS},
        "tokens": _percentiles(tokens),
        "connections": one.connections,
        "parameters": one.parameters,
        "notes": one.notes,
    }


def _percentiles(found: Percentiles | None) -> dict[str, float | None] | None:
    """None stays None: not known is not 0."""
    if found is None:
        return None
    return {name: rounded(getattr(found, name)) for name in ("mean", "p50", "p90", "p95", "p99")}


def _resampled(contenders: Sequence[tuple[int, System]], shared: Shared) -> dict[str, Any] | None:
    """The resamples of the contenders, each with its row; None where there is no contender."""
    if not contenders:
        return None
    found = resampled([system for _, system in contenders], BOUNDED, shared)
    return {
        "rows": [place for place, _ in contenders],
        "questions": found.questions,
        "resamples": len(found.quality),
        "quality": packed(found.quality),
        **{name: packed(values) for name, values in found.numbers.items()},
    }


def packed(values: NDArray[np.float64]) -> str:
    """An array as base64 of little-endian 32-bit floats, row after row: a third of the size of written numbers."""
    return base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")
