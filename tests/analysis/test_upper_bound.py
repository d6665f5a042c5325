"""The best of all systems by question, and what each one adds to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from r_eval.analysis.columns import of_records
from r_eval.analysis.systems import System, systems
from r_eval.analysis.upper_bound import UpperBound, upper_bounds
from r_eval.folder import Cell, RunFolder


def system(name: str, *tasks: Sequence[float | None], reference: bool = False) -> System:
    """A system with these scores on the questions of task t0, t1, ...; None is a failure of the machinery."""
    made = System("clean", f"w+{name}", "w", name, "reference" if reference else "system")
    for number, scores in enumerate(tasks):
        records = [
            {"question_id": f"q{place}", "epoch": 0, "score": score, "response_type": "EM", "outcome": "finished"}
            | {"outcome_cause": "", "metrics": {}}
            for place, score in enumerate(scores)
        ]
        made.cells[f"t{number}"] = of_records(Cell("w", name, "clean", f"t{number}"), records, len(records))
    return made


def bound_of(*found: System) -> UpperBound:
    (bound,) = upper_bounds(found)
    return bound


def test_each_question_counts_with_its_best_system() -> None:
    bound = bound_of(system("a", [1, 0, 0]), system("b", [0, 1, 0]))
    assert (bound.mean, bound.questions, bound.incomplete) == (pytest.approx(2 / 3), 3, 0)


def test_tasks_count_alike_whatever_their_size() -> None:
    assert bound_of(system("a", [1, 1, 1, 1], [0])).mean == 0.5


def test_a_system_adds_what_it_alone_gets_right() -> None:
    bound = bound_of(system("a", [1, 1, 0, 0]), system("b", [0, 1, 1, 0]), system("c", [0, 1, 0, 0]))
    assert {one.system: one.drop for one in bound.contributions} == {"w+a": 0.25, "w+b": 0.25, "w+c": 0.0}


def test_the_drop_is_the_bound_less_the_bound_without_it() -> None:
    rng = np.random.default_rng(3)
    found = [system(name, rng.random(30).tolist(), rng.random(7).tolist()) for name in "abcde"]
    whole = bound_of(*found)
    for one in whole.contributions:
        without = bound_of(*(other for other in found if other.name != one.system))
        assert one.drop == pytest.approx(whole.mean - without.mean)


def test_the_greedy_order_begins_with_the_best_and_ends_at_the_bound() -> None:
    bound = bound_of(system("a", [1, 0, 0, 0]), system("b", [0, 1, 1, 0]), system("c", [0, 1, 1, 0.0]))
    assert [(one.system, one.place, one.reached) for one in bound.contributions] == [
        ("w+b", 1, 0.5),
        ("w+a", 2, 0.75),
        ("w+c", 3, 0.75),
    ]


def test_a_failure_of_the_machinery_is_no_0_but_counted() -> None:
    bound = bound_of(system("a", [None, 1]), system("b", [None, None]))
    assert (bound.mean, bound.questions, bound.incomplete) == (1.0, 1, 1)


def test_references_take_no_part() -> None:
    assert bound_of(system("a", [0, 1]), system("gold", [1, 1], reference=True)).mean == 0.5


def test_nothing_scored_has_no_bound() -> None:
    assert upper_bounds([system("a", [None])]) == []


def test_a_run_is_bounded_by_at_least_its_best_system(run: RunFolder) -> None:
    bound = bound_of(*systems(run))
    assert len(bound.contributions) == 10
    assert bound.mean >= max(one.alone for one in bound.contributions)
    assert set(bound.tasks) == {"wiki/high-freq", "wiki/hotpotqa", "aminer/soay-easy", "aminer/soay-hard"}
