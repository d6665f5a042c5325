"""Random choices that come out the same on every machine and Python version.

Only `random.Random.random` is promised to stay the same between versions, so every choice is made from it
with plain arithmetic; no function of the platform's mathematics library is used.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A stream of choices fixed by its key (a seed and what the choices are for)."""

    __slots__ = ("random",)

    def __init__(self, *key: object) -> None:
        self.random = random.Random("/".join(map(str, key))).random

    def below(self, stop: int) -> int:
        """An integer from 0 to `stop` - 1."""
        return int(self.random() * stop)

    def between(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return low + int(self.random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        return items[int(self.random() * len(items))]

    def pick_early(self, items: Sequence[T]) -> T:
        """One of the items, the first ones more often than the last."""
        first, second = self.random(), self.random()
        return items[int(first * second * len(items))]

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different items (all of them if there are fewer), in random order."""
        pool = list(items)
        for index in range(min(count, len(pool))):
            other = index + int(self.random() * (len(pool) - index))
            pool[index], pool[other] = pool[other], pool[index]
        return pool[:count]
