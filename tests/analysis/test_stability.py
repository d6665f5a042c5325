"""Stability over the variants of a sample: all right, all wrong, partly right, and how often a verdict flips."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.columns import of_records
from r_eval.analysis.placeholder_scores import Sample, Variant
from r_eval.analysis.scoring import score_episode
from r_eval.analysis.stability import Stability, flip_rate, stability
from r_eval.analysis.systems import System
from r_eval.analysis.tables.stability import stability_sheet
from r_eval.folder import Cell
from r_eval.records import Episode, Outcome

Make = Callable[..., Episode]
ASKED = {"a": "111", "b": "000", "c": "110", "d": "100"}
"""By sample, the verdict of each variant; ! is a failure of the machinery."""


def lines(make: Make, tasks: dict[str, dict[str, str]]) -> list[Stability]:
    made, variants = System("clean", "rag+m", "rag", "m"), {}
    for task, samples in tasks.items():
        asked = [(name, number, verdict) for name, all_ in samples.items() for number, verdict in enumerate(all_)]
        records = [
            score_episode(
                make(
                    question_id=f"{name}#{number}",
                    answer="Nairobi" if verdict == "1" else "Nakuru",
                    outcome=Outcome(kind="llm_failure" if verdict == "!" else "finished"),
                )
            )
            for name, number, verdict in asked
        ]
        made.cells[task] = of_records(Cell("rag", "m", "clean", task), records, len(records))
        variants[task] = {f"{name}#{number}": Variant(name, str(number)) for name, number, _ in asked}
    return stability([made], variants)


def line(make: Make, samples: dict[str, str]) -> Stability:
    (found,) = lines(make, {"t": samples})
    return found


def sample(verdicts: list[float]) -> Sample:
    return Sample("t", "a", "", {str(number): value for number, value in enumerate(verdicts)}, len(verdicts))


def test_samples_are_all_right_all_wrong_or_partly_right(make_episode: Make) -> None:
    found = line(make_episode, ASKED)
    assert (found.all_right.mean, found.all_wrong.mean, found.partly.mean) == (0.25, 0.25, 0.5)
    assert (found.samples, found.left_out) == (4, 0)


def test_of_the_partly_right_the_share_that_is_right(make_episode: Make) -> None:
    assert line(make_episode, ASKED).partial_mean.mean == pytest.approx((2 / 3 + 1 / 3) / 2)


def test_each_variant_has_its_accuracy(make_episode: Make) -> None:
    found = line(make_episode, ASKED)
    assert {name: of.mean for name, of in found.by_variant.items()} == {"0": 0.75, "1": 0.5, "2": 0.25}
    assert found.accuracy.mean == pytest.approx(0.5)


def test_variants_stand_in_the_order_of_their_numbers(make_episode: Make) -> None:
    found = line(make_episode, {"a": "1" * 12})
    assert list(found.by_variant) == [str(number) for number in range(12)]


def test_flips_are_pairs_of_variants_with_different_verdicts(make_episode: Make) -> None:
    assert line(make_episode, ASKED).flips.mean == pytest.approx((0 + 0 + 2 / 3 + 2 / 3) / 4)


def test_the_shares_have_intervals_over_samples(make_episode: Make) -> None:
    found = line(make_episode, {f"{name}{number}": verdicts for name, verdicts in ASKED.items() for number in range(9)})
    for of in (found.all_right, found.all_wrong, found.partly, found.flips, found.accuracy):
        assert (of.questions, of.clusters) == (36, 36)
        assert of.low is not None
        assert of.high is not None
        assert 0 < of.low < (of.mean or 0) < of.high < 1


def test_a_sample_with_a_variant_that_was_stopped_is_left_out_and_counted(make_episode: Make) -> None:
    found = line(make_episode, {"a": "111", "b": "11!"})
    assert (found.samples, found.left_out, found.all_right.mean, found.all_right.missing) == (1, 1, 1.0, 1)
    assert (found.all_right.worst, found.all_right.best) == (0.5, 1.0)


def test_a_sample_with_one_variant_says_nothing(make_episode: Make) -> None:
    found = line(make_episode, {"a": "1"})
    assert (found.samples, found.left_out, found.all_right.mean, found.flips.mean) == (0, 1, None, None)


def test_over_all_tasks_every_sample_weighs_the_same(make_episode: Make) -> None:
    found = lines(make_episode, {"t": {"a": "11"}, "u": {"a": "00", "b": "00", "c": "10"}})
    assert [one.task for one in found] == ["t", "u", ""]
    assert (found[-1].samples, found[-1].all_right.mean, found[-1].partly.mean) == (4, 0.25, 0.25)


def test_the_table_has_empty_fields_where_nothing_is_known(make_episode: Make) -> None:
    found = lines(make_episode, {"t": {"a": "1"}, "u": ASKED})
    sheet = stability_sheet(found)
    first, second = (dict(zip(sheet.header, row, strict=True)) for row in sheet.lines[:2])
    assert (first["all_right"], first["variant_0"], first["left_out"]) == (None, None, 1)
    assert (second["partly"], second["variant_0"]) == ("50.00", "75.00")
    (view,) = sheet.shown()
    assert view.lines[1][-1] == "75.0 / 50.0 / 25.0"
    assert json.dumps(sheet.lines)


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=12))
def test_the_flip_rate_counts_pairs(verdicts: list[float]) -> None:
    pairs = [(one, other) for at, one in enumerate(verdicts) for other in verdicts[at + 1 :]]
    assert flip_rate(sample(verdicts)) == pytest.approx(sum(one != other for one, other in pairs) / len(pairs))
