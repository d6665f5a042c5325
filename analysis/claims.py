"""What somebody says of components, held against the figures: confirmed, contradicted, or not to be checked.

A folder with component results may have a `claims.csv`, columns `source, component, task, metric, claim, value, words`.
A claim is `rises` or `falls` (of the metric, with ascending values), or `best` (the value has the highest mean). It is
checked against the means that are there; what is said of figures that are not there stays open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from r_eval.analysis.components import SHARE, Component, Curve, Point, Study, trend
from r_eval.analysis.csv_lines import table_lines
from r_eval.errors import UserError

FILE = "claims.csv"
COLUMNS = ("source", "component", "task", "metric", "claim", "value", "words")
TRENDS = {"rises": "rising", "falls": "falling"}
CONFIRMED, CONTRADICTED, OPEN = "confirmed", "contradicted", "cannot be checked"


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that is said.

    Attributes:
        claim: "rises", "falls" or "best".
        value: Of "best"; "" of the others.
        words: What is said, for people.
    """

    source: str
    component: str
    task: str
    metric: str
    claim: str
    value: str
    words: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A claim with what the figures say.

    Attributes:
        verdict: CONFIRMED, CONTRADICTED or OPEN.
        figures: The means that decide, or what is not there.
    """

    claim: Claim
    verdict: str
    figures: str


def read_claims(folder: Path) -> list[Claim]:
    """The claims of a folder; none where it has no claims.csv.

    Raises:
        UserError: The file lacks a column, or a line cannot be read.
    """
    path = folder / FILE
    if not path.is_file():
        return []
    found = []
    for number, line in table_lines(path, COLUMNS, empty=("value",)):
        claim = Claim(**line)
        if claim.claim not in (*TRENDS, "best"):
            raise UserError(f"{path}:{number}: claim is {claim.claim!r}; expected rises, falls or best")
        if (claim.claim == "best") != bool(claim.value):
            raise UserError(f"{path}:{number}: 'best' names a value, 'rises' and 'falls' name none")
        found.append(claim)
    return found


def check(claims: Sequence[Claim], study: Study) -> list[Checked]:
    """Each claim against the figures of a study."""
    return [_checked(claim, study) for claim in claims]


def _checked(claim: Claim, study: Study) -> Checked:
    component = next((one for one in study.components if one.name == claim.component), None)
    curves = component.curves if component is not None else ()
    curve = next((one for one in curves if (one.task, one.metric) == (claim.task, claim.metric)), None)
    points = [point for point in curve.points if point.estimate.mean is not None] if curve is not None else []
    if component is None or curve is None or not points:
        return Checked(claim, OPEN, f"no figure of {claim.metric} on {claim.task} by {claim.component} is there")
    figures = "; ".join(f"{point.value}: {_number(curve, point)}" for point in points)
    if len(points) < 2:
        return Checked(claim, OPEN, f"one figure alone is there ({figures})")
    if claim.claim == "best":
        return _best(claim, curve, points, figures)
    return _trend(claim, component, curve, figures)


def _best(claim: Claim, curve: Curve, points: Sequence[Point], figures: str) -> Checked:
    named = curve.of(claim.value)
    if named is None or named.estimate.mean is None:
        return Checked(claim, OPEN, f"the figure of {claim.value} is not there ({figures})")
    highest = max(point.estimate.mean or 0.0 for point in points)
    return Checked(claim, CONFIRMED if named.estimate.mean >= highest else CONTRADICTED, figures)


def _trend(claim: Claim, component: Component, curve: Curve, figures: str) -> Checked:
    found = trend(component, curve)
    if not found:
        return Checked(claim, OPEN, f"the values of {component.name} are names, which have no order")
    return Checked(claim, CONFIRMED if found == TRENDS[claim.claim] else CONTRADICTED, f"{found}: {figures}")


def _number(curve: Curve, point: Point) -> str:
    mean = point.estimate.mean or 0.0
    return f"{100 * mean:.2f}" if curve.unit == SHARE else f"{mean:.1f}"
