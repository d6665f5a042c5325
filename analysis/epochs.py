"""The epochs of a question, averaged before anything else is done with them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def over_epochs(values: Iterable[tuple[Key, float]]) -> dict[Key, float]:
    """The mean of each question over its epochs that have a value; questions without any are left out.

    >>> over_epochs([("a", 1.0), ("b", float("nan")), ("a", 0.0)])
    {'a': 0.5}

    Args:
        values: A question and a value an epoch; NaN where it has none.
    """
    found: dict[Key, list[float]] = {}
    for key, value in values:
        if value == value:  # not NaN
            found.setdefault(key, []).append(value)
    return {key: math.fsum(own) / len(own) for key, own in found.items()}
