"""An axis of costs: where it is broken, and which of its parts are logarithmic.

Systems lie orders apart (a small model on a laptop, a large one with a search of fifty calls). On one linear axis the
cheap ones fall on one spot, so an axis is broken where nothing lies between them and the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

EMPTY = 4.0
"""From which ratio between neighbours on an axis may be broken between them."""
SPREAD = 20.0
"""Largest over smallest cost from which an axis is broken, and a part of it logarithmic."""
MOST = 3
"""Parts of an axis."""
MARGIN = 0.12


class Part(NamedTuple):
    """A part of an axis.

    Attributes:
        low, high: Its ends.
        systems: How many lie in it.
    """

    low: float
    high: float
    logarithmic: bool
    systems: int


def parts(spans: Sequence[tuple[float, float]]) -> list[Part]:
    """The parts of an axis, from the left.

    Args:
        spans: The least and the largest positive number that a system shows; none of them is cut in two.

    Example:
        >>> [(round(part.low, 2), round(part.high, 2)) for part in parts([(1.0, 2.0), (1.5, 3.0), (100.0, 120.0)])]
        [(0.76, 3.24), (97.6, 122.4)]
    """
    joined: list[list[tuple[float, float]]] = []
    for span in sorted(spans):
        if joined and span[0] < EMPTY * max(high for _, high in joined[-1]):
            joined[-1].append(span)
        else:
            joined.append([span])
    low, high = min(low for low, _ in spans), max(high for _, high in spans)
    if high / low <= SPREAD:
        return [Part(0.0, (1 + MARGIN / 2) * high, False, len(spans))]
    while len(joined) > MOST:  # the narrowest of the gaps goes
        gaps = [joined[k + 1][0][0] / max(high for _, high in joined[k]) for k in range(len(joined) - 1)]
        place = gaps.index(min(gaps))
        joined[place : place + 2] = [joined[place] + joined[place + 1]]
    return [_part(group) for group in joined]


def _part(spans: Sequence[tuple[float, float]]) -> Part:
    low, high = min(low for low, _ in spans), max(high for _, high in spans)
    if high / low > SPREAD:
        return Part(low / 1.5, high * 1.5, True, len(spans))
    margin = MARGIN * (high - low) or MARGIN * high
    return Part(low - min(margin, low / 2), high + margin, False, len(spans))
