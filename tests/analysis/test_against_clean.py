"""A condition against the bare environment: paired by question, and nothing without its partner."""

from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.analysis.against_clean import against_clean, beside, compared
from r_eval.analysis.systems import systems
from r_eval.folder import RunFolder

Make = Callable[..., RunFolder]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    from tests.analysis.conftest import write_run

    return write_run(tmp_path_factory.mktemp("runs") / "run", 6, conditions=("clean", "slow"))


def test_a_pair_rests_on_the_questions_that_both_have() -> None:
    ((found, _),) = compared([({"t": {"a": 0.0, "b": 1.0}}, {"t": {"b": 0.5, "c": 1.0}})], {})
    assert (found.questions, found.difference, found.unpaired_a, found.unpaired_b) == (1, 0.5, 1, 1)


def test_without_a_question_in_common_a_pair_compares_none() -> None:
    ((found, by_task),) = compared([({"t": {"a": 0.0}}, {"t": {"b": 0.5}, "u": {"a": 1.0}})], {})
    assert (found.questions, by_task) == (0, [])


def test_without_any_score_there_is_no_pair() -> None:
    assert compared([({}, {})], {}) == []
    assert compared([], {}) == []


def test_tasks_weigh_the_same() -> None:
    under = {"t": dict.fromkeys("abcd", 0.0), "u": {"a": 1.0}}
    clean = {"t": dict.fromkeys("abcd", 1.0), "u": {"a": 1.0}}
    ((found, by_task),) = compared([(under, clean)], {})
    assert (found.difference, [one.difference for one in by_task]) == (-0.5, [-1.0, 0.0])


def test_pairs_do_not_touch_each_other() -> None:
    one = ({"t": {"a": 0.0, "b": 0.0}}, {"t": {"a": 1.0, "b": 1.0}})
    two = ({"t": {"c": 1.0}, "u": {"a": 1.0}}, {"t": {"c": 1.0}, "u": {"a": 0.0}})
    found = compared([one, two], {})
    alone = [compared([pair], {})[0] for pair in (one, two)]
    for (overall, by_task), (same, of_same) in zip(found, alone, strict=True):
        assert (overall.difference, overall.low, overall.high) == (same.difference, same.low, same.high)
        assert [of.difference for of in by_task] == [of.difference for of in of_same]


def test_beside_is_the_comparison_without_its_test() -> None:
    under = {"t": {"a": 0.0, "b": 1.0, "x": 1.0}, "u": {"a": 0.5, "b": 0.0, "c": 1.0}}
    clean = {"t": {"a": 1.0, "b": 1.0}, "u": {"a": 0.5, "b": 1.0, "c": 1.0}}
    found = beside(under, clean, {})
    ((same, _),) = compared([(under, clean)], {})
    assert found is not None
    for name in ("questions", "mean_a", "mean_b", "difference", "low", "high"):
        assert getattr(found, name) == pytest.approx(getattr(same, name)), name
    assert beside({"t": {"a": 1.0}}, {"u": {"a": 1.0}}, {}) is None


def test_every_system_has_a_line_per_condition_references_too(both: RunFolder) -> None:
    found = against_clean(systems(both), {})
    assert {line.condition for line in found} == {"slow"}
    assert len(found) == 11
    assert {line.workflow for line in found if line.role == "baseline"} == {"direct"}
    oracle = next(line for line in found if line.workflow == "oracle")
    assert (oracle.overall.difference, oracle.overall.adjusted) == (0.0, oracle.overall.p)


def test_questions_that_are_left_out_are_in_no_pair(both: RunFolder) -> None:
    task = "wiki/high-freq"
    every = systems(both)
    found = against_clean(every, {}, {(task, f"q{number}") for number in range(6)})
    assert all(task not in line.overall.tasks for line in found)


def test_a_run_without_clean_has_no_line(tmp_path: Path, make_run: Make) -> None:
    assert against_clean(systems(make_run(tmp_path, 2, conditions=("slow",))), {}) == []
