"""In which language a text is taken to be."""

from __future__ import annotations

import pytest

from r_eval.languages import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("鹭口大桥全长多少米？", "zh"),
        ("鹭口大桥 ABC", "zh"),
        ("How long is the bridge?", "en"),
        ("What does 大桥 mean?", "en"),
        ("2340", "en"),
        ("", "en"),
        ("橋 2,340", "zh"),
        ("東京はどこですか", "en"),
        ("Сколько?", "en"),
    ],
)
def test_a_text_of_which_a_quarter_of_the_letters_are_han_is_chinese(text: str, language: str) -> None:
    assert language_of(text) == language
