"""The words that a search compares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.environments.corpus.words import search_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Cat's 2 hats", ["the", "cat", "s", "2", "hats"]),
        ("3120.09点, 1,000 m", ["3120.09", "点", "1,000", "m"]),
        ("version 1.", ["version", "1"]),
        ("北京大学在Beijing。", ["北京大学", "在", "beijing"]),
        ("ＡＢＣ１２", ["abc12"]),
        ("Straße é", ["strasse", "é"]),
        ("snake_case", ["snake", "case"]),
        ("กรุง", ["ก", "รุ", "ง"]),
        ("カタ", ["カ", "タ"]),
        ("Привет мир", ["привет", "мир"]),
        ("!?。，", []),
        ("", []),
    ],
)
def test_words_are_what_a_search_compares(text: str, words: list[str]) -> None:
    assert search_words(text) == words


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    assert all(word and word == word.casefold() for word in search_words(text))


def test_a_long_run_of_chinese_takes_little_time() -> None:
    assert "".join(search_words("中" * 20_000)) == "中" * 20_000
