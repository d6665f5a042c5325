"""The component results of a run that varies settings (`vary` in run.json).

One setting at a time: a value's numbers are those of the workflow that differs from the base in this setting, under the
LLM that all variants ran with. All combinations: a question's number at a value is its mean over the combinations of
the other settings and LLMs, so that values are still paired by question; counted are only the combinations that every
value has, and only the questions that all of these have scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from r_eval.analysis.columns import Shared, clusters
from r_eval.analysis.components import SHARE, Component, Curve, Point, Study, label, ordered, unit_of
from r_eval.analysis.epochs import over_epochs
from r_eval.analysis.estimate import Estimate, of_questions, over_clusters
from r_eval.analysis.scoring import ensure_scored
from r_eval.folder import Cell, RunFolder

LLM = "llm"
TAKEN = ("seconds", "prompt_tokens", "completion_tokens")
"""What an episode took, shown beside the metrics."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A workflow with an LLM.

    Attributes:
        values: By axis; what merely moves along with another setting counts as at the base.
        moved: What moves along ("top_k 16").
    """

    workflow: str
    llm: str
    values: Mapping[str, str]
    moved: str


@dataclass(slots=True)
class _Measured:
    """The scores of a cell on one measure: by question, and how many episodes."""

    scores: dict[str, float]
    total: float
    n: int
    expected: int


def is_sweep(manifest: Mapping[str, Any]) -> bool:
    """Whether a run varies settings."""
    return bool((manifest.get("vary") or {}).get("workflows"))


def sweep_studies(run: RunFolder) -> list[Study]:
    """The component results of a run under each condition; none of a run that varies nothing.

    Raises:
        UserError: The folder is no run, or a record cannot be read.
    """
    manifest = run.manifest()
    if not is_sweep(manifest):
        return []
    ensure_scored(run)
    variants, base, protocol = _variants(manifest)
    shared = clusters(run)
    cells: dict[str, dict[tuple[str, str, str], dict[str, _Measured]]] = {}
    own: dict[str, str] = {}
    known = {(variant.workflow, variant.llm) for variant in variants}
    for cell, entry in zip(run.cells(), manifest["cells"], strict=True):
        if (cell.workflow, cell.llm) in known:
            records = list(run.scores(cell).values())
            if records:
                own[cell.task] = records[0]["metric"]
            measured = _measured(records, int(entry["episodes"]))
            cells.setdefault(cell.condition, {})[cell.workflow, cell.llm, cell.task] = measured
    return [
        Study(
            str(manifest["name"]),
            condition,
            protocol,
            base,
            tuple(_components(variants, base, protocol, found, own, shared)),
            shared,
        )
        for condition, found in cells.items()
    ]


def _variants(manifest: Mapping[str, Any]) -> tuple[list[Variant], dict[str, str], str]:
    """The variants in the grid's order, the base's values by axis, and the protocol."""
    vary = manifest["vary"]
    settings: dict[str, dict[str, str]] = {
        name: {key: label(value) for key, value in entry.items()} for name, entry in vary["workflows"].items()
    }
    base, first = vary["base"], settings[vary["base"]]
    axes = list(dict.fromkeys(key for name in settings for key in _named(name, base, settings[name], first)))
    ran = [Cell(*(entry[key] for key in Cell._fields)) for entry in manifest["cells"]]
    llms = list(dict.fromkeys(cell.llm for cell in ran if cell.workflow in settings))
    variants = []
    for name, own in settings.items():
        named = _named(name, base, own, first)
        moved = [f"{key} {own[key]}" for key in own if own[key] != first.get(key) and key not in named]
        for llm in llms:
            if any(cell.workflow == name and cell.llm == llm for cell in ran):
                values = {axis: (own if axis in named else first).get(axis, "none") for axis in axes}
                variants.append(Variant(name, llm, values | {LLM: llm}, ", ".join(moved)))
    shown = dict(first) | ({LLM: _first_llm(variants, llms)} if len(llms) > 1 else {})
    return variants, shown, str(vary.get("protocol", "one"))


def _named(name: str, base: str, own: Mapping[str, str], first: Mapping[str, str]) -> list[str]:
    """The settings that a variant is about: those that its name says, else all that differ from the base's."""
    differing = [key for key in own if own[key] != first.get(key)]
    said = name.removeprefix(base)
    asked = [key for key in differing if said.startswith(f"@{key}=") or f",{key}=" in said]
    return asked or differing


def _first_llm(variants: Sequence[Variant], llms: Sequence[str]) -> str:
    """The LLM that the variants ran with: the one with most of them, the first of these."""
    counts = {llm: sum(variant.llm == llm for variant in variants) for llm in llms}
    return max(llms, key=lambda llm: counts[llm])


def _measured(records: Sequence[Mapping[str, Any]], expected: int) -> dict[str, _Measured]:
    """Every measure of a cell, by name."""
    found: dict[str, list[tuple[str, float]]] = {}
    for record in records:
        for name, value in _values(record):
            found.setdefault(name, []).append((record["question_id"], value))
    own = {name for record in records[:1] for name in (record["metric"], *record["metrics"])}
    return {
        name: _Measured(
            over_epochs(pairs),
            math.fsum(value for _, value in pairs),
            len(pairs),
            expected if name in own else len(pairs),
        )
        for name, pairs in found.items()
    }


