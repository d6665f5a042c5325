"""Answers as a file: read, and made of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from r_eval.analysis.submissions import SubmittedAnswer, package, read_results
from r_eval.errors import UserError
from r_eval.records import Step
from tests.analysis.answers import write_answers


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
        ('{"q": "Paris"}', "q: Input should be an object"),
        ('{"q": {"model_answer": 5}}', r"q\.model_answer: "),
        ('{"q": {"found_ids": [[7]]}}', r"q\.found_ids\.0"),
        ('{"q": {"found_ids": [true]}}', r"q\.found_ids\.0"),
        ('{"q": {"model_anwser": "x"}}', r"q\.model_anwser: "),
        ("", "Invalid JSON"),
        ("[]", "Input should be an object"),
        ("[" * 100_000, "Invalid JSON"),
    ],
)
def test_a_file_of_another_form_is_an_error_that_names_the_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=rf"results\.json: {message}"):
        read(tmp_path, text)


# Made of a run


def test_a_run_is_packaged_as_it_is_read(tmp_path: Path) -> None:
    found = Step(kind="call", api="retrieve", observation="A text.", found=["b#2", "b#1", "a#1"])
    run = write_answers(tmp_path / "run", {"rag": "rwx\nrrr"}, changes=lambda cell, number: {"steps": [found]})
    answers = package(run)
    assert list(answers) == ["q0", "q1", "q2"]
    read_back = read(tmp_path, json.dumps(answers))["q1"]
    assert (read_back.text, read_back.found) == ("Mombasa", ["b", "a"])
