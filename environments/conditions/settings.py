"""Checks of the settings of conditions."""

from __future__ import annotations

import math
from typing import Any


def number(name: str, value: Any, least: float = 0.0, most: float | None = None) -> float:
    """A setting that must be a number within bounds.

    Raises:
        ValueError: It is none.
    """
    bounds = f"of at least {least:g}" if most is None else f"from {least:g} to {most:g}"
    fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not fits or value < least or (most is not None and value > most):
        raise ValueError(f"{name} must be a number {bounds}, not {value!r}")
    return float(value)


def whole(name: str, value: Any) -> int:
    """A setting that must be a whole number of at least 1.

    Raises:
        ValueError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
    return value


def choices(name: str, value: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    """A setting that must be one of some words, or a list of them; in the order of `known`, each once.

    Raises:
        ValueError: It is anything else.
    """
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not given or any(one not in known for one in given):
        raise ValueError(f"{name} must be one or several of {', '.join(known)}, not {value!r}")
    return tuple(one for one in known if one in given)
