"""The variants of a record differ in nothing but their values."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r_eval.analysis.metrics.qa import covered_match
from r_eval.seeds import Seeds
from r_eval.tasks.placeholders.variants import Sampling, drawn, shuffled, variants
from tests.tasks.placeholders.conftest import Make

ALL = Sampling(variants=None)
SEEDS = Seeds(run=0, question="filter-1", epoch=0)


def test_a_variant_fills_the_right_documents_and_its_answer_with_its_values(make: Make) -> None:
    for variant in variants(make(answer=["X1 & X10"] * 6), ALL):
        right = [variant.documents[place] for place in variant.golden]
        n = variant.number
        assert sorted(right) == [f"Ann{n} built the mill.", f"The mill was built in {1980 + n}."]
        assert (variant.answer, variant.used) == (f"Ann{n} & {1980 + n}", (f"Ann{n}", f"{1980 + n}"))


def test_the_number_that_is_wanted_is_taken_or_all_that_there_are(make: Make) -> None:
    assert len(variants(make(), Sampling(variants=4))) == 4
    assert [v.number for v in variants(make(), Sampling(variants=9))] == [1, 2, 3, 4, 5, 6]
    assert [v.number for v in variants(make(), ALL)] == [1, 2, 3, 4, 5, 6]


def test_more_variants_keep_those_that_were_there(make: Make) -> None:
    taken = [{v.number for v in variants(make(), Sampling(variants=n))} for n in (1, 2, 3, 6)]
    assert all(few < more for few, more in itertools.pairwise(taken))


def test_which_are_taken_depends_on_the_seed(make: Make) -> None:
    taken = {tuple(v.number for v in variants(make(), Sampling(variants=2, seed=seed))) for seed in range(40)}
    assert len(taken) > 5


def test_records_draw_each_for_itself(make: Make) -> None:
    taken = {tuple(v.number for v in variants(make(id=f"filter-{n}"), Sampling(variants=2))) for n in range(40)}
    assert len(taken) > 5


def test_the_same_seed_makes_the_same_variants(make: Make) -> None:
    assert variants(make(), ALL) == variants(make(), ALL)


def test_noise_and_order_are_the_same_for_all_variants(make: Make) -> None:
    shown = {
        tuple("right" if place in v.golden else text for place, text in enumerate(v.documents))
        for v in variants(make(), ALL)
    }
    assert len(shown) == 1
    assert len({v.golden for v in variants(make(), ALL)}) == 1


def test_resampled_variants_have_noise_and_order_of_their_own(make: Make) -> None:
    made = variants(make(), Sampling(variants=None, resample=True))
    noise = {frozenset(t for place, t in enumerate(v.documents) if place not in v.golden) for v in made}
    assert len(noise) > 1
    assert len({v.golden for v in made}) > 1


def test_other_noise_does_not_change_the_variants_that_are_taken(make: Make) -> None:
    few, more = (variants(make(), Sampling(noise={"weak": n})) for n in (0, 9))
    assert [v.number for v in few] == [v.number for v in more]


def test_more_noise_moves_no_document_among_the_others(make: Make) -> None:
    few, more = (variants(make(), Sampling(noise={"weak": n}))[0].documents for n in (3, 9))
    assert [text for text in more if text in few] == list(few)


def test_the_noise_that_is_there_is_counted(make: Make) -> None:
    variant = variants(make(), Sampling(noise={"weak": 4, "moderate": 7, "hard": 1}))[0]
    assert variant.noise == {"weak": 4, "moderate": 5, "hard": 1}
    assert len(variant.documents) == 12


def test_noise_and_question_are_not_filled(make: Make) -> None:
    record = make(noise_doc_level1=["X1 is here."], query="Who is X1?")
    assert "X1 is here." in variants(record, ALL)[0].documents
    assert record.query == "Who is X1?"


def test_an_answer_without_a_placeholder_stays_as_it_is_written(make: Make) -> None:
    record = make(answer=["a  & ( b|c)"] * 6)
    assert variants(record, ALL)[0].answer == "a  & ( b|c)"


def test_a_value_with_signs_in_it_is_quoted_in_the_answer(make: Make) -> None:
    record = make(placeholders=[{"X1": "AT&T (old)", "X10": "1987"}], answer=["X1 | Ma Bell"])
    (variant,) = variants(record, ALL)
    assert variant.answer == '"AT&T (old)" | Ma Bell'
    assert covered_match("It was AT&T (old).", [variant.answer]) == 1


def test_a_value_that_stands_in_no_right_document_need_not_be_seen(make: Make) -> None:
    assert variants(make(golden_doc=["X1 built it."]), ALL)[0].used == ("Ann1",)


def test_every_place_is_as_likely_for_a_right_document(make: Make) -> None:
    noise = {"weak": 3}
    places = Counter(
        variants(make(id=f"filter-{n}", golden_doc=["X1 built it."]), Sampling(1, noise))[0].golden[0]  # type: ignore[arg-type]
        for n in range(400)
    )
    assert all(70 <= places[place] <= 130 for place in range(4))


@given(
    st.integers(1, 8), st.dictionaries(st.sampled_from(["weak", "moderate", "hard"]), st.integers(0, 12)), st.integers()
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@pytest.mark.parametrize("resample", [False, True])
def test_right_documents_and_noise_are_all_that_is_shown(
    make: Make, resample: bool, number: int, noise: dict[str, int], seed: int
) -> None:
    for variant in variants(make(), Sampling(number, noise, resample, seed)):  # type: ignore[arg-type]
        assert len(set(variant.documents)) == len(variant.documents) == 2 + sum(variant.noise.values())
        assert len(variant.golden) == 2
        assert all(variant.noise[level] <= wanted for level, wanted in noise.items())  # type: ignore[index]


def test_as_much_as_is_wanted_or_is_there_is_drawn(make: Make) -> None:
    found = drawn(make(), {"weak": 4, "moderate": 9, "hard": 0}, SEEDS)
    assert {level: len(texts) for level, texts in found.items()} == {"weak": 4, "moderate": 5, "hard": 0}


def test_a_level_that_is_not_named_gives_none(make: Make) -> None:
    assert [len(texts) for texts in drawn(make(), {"hard": 1}, SEEDS).values()] == [0, 0, 1]


@pytest.mark.parametrize("fewer", [0, 1, 3])
def test_more_noise_keeps_what_was_there(make: Make, fewer: int) -> None:
    assert drawn(make(), {"weak": fewer}, SEEDS)["weak"] == drawn(make(), {"weak": 6}, SEEDS)["weak"][:fewer]


def test_a_document_that_stands_twice_is_one(make: Make) -> None:
    record = make(
        noise_doc_level1=["a", "a", "X1 built the mill."], noise_doc_level2=["a", "b"], noise_doc_level3=["b"]
    )
    assert drawn(record, {"weak": 9, "moderate": 9, "hard": 9}, SEEDS) == {"weak": ["a"], "moderate": ["b"], "hard": []}


def test_other_streams_draw_other_noise(make: Make) -> None:
    counts = {"weak": 4}
    assert drawn(make(), counts, SEEDS, "1") != drawn(make(), counts, SEEDS, "2")  # type: ignore[arg-type]


def test_a_text_more_leaves_the_order_of_the_rest_alone() -> None:
    texts = [str(n) for n in range(20)]
    assert [text for text in shuffled([*texts, "more"], 3) if text != "more"] == shuffled(texts, 3)
    assert shuffled(texts, 3) == shuffled(texts[::-1], 3) != shuffled(texts, 4)
