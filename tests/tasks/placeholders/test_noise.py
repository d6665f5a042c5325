"""Noise is drawn by level, as much as is wanted or is there, and more of it moves nothing."""

from __future__ import annotations

import pytest

from r_eval.seeds import Seeds
from r_eval.tasks.placeholders.noise import drawn, shuffled
from tests.tasks.placeholders.conftest import Make

SEEDS = Seeds(run=0, question="filter-1", epoch=0)


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
