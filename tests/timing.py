"""How long work takes, measured so that a slow or busy machine does not fail a test.

A bound on time is there to tell linear work from quadratic. It is kept as tight as an idle machine allows. A machine
that other programs keep busy can be several times slower, for moments or for long. So the work is tried again when it
takes too long, and then a yardstick measures beside it how slow the machine is.
"""

from __future__ import annotations

import time
from collections.abc import Callable

YARDSTICK = 0.025  # seconds of processor time that `_yardstick` takes on an idle machine
Clock = Callable[[], float]


def quickest(work: Callable[[], object], enough: float, clock: Clock = time.process_time, tries: int = 4) -> float:
    """The least processor time of a few tries, in seconds; the first that is below `enough` is the last.

    From the second try on, seconds are those of an idle machine: what the yardstick takes longer than it should is
    taken off in proportion. A machine that is faster than usual gains nothing by it.
    """
    best = _seconds(work, clock)
    while best >= enough and tries > 1:
        tries -= 1
        best = min(best, _seconds(work, clock) / slowness(time.process_time))
    return best


def slowness(clock: Clock = time.monotonic) -> float:
    """How many times longer than on an idle machine work takes now; 1 where it takes no longer."""
    return max(1.0, min(_seconds(_yardstick, clock) for _ in range(3)) / YARDSTICK)


def _seconds(work: Callable[[], object], clock: Clock) -> float:
    started = clock()
    work()
    return clock() - started


def _yardstick() -> int:
    return sum(number % 7 for number in range(400_000))
