"""Stability: does a system that answers one variant of a question right answer the others too?

The variants of a sample ask the same of other values (`placeholder_scores`). A system that reads answers all of them
alike; one that is right now and then has read nothing, or has luck. Of every sample all of whose variants have a score:

- all right, all wrong, or partly right: three shares that add up to one;
- among the partly right ones, the share of their variants that is right;
- flips: how often two of its variants, drawn at random, get different verdicts.

A verdict is that of the response types: right is EM or AM. A variant with several epochs is right where at least half
of them are. Samples with one variant, or with one that has no score, say nothing here and are counted as left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from r_eval.analysis.columns import Columns, Floats
from r_eval.analysis.estimate import Estimate, of_questions
from r_eval.analysis.placeholder_scores import Sample, Variants, mean_of, samples_of
from r_eval.analysis.responses import TYPES
from r_eval.analysis.systems import System

RIGHT = tuple(TYPES.index(type_) for type_ in ("EM", "AM"))
"""Places of the response types whose answer matches."""


@dataclass(frozen=True, slots=True)
class Stability:
    """How alike one system answers the variants of one task, or of all tasks together.

    Attributes:
        task: "" for all tasks: over the samples of all of them.
        samples: Those with several variants, all scored.
        left_out: The others.
        all_right, all_wrong, partly: Shares of the samples.
        partial_mean: Of the partly right samples, the share of variants that is right.
        flips: Share of pairs of variants with different verdicts, over samples.
        accuracy: Share of right answers, over samples.
        by_variant: The same of each variant.
    """

    condition: str
    system: str
    workflow: str
    llm: str
    task: str
    samples: int
    left_out: int
    all_right: Estimate
    all_wrong: Estimate
    partly: Estimate
    partial_mean: Estimate
    flips: Estimate
    accuracy: Estimate
    by_variant: Mapping[str, Estimate]


def rights(cell: Columns) -> Floats:
    """1 where an episode's answer matches, 0 where it does not, NaN where the machinery failed."""
    return np.where(np.isnan(cell.scores), np.nan, np.isin(cell.types, RIGHT).astype(np.float64))


def stability(systems: Sequence[System], variants: Variants) -> list[Stability]:
    """For each system a line a task that has variants, then one over the samples of several of them."""
    lines: list[Stability] = []
    for system in systems:
        of = {
            task: samples_of(cell, rights(cell), variants[task])
            for task, cell in system.cells.items()
            if task in variants
        }
        lines += [_line(system, task, samples) for task, samples in of.items()]
        if len(of) > 1:
            lines.append(_line(system, "", [sample for samples in of.values() for sample in samples]))
    return lines


def _line(system: System, task: str, samples: Sequence[Sample]) -> Stability:
    known = [_verdicts(sample) for sample in samples if 1 < sample.asked == len(sample.values)]
    partly = [sample for sample in known if 0 < _share(sample) < 1]
    return Stability(
        *(system.condition, system.name, system.workflow, system.llm, task),
        samples=len(known),
        left_out=len(samples) - len(known),
        all_right=_mean(known, lambda sample: float(_share(sample) == 1), len(samples)),
        all_wrong=_mean(known, lambda sample: float(_share(sample) == 0), len(samples)),
        partly=_mean(known, lambda sample: float(0 < _share(sample) < 1), len(samples)),
        partial_mean=_mean(partly, _share, len(partly)),
        flips=_mean(known, flip_rate, len(samples)),
        accuracy=mean_of(known),
        by_variant={name: _of_variant(known, name) for name in _names(known)},
    )


def _of_variant(samples: Sequence[Sample], name: str) -> Estimate:
    own = [sample for sample in samples if name in sample.values]
    return _mean(own, lambda sample: sample.values[name], len(own))


def _verdicts(sample: Sample) -> Sample:
    values = {name: float(value >= 0.5) for name, value in sample.values.items()}
    return Sample(sample.task, sample.name, sample.part, values, sample.asked)


def _share(sample: Sample) -> float:
    return sum(sample.values.values()) / len(sample.values)


def flip_rate(sample: Sample) -> float:
    """How often two different variants of a sample, drawn at random, have different verdicts.

    Of three variants it is 2/3 where they are not all alike; of two, 1.
    """
    number, right = len(sample.values), sum(sample.values.values())
    return 2 * right * (number - right) / (number * (number - 1))


def _mean(samples: Sequence[Sample], value: Callable[[Sample], float], expected: int) -> Estimate:
    return of_questions([sample.key for sample in samples], [value(sample) for sample in samples], expected)


def _names(samples: Sequence[Sample]) -> list[str]:
    """The names of the variants, numbers in their order and before words."""
    names = {name for sample in samples for name in sample.values}
    return sorted(names, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name))
