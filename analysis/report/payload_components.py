"""What the page says of components: the curves, what to take, and what was claimed."""

from __future__ import annotations

from typing import Any

from r_eval.analysis.claims import Checked
from r_eval.analysis.components import SHARE, Component, Curve, Point, Study
from r_eval.analysis.recommend import Recommendation
from r_eval.analysis.report.analysed import Analysed
from r_eval.analysis.report.payload import rounded
from r_eval.analysis.tables.components import certainty


def components_payload(found: Analysed) -> dict[str, Any]:
    """The parts `studies`, `advice` and `claims` of the page's data; empty lists where nothing was varied."""
    return {
        "studies": [_study(study) for study in found.studies],
        "advice": [_advice(one) for one in found.advice],
        "claims": [_claim(one) for one in found.claims],
    }


def _study(study: Study) -> dict[str, Any]:
    varied = {component.name for component in study.components}
    return {
        "name": study.name,
        "condition": study.condition,
        "protocol": study.protocol,
        "base": [[name, value] for name, value in study.base.items() if name in varied],
        "components": [_component(component) for component in study.components],
    }


def _component(component: Component) -> dict[str, Any]:
    return {
        "name": component.name,
        "values": [
            {"name": value, "base": value == component.base, "moved": component.moved.get(value, "")}
            for value in component.values
        ],
        "numeric": component.numeric,
        "curves": [_curve(component, curve) for curve in component.curves],
    }


def _curve(component: Component, curve: Curve) -> dict[str, Any]:
    return {
        "task": curve.task,
        "metric": curve.metric,
        "unit": "" if curve.unit == SHARE else curve.unit,
        "own": curve.own,
        "points": [_point(point) if (point := curve.of(value)) is not None else None for value in component.values],
    }


def _point(point: Point) -> dict[str, Any]:
    found = point.estimate
    return {
        "mean": rounded(found.mean),
        "low": rounded(found.low),
        "high": rounded(found.high),
        "questions": found.questions,
        "missing": found.missing,
        "source": point.source,
        "table": point.table,
    }


def _advice(one: Recommendation) -> dict[str, Any]:
    return {
        "study": one.study,
        "condition": one.condition,
        "task": one.task,
        "component": one.component,
        "metric": one.metric,
        "published": one.published,
        "best": list(one.best),
        "mean": rounded(one.mean),
        "trend": one.trend,
        "certain": certainty(one),
        "level": list(one.level),
        "choice": one.choice,
        "cheaper": one.cheaper,
        "behind": [
            {
                "value": other.value,
                "mean": rounded(other.mean),
                "difference": rounded(other.difference),
                "low": rounded(other.low),
                "high": rounded(other.high),
                "p": rounded(other.p),
                "questions": other.questions,
                "apart": other.told_apart,
            }
            for other in one.behind
        ],
        "otherwise": [
            {
                "metric": other.metric,
                "value": other.value,
                "difference": rounded(other.difference),
                "apart": other.told_apart,
            }
            for other in one.otherwise
        ],
    }


def _claim(one: Checked) -> dict[str, Any]:
    claim = one.claim
    return {
        "source": claim.source,
        "words": claim.words,
        "component": claim.component,
        "task": claim.task,
        "metric": claim.metric,
        "verdict": one.verdict,
        "figures": one.figures,
    }
