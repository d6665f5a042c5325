"""The variants of a record differ in nothing but their values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r_eval.analysis.metrics.qa import covered_match
from r_eval.records import Question
from r_eval.tasks.placeholders.record import PlaceholderRecord, substitute
from r_eval.tasks.placeholders.variants import variants
from tests.tasks.placeholders.conftest import Make


def draw_variants(
    record: PlaceholderRecord, number: int | None = None, noise: Any = None, **more: Any
) -> list[Question]:
    return variants(record, number, {"weak": 4, "moderate": 4, "hard": 1} if noise is None else noise, **more)


def documents(question: Question) -> list[str]:
    return [document.text for document in question.context]


def test_a_variant_fills_the_right_documents_and_its_answer_with_its_values(make: Make) -> None:
    for question in draw_variants(make(answer=["X1 & X10"] * 6)):
        n = question.meta["variant"]
        assert sorted(question.meta["sources"]) == [f"Ann{n} built the mill.", f"The mill was built in {1980 + n}."]
        assert (question.answers, question.evidence) == ([f"Ann{n} & {1980 + n}"], [f"Ann{n}", f"{1980 + n}"])


@pytest.mark.parametrize("resample", [False, True])
def test_noise_and_order_are_the_same_for_all_variants_unless_resampled(make: Make, resample: bool) -> None:
    found = draw_variants(make(), noise={"weak": 3}, resample=resample)
    shown = {tuple("" if text in q.meta["sources"] else text for text in documents(q)) for q in found}
    assert (len(shown) > 1) == (len({tuple(q.meta["text_ids"]) for q in found}) > 1) == resample


def test_more_noise_moves_no_document_and_changes_no_variant(make: Make) -> None:
    few, more = (draw_variants(make(), 3, {"weak": n}) for n in (3, 9))
    assert [q.id for q in few] == [q.id for q in more]
    assert [text for text in documents(more[0]) if text in documents(few[0])] == documents(few[0])


def test_a_value_with_signs_in_it_is_escaped_in_the_answer(make: Make) -> None:
    record = make(placeholders=[{"X1": "AT&T (old)", "X10": "1987"}], answer=["X1 | Ma Bell"])
    (question,) = draw_variants(record)
    assert [covered_match(text, question.answers) for text in ("It was AT&T (old).", "Ma Bell", "AT")] == [1, 1, 0]


def test_a_number_stands_for_its_text(make: Make) -> None:
    record = make(placeholders=[{"X1": "Ann", "X10": 1987}], answer=[1987])
    assert (record.placeholder_item.placeholders[0]["X10"], record.placeholder_item.answer) == ("1987", ["1987"])


@given(
    st.integers(1, 8), st.dictionaries(st.sampled_from(["weak", "moderate", "hard"]), st.integers(0, 12)), st.integers()
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
def test_right_documents_and_noise_are_all_that_is_shown(
    make: Make, number: int, noise: dict[str, int], seed: int
) -> None:
    for question in draw_variants(make(), number, noise, seed=seed):
        counts = question.meta["noise"]
        assert len(set(documents(question))) == len(question.context) == 2 + sum(counts.values())
        assert counts == {
            level: min(noise.get(level, 0), there) for level, there in (("weak", 9), ("moderate", 5), ("hard", 1))
        }


@pytest.mark.parametrize(
    ("text", "values", "filled"),
    [
        ("X1 met X10.", {"X1": "Ann", "X10": "Bo"}, "Ann met Bo."),
        ("Maxima saw Max.", {"Max": "Bo"}, "Maxima saw Bo."),
        ("X1_b", {"X1": "Ann"}, "X1_b"),
        ("<name> and <name>s", {"<name>": "Ann"}, "Ann and Anns"),
        ("5 of 5.5, 1,5 and 55", {"5": "6"}, "6 of 5.5, 1,5 and 55"),
        ("公司X1的总部", {"X1": "青禾"}, "公司青禾的总部"),
        ("青禾公司在青禾", {"青禾": "白石", "青禾公司": "长河厂"}, "长河厂在白石"),
        ("X1", {"X1": "X2", "X2": "Ann"}, "X2"),
        ("X1", {"X1": r"\1 \g<0>"}, r"\1 \g<0>"),
    ],
)
def test_a_placeholder_is_filled_where_it_stands_as_a_word(text: str, values: dict[str, str], filled: str) -> None:
    assert substitute(text, values) == filled
