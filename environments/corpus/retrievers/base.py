"""What a retriever is: it finds the chunks that fit a query, best first.

Chunks are known by their numbers, from 0 in the corpus's order; equal scores are in the order of these numbers, so that
a ranking is the same on every machine.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.floating[Any]]


class Hit(NamedTuple):
    """A chunk that was found: its number, and a score of which only the order means anything."""

    chunk: int
    score: float


class Retriever(abc.ABC):
    """Finds chunks for a query; opened once, then searched by several threads at once.

    Attributes:
        parts: The retrievers that it joins, opened before it.
    """

    parts: tuple[Retriever, ...] = ()

    @abc.abstractmethod
    def identity(self) -> dict[str, Any]:
        """Everything that decides what is found, besides the chunks; plain data."""

    def build(self, texts: Sequence[str], folder: Path) -> None:  # noqa: B027  many need none
        """Write an index of the chunks, if it needs one, into an empty folder."""

    def open(self, texts: Sequence[str], folder: Path) -> None:  # noqa: B027  many need nothing
        """Get ready to search the chunks, whose index, if any, is in the folder."""

    @abc.abstractmethod
    def search(self, query: str, k: int) -> list[Hit]:
        """The k best chunks for a query, or fewer."""


def best(scores: Scores, k: int, top: Callable[[Scores, int], tuple[Any, Any]] | None = None) -> list[Hit]:
    """The k chunks with the highest scores; of equal ones those with the lower numbers.

    Args:
        scores: One per chunk.
        k: How many are wanted.
        top: Finds the k highest scores and their places, in any order; by default numpy does.
    """
    values, places = (top or _top)(scores, min(k + 1, len(scores)))
    ranked = sorted(zip((-values).tolist(), places.tolist(), strict=True))
    if len(ranked) > k and ranked[k - 1][0] == ranked[k][0]:  # more chunks have this score than there is room for
        limit = -ranked[k][0]
        equal = np.flatnonzero(scores == limit).tolist()
        ranked = [one for one in ranked if one[0] < -limit] + [(-limit, place) for place in equal]
    return [Hit(place, -value) for value, place in ranked[:k]]


def _top(scores: Scores, k: int) -> tuple[Scores, NDArray[np.integer[Any]]]:
    places = np.argpartition(scores, len(scores) - k)[len(scores) - k :]
    return scores[places], places
