"""Component results: how each metric of a task goes with the values of one setting, all others held or averaged over.

A component is a setting that a run varies (chunk size, retriever, top-k, embedding), or the LLM. Plain data and the
order of values; `sweeps` fills it from a run's scores, `published_components` from a file of published means.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from r_eval.analysis.estimate import Estimate

SHARE = "share"
"""The unit of a metric from 0 to 1, of which more is better. Other units are only shown: no value is best by them."""
UNITS = {
    "length": "characters",
    "characters": "characters",
    "seconds": "seconds",
    "prompt_tokens": "tokens",
    "completion_tokens": "tokens",
}
"""Names of what is no share, with its unit."""

Scores = Mapping[str, float]
"""By question id."""


@dataclass(frozen=True, slots=True)
class Point:
    """What one value of a component came to.

    Attributes:
        estimate: In the curve's unit; `n` and `expected` count episodes, of every combination that stands behind it.
        scores: The mean of each question, over its epochs and the combinations; none of published results.
        table, source: Where a published number stands, and where it was read.
    """

    value: str
    estimate: Estimate
    scores: Scores = field(default_factory=dict)
    table: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """A metric on a task over the values of a component, in the component's order.

    Attributes:
        unit: SHARE, or one of UNITS.
        own: Whether the metric is the task's own one, by which values are recommended.
    """

    component: str
    task: str
    metric: str
    unit: str
    own: bool
    points: tuple[Point, ...]

    def of(self, value: str) -> Point | None:
        """The point of a value."""
        return next((point for point in self.points if point.value == value), None)


@dataclass(frozen=True, slots=True)
class Component:
    """A setting that was varied.

    Attributes:
        values: As people read them, in order.
        numeric: Whether the values are numbers (or per cents), so that one can say rising and falling.
        base: The value at which it is held while another one varies; "" where none is known.
        moved: By value, the other settings that move along with it ("top_k 16").
    """

    name: str
    values: tuple[str, ...]
    numeric: bool
    base: str
    curves: tuple[Curve, ...]
    moved: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Study:
    """The components of one run under one condition.

    Attributes:
        name: The run's.
        protocol: "one" (one setting at a time, from the base), "cross" (all combinations) or "" (published results).
        base: The settings at the base, as people read them; the LLM among them where several were run.
        clusters: By task and question, what a question shares with others.
    """

    name: str
    condition: str
    protocol: str
    base: Mapping[str, str]
    components: tuple[Component, ...]
    clusters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def published(self) -> bool:
        """Whether only means are known, without episodes."""
        return not self.protocol


def unit_of(metric: str) -> str:
    """The unit of a metric's numbers."""
    return UNITS.get(metric, SHARE)


def label(value: Any) -> str:
    """A setting's value as people read it.

    >>> label(64), label("10%"), label(None), label(["a", "b"])
    ('64', '10%', 'none', '["a", "b"]')
    """
    if isinstance(value, str):
        return value
    if value is None:
        return "none"
    return json.dumps(value, ensure_ascii=False, default=str)


def ordered(values: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """The values in order, and whether they are numbers: these ascend, as per cents do; else as they come.

    A 0 without a sign stands beside per cents as well as beside plain numbers.

    >>> ordered(["128", "8", "64"]), ordered(["0", "70%", "10%"]), ordered(["dense", "bm25"])
    ((('8', '64', '128'), True), (('0', '10%', '70%'), True), (('dense', 'bm25'), False))
    """
    numbers = [_number(value) for value in values]
    signs = {value.strip().endswith("%") for value, number in zip(values, numbers, strict=True) if number}
    if not values or len(signs) > 1 or None in numbers:
        return tuple(values), False
    return tuple(value for _, value in sorted(zip(numbers, values, strict=True), key=lambda pair: pair[0] or 0.0)), True


def trend(component: Component, curve: Curve) -> str:
    """How the means go with ascending values: rising, falling, level or mixed; "" for names, and for a single mean."""
    means = [round(point.estimate.mean, 12) for point in curve.points if point.estimate.mean is not None]
    if not component.numeric or len(means) < 2:
        return ""
    steps = [later - earlier for earlier, later in pairwise(means)]
    if all(step == 0 for step in steps):
        return "level"
    if all(step >= 0 for step in steps):
        return "rising"
    return "falling" if all(step <= 0 for step in steps) else "mixed"


def _number(text: str) -> float | None:
    try:
        number = float(text.strip().removesuffix("%"))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
