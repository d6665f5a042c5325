"""Whole words in texts."""

from __future__ import annotations

import pytest

from r_eval.tasks.phrases import contains_phrase, names


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("1,234 people", "1,234", True),
        ("born in 1987", "7", False),
        ("我住在北京市", "北京", True),
        ("Ｐａｒｉｓ", "paris", True),
        ("Вышел «Ёж».", "ёж", True),
    ],
)
def test_a_phrase_is_found_on_whole_words(text: str, phrase: str, expected: bool) -> None:
    assert contains_phrase(text, phrase) is expected


@pytest.mark.parametrize(
    ("text", "entity", "expected"),
    [
        ("Кто родился в Москве?", "Москва", True),
        ("Where was he at?", "Ra", False),
        ("Who flew with Apollo 12?", "Apollo 11", False),
        ("Чем известен 1993 год?", "1993 года", True),
    ],
)
def test_an_inflected_name_counts_as_named(text: str, entity: str, expected: bool) -> None:
    assert names(text, entity) is expected
