"""The variants of a record differ in nothing but their values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r_eval.analysis.metrics.qa import covered_match
from r_eval.tasks.placeholders.record import PlaceholderRecord
from r_eval.tasks.placeholders.variants import Variant, variants
from tests.tasks.placeholders.conftest import Make


def draw_variants(
    record: PlaceholderRecord, number: int | None = None, noise: Any = None, **more: Any
) -> list[Variant]:
    return variants(record, number, {"weak": 4, "moderate": 4, "hard": 1} if noise is None else noise, **more)


def test_a_variant_fills_the_right_documents_and_its_answer_with_its_values(make: Make) -> None:
    for variant in draw_variants(make(answer=["X1 & X10"] * 6)):
        right = [variant.documents[place] for place in variant.golden]
        n = variant.number
        assert sorted(right) == [f"Ann{n} built the mill.", f"The mill was built in {1980 + n}."]
        assert (variant.answer, variant.used) == (f"Ann{n} & {1980 + n}", (f"Ann{n}", f"{1980 + n}"))


@pytest.mark.parametrize("resample", [False, True])
def test_noise_and_order_are_the_same_for_all_variants_unless_resampled(make: Make, resample: bool) -> None:
    found = draw_variants(make(), noise={"weak": 3}, resample=resample)
    shown = {tuple("" if place in v.golden else text for place, text in enumerate(v.documents)) for v in found}
    assert (len(shown) > 1) == (len({v.golden for v in found}) > 1) == resample


def test_more_noise_moves_no_document_and_changes_no_variant(make: Make) -> None:
    few, more = (draw_variants(make(), 3, {"weak": n}) for n in (3, 9))
    assert [v.number for v in few] == [v.number for v in more]
    assert [text for text in more[0].documents if text in few[0].documents] == list(few[0].documents)


def test_an_answer_without_a_placeholder_stays_as_it_is_written(make: Make) -> None:
    assert draw_variants(make(answer=["a  & ( b|c)"] * 6))[0].answer == "a  & ( b|c)"


def test_a_value_with_signs_in_it_is_quoted_in_the_answer(make: Make) -> None:
    record = make(placeholders=[{"X1": "AT&T (old)", "X10": "1987"}], answer=["X1 | Ma Bell"])
    (variant,) = draw_variants(record)
    assert variant.answer == '"AT&T (old)" | Ma Bell'
    assert covered_match("It was AT&T (old).", [variant.answer]) == 1


@given(
    st.integers(1, 8), st.dictionaries(st.sampled_from(["weak", "moderate", "hard"]), st.integers(0, 12)), st.integers()
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@pytest.mark.parametrize("resample", [False, True])
def test_right_documents_and_noise_are_all_that_is_shown(
    make: Make, resample: bool, number: int, noise: dict[str, int], seed: int
) -> None:
    for variant in draw_variants(make(), number, noise, resample=resample, seed=seed):
        assert len(set(variant.documents)) == len(variant.documents) == 2 + sum(variant.noise.values())
        assert len(variant.golden) == 2
        assert variant.noise == {
            level: min(noise.get(level, 0), there) for level, there in (("weak", 9), ("moderate", 5), ("hard", 1))
        }
