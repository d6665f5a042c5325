"""Answers as a file: read, and made of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.analysis.submissions import SubmittedAnswer, read_results
from r_eval.errors import UserError


def read(tmp_path: Path, text: str) -> dict[str, SubmittedAnswer]:
    (tmp_path / "results.json").write_text(text, encoding="utf-8")
    return read_results(tmp_path / "results.json")


def test_answers_are_read_with_ids_as_numbers_or_texts(tmp_path: Path) -> None:
    text = '{"q": {"found_ids": [7, "8", "7"], "model_answer": " Париж "}, "r": {}, "s": {"found_ids": null}}'
    found = {name: (one.text, one.found) for name, one in read(tmp_path, text).items()}
    assert found == {"q": ("Париж", ["7", "8"]), "r": ("", []), "s": ("", [])}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"q": "Paris"}', "q: must be a mapping, not 'Paris'"),
        ('{"q": {"model_answer": 5}}', r"q\.model_answer: "),
        ('{"q": {"found_ids": [[7]]}}', r"q\.found_ids\.0"),
        ('{"q": {"found_ids": [true]}}', r"q\.found_ids\.0"),
        ('{"q": {"model_anwser": "x"}}', r"q\.model_anwser: "),
        ("", "Invalid JSON"),
        ("[]", r"must be a mapping, not \[\]"),
        ("[" * 100_000, "Invalid JSON"),
    ],
)
def test_a_file_of_another_form_is_an_error_that_names_the_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=rf"results\.json: {message}"):
        read(tmp_path, text)


# Made of a run
