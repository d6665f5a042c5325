"""Invented organisations: the number of one fixes its name, so that a million need not be remembered."""

from __future__ import annotations

import math
from typing import NamedTuple

from .names import ORGANISATIONS, PLACE_ENDS, PLACE_PREFIXES, PLACE_STARTS

_PLACES = len(PLACE_STARTS) * len(PLACE_ENDS)
CAPACITY = _PLACES * len(ORGANISATIONS) * len(PLACE_PREFIXES)


class Organisation(NamedTuple):
    name: str
    kind: str
    """university, laboratory or company"""
    domain: str
    """Mail domain, under the reserved `.example`."""


def organisation(seed: int, number: int) -> Organisation:
    """The organisation with this number in the world of this seed; different numbers, different names.

    The first few thousand numbers have places of their own; later ones share a place but not the name.

    Raises:
        ValueError: More organisations are wanted than there are names (`CAPACITY`).
    """
    if not 0 <= number < CAPACITY:
        raise ValueError(f"at most {CAPACITY:,} organisations can be named; number {number:,} was asked for")
    turn, index = divmod(number, _PLACES)
    step = 1009
    while math.gcd(step, _PLACES) != 1:
        step += 2
    start, end = divmod((index * step + seed * 7919) % _PLACES, len(PLACE_ENDS))
    prefix, kind_turn = divmod(turn, len(ORGANISATIONS))
    pattern, kind, label = ORGANISATIONS[(index + kind_turn) % len(ORGANISATIONS)]
    place = PLACE_PREFIXES[prefix] + PLACE_STARTS[start] + PLACE_ENDS[end]
    return Organisation(pattern.format(place), kind, f"{label}.{place.lower().replace(' ', '-')}.example")
