"""Scores of questions that are asked in several variants, aggregated as PRGB does: over samples, not over tasks.

A sample is a record of which one question a variant is made: the same words with other values in their placeholders
(`meta` of its questions names `document`, `variant` and `subtask`). The score of a sample is the mean over its
variants. A task's is the mean over its samples, and so is that of all tasks together: a task of 2,042 samples weighs
more there than one of 816. Everywhere else an average over tasks gives each the same weight, so the two differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from r_eval.analysis.columns import Columns, Floats
from r_eval.analysis.estimate import Estimate, of_questions
from r_eval.analysis.systems import System
from r_eval.errors import UserError
from r_eval.folder import RunFolder


@dataclass(frozen=True, slots=True)
class Variant:
    """Which variant of which sample a question is.

    Attributes:
        sample: The record's id.
        name: Of the variant, within its sample.
        part: The part of the task that the sample belongs to; "" where the task has none.
    """

    sample: str
    name: str
    part: str = ""


Variants = Mapping[str, Mapping[str, Variant]]
"""By task and question id."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The variants of one sample, as one system answered them.

    Attributes:
        task, name, part: Where it belongs; `name` is unique within the task.
        values: By variant, the mean over its scored epochs; only of those that have a score.
        asked: Variants that the run asks for.
    """

    task: str
    name: str
    part: str
    values: Mapping[str, float]
    asked: int

    @property
    def key(self) -> str:
        """Its name among the samples of all tasks."""
        return f"{self.task}\n{self.name}"


@dataclass(frozen=True, slots=True)
class Scored:
    """The score of one system on a part of a task, on a task, or on all of them together.

    Attributes:
        task: "" for all tasks.
        part: "" for all of the task.
        samples: With a score.
        score: Over samples; its `n` and `expected` count variants.
    """

    condition: str
    system: str
    workflow: str
    llm: str
    task: str
    part: str
    samples: int
    score: Estimate


def variants_of(runs: Sequence[RunFolder]) -> dict[str, dict[str, Variant]]:
    """The variants among the questions of some runs; tasks without any are not in it."""
    found: dict[str, dict[str, Variant]] = {}
    for run in runs:
        for entry in run.manifest()["tasks"]:
            for question in run.questions(entry["name"]):
                if (variant := variant_of(question.meta)) is not None:
                    found.setdefault(entry["name"], {}).setdefault(question.id, variant)
    return found


def variant_of(meta: Mapping[str, Any]) -> Variant | None:
    """What the meta of a question says of its variant; None where it says nothing."""
    sample, name = meta.get("document"), meta.get("variant")
    if not isinstance(sample, str) or not sample or name is None:
        return None
    return Variant(sample, str(name), str(meta.get("subtask") or ""))


def samples_of(cell: Columns, values: Floats, variants: Mapping[str, Variant]) -> list[Sample]:
    """The samples of one cell in the order asked, those without any score among them.

    Args:
        values: A value an episode; NaN where it has none.
    """
    means = cell.by_question(values)
    asked: dict[str, dict[str, Variant]] = {}
    for question, variant in variants.items():
        asked.setdefault(variant.sample, {})[question] = variant
    return [
        Sample(
            *(cell.cell.task, name, next(iter(own.values())).part),
            values={variant.name: means[question] for question, variant in own.items() if question in means},
            asked=len(own),
        )
        for name, own in asked.items()
    ]


def placeholder_scores(systems: Sequence[System], variants: Variants) -> list[Scored]:
    """For each system a line a part and task that has variants, then one over the samples of all of them."""
    lines: list[Scored] = []
    for system in systems:
        of = {
            task: samples_of(cell, cell.scores, variants[task])
            for task, cell in system.cells.items()
            if task in variants
        }
        for task, samples in of.items():
            parts = list(dict.fromkeys(sample.part for sample in samples))
            for part in parts if len(parts) > 1 else ():
                lines.append(_line(system, task, part, [sample for sample in samples if sample.part == part]))
            lines.append(_line(system, task, "", samples))
        if len(of) > 1:
            lines.append(_line(system, "", "", [sample for samples in of.values() for sample in samples]))
    return lines


def _line(system: System, task: str, part: str, samples: Sequence[Sample]) -> Scored:
    names = system.condition, system.name, system.workflow, system.llm
    return Scored(*names, task, part, sum(bool(sample.values) for sample in samples), mean_of(samples))


def mean_of(samples: Iterable[Sample]) -> Estimate:
    """The mean over samples of their mean over variants; each sample is one independent question."""
    own = list(samples)
    pairs = [(sample.key, value) for sample in own for value in sample.values.values()]
    return of_questions([key for key, _ in pairs], [value for _, value in pairs], sum(sample.asked for sample in own))


def weighted(means: Mapping[str, float], sizes: Mapping[str, int]) -> float:
    """The mean over samples of which only the means of the parts and their numbers of samples are known.

    >>> round(weighted({"a": 74.07, "b": 39.66, "c": 28.60}, {"a": 500, "b": 495, "c": 500}), 2)
    47.47

    Raises:
        UserError: The parts are not the same in both, or there are no samples.
    """
    if set(means) != set(sizes):
        odd = sorted(set(means) ^ set(sizes))
        raise UserError(f"parts with a mean and parts with a size differ: {', '.join(odd)}; name both for each part")
    total = sum(sizes.values())
    if total < 1:
        raise UserError("no samples: a mean over samples needs at least one")
    return math.fsum(means[part] * sizes[part] for part in means) / total


def attainable(score: float, tries: int, decimals: int = 2) -> bool:
    """Whether right-or-wrong verdicts of so many tries can have this mean, in percent and rounded.

    A score that cannot was mistyped, or is the mean of something else.

    >>> attainable(33.33, 3), attainable(33.34, 3)
    (True, False)
    """
    if tries < 1 or not np.isfinite(score):
        return False
    near = math.floor(score * tries / 100)
    half = 0.5 * 10.0**-decimals + 1e-9
    return any(0 <= right <= tries and abs(100 * right / tries - score) <= half for right in (near, near + 1))