def _values(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The measures that a score record has numbers for."""
    retrieval = record.get("retrieval") or {}
    named: dict[str, Any] = {record["metric"]: record["score"], **record["metrics"]}
    named |= {f"retrieval_{name}": value for name, value in retrieval.items()}
    named |= {"length": record["characters"]} if "characters" in record else {}
    if record["score"] is not None:
        named |= {name: record.get(name) for name in TAKEN}
    for name, value in named.items():
        if isinstance(value, int | float) and math.isfinite(value):
            yield name, float(value)


def _components(
    variants: Sequence[Variant],
    base: Mapping[str, str],
    protocol: str,
    cells: Mapping[tuple[str, str, str], Mapping[str, _Measured]],
    own: Mapping[str, str],
    shared: Shared,
) -> Iterator[Component]:
    """The components with at least two values, in the grid's order, the LLM last."""
    tasks = list(dict.fromkeys(task for _, _, task in cells))
    for axis in dict.fromkeys(axis for variant in variants for axis in variant.values):
        groups = _groups(variants, axis, base, protocol)
        if len(groups) < 2:
            continue
        values, numeric = ordered(list(groups))
        curves = [
            _curve(axis, task, name, own.get(task) == name, {value: groups[value] for value in values}, cells, shared)
            for task in tasks
            for name in _names(cells, task, own)
        ]
        moved = {value: groups[value][0].moved for value in values if protocol == "one" and groups[value][0].moved}
        yield Component(axis, values, numeric, base.get(axis, ""), tuple(curves), moved)


def _groups(variants: Sequence[Variant], axis: str, base: Mapping[str, str], protocol: str) -> dict[str, list[Variant]]:
    """The variants behind each value of an axis: others at the base, or all combinations that each value has."""
    found: dict[str, dict[tuple[str, ...], Variant]] = {}
    for variant in variants:
        others = tuple(value for name, value in variant.values.items() if name != axis)
        at_base = all(value == base.get(name, value) for name, value in variant.values.items() if name != axis)
        if protocol == "cross" or at_base:
            found.setdefault(variant.values[axis], {})[others] = variant
    common = set.intersection(*(set(own) for own in found.values())) if found else set()
    return {value: [own[key] for key in own if key in common] for value, own in found.items() if common}


def _names(
    cells: Mapping[tuple[str, str, str], Mapping[str, _Measured]], task: str, own: Mapping[str, str]
) -> list[str]:
    """The measures of a task: its own metric, further ones, retrieval's, and what an episode took."""
    found = dict.fromkeys(name for (_, _, of), measured in cells.items() if of == task for name in measured)
    return sorted(found, key=lambda name: (name != own.get(task), unit_of(name) != SHARE))


def _curve(
    axis: str,
    task: str,
    metric: str,
    own: bool,
    groups: Mapping[str, Sequence[Variant]],
    cells: Mapping[tuple[str, str, str], Mapping[str, _Measured]],
    shared: Shared,
) -> Curve:
    unit = unit_of(metric)
    points = []
    for value, variants in groups.items():
        parts = [cells.get((variant.workflow, variant.llm, task), {}).get(metric) for variant in variants]
        there = [part for part in parts if part is not None]
        scores = _marginal(there) if len(there) == len(parts) else {}
        points.append(Point(value, _estimate(scores, there, unit, shared.get(task, {})), scores))
    return Curve(axis, task, metric, unit, own, tuple(points))


def _marginal(parts: Sequence[_Measured]) -> dict[str, float]:
    """The mean of each question over the combinations; only the questions that all have."""
    first, *rest = (part.scores for part in parts)
    return {
        question: math.fsum([score, *(other[question] for other in rest)]) / len(parts)
        for question, score in first.items()
        if all(question in other for other in rest)
    }


def _estimate(
    scores: Mapping[str, float], parts: Sequence[_Measured], unit: str, shared: Mapping[str, str]
) -> Estimate:
    n = sum(part.n for part in parts)
    expected = max(n, sum(part.expected for part in parts))
    if unit != SHARE:
        return _of_numbers(scores, n, expected, shared)
    found = of_questions(list(scores), list(scores.values()), len(scores), shared)
    if not n:
        return replace(found, n=0, expected=expected)
    total = math.fsum(part.total for part in parts)
    return replace(found, n=n, expected=expected, worst=total / expected, best=(total + expected - n) / expected)


def _of_numbers(scores: Mapping[str, float], n: int, expected: int, shared: Mapping[str, str]) -> Estimate:
    """The estimate of numbers that are no shares: Student's interval, with the jackknife variance over clusters."""
    from r_eval.analysis.statistics.intervals import student

    if not scores:
        return Estimate(None, 0, expected, None, None, None, None, 0, 1)
    mean, variance, number = over_clusters(scores, shared)
    half = student(number - 1) * math.sqrt(variance) if number > 1 else math.nan
    low, high = (max(0.0, mean - half), mean + half) if number > 1 else (None, None)
    return Estimate(mean, n, expected, low, high, None, None, questions=len(scores), clusters=number)
