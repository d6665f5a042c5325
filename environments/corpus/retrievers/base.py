"""What a retriever is: it finds the chunks that fit a query, the best first.

A retriever that has an index builds it once into a folder and opens it from there, memory-mapped where it is large. One
that joins others (`parts`) has none of its own. Chunks are known by their numbers, from 0 in the corpus's order; equal
scores are in the order of these numbers, so that a ranking is the same on every machine.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Hit(NamedTuple):
    """A chunk that was found: its number, and a score of which only the order means anything."""

    chunk: int
    score: float


class Retriever(abc.ABC):
    """Finds chunks for a query.

    Attributes:
        parts: The retrievers that it joins, opened before it is asked.
    """

    parts: tuple[Retriever, ...] = ()

    @abc.abstractmethod
    def identity(self) -> dict[str, Any]:
        """Everything that decides what is found, besides the chunks; plain data."""

    @abc.abstractmethod
    def search(self, query: str, k: int) -> list[Hit]:
        """The k best chunks for a query, or fewer; called from several threads at once."""


class Indexed(Retriever):
    """A retriever with an index on disk; the folder's name is a hash of the chunks and of `identity`."""

    @abc.abstractmethod
    def build(self, texts: Sequence[str], folder: Path) -> None:
        """Write the index of the chunks into an empty folder."""

    @abc.abstractmethod
    def open(self, texts: Sequence[str], folder: Path) -> None:
        """Make ready to search what `build` wrote for the same chunks."""


def best(scores: NDArray[np.floating[Any]], k: int) -> list[Hit]:
    """The k chunks with the highest scores; of equal ones those with the lower numbers."""
    if k < len(scores):
        limit = np.partition(scores, len(scores) - k)[len(scores) - k]
        chosen = np.flatnonzero(scores >= limit)
    else:
        chosen = np.arange(len(scores))
    order = np.lexsort((chosen, -scores[chosen]))[:k]
    return [Hit(int(chunk), float(scores[chunk])) for chunk in chosen[order]]
