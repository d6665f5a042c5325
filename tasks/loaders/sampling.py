"""Takes the N questions that come first in a seed's order out of a stream, with no more than N of them in memory."""

from __future__ import annotations

import heapq
from typing import Generic, TypeVar

from r_eval.tasks.questions import place_in_order

T = TypeVar("T")


class Sample(Generic[T]):
    """The first `size` of all that were offered, in the order that a seed gives their ids; all of them without a size.

    What an id is worth does not depend on the others, so that new ones do not reshuffle the rest. Of an id that
    stands twice the first is kept.
    """

    def __init__(self, size: int | None, seed: int) -> None:
        self.size, self.seed = size, seed
        self._heap: list[tuple[int, int, str]] = []
        self._kept: dict[str, T] = {}

    def offer(self, id: str, thing: T) -> bool:
        """Take something in; False where its id is there already."""
        if id in self._kept:
            return False
        if self.size is None:
            self._kept[id] = thing
            return True
        place = -int.from_bytes(place_in_order(id, self.seed))
        if len(self._heap) < self.size:
            heapq.heappush(self._heap, (place, len(self._heap), id))
        elif self._heap and place > self._heap[0][0]:
            del self._kept[heapq.heappushpop(self._heap, (place, 0, id))[2]]
        else:
            return True
        self._kept[id] = thing
        return True

    def kept(self) -> dict[str, T]:
        """What was kept, by id, in the order of arrival."""
        return self._kept
