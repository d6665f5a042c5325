"""What the check of a question file finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r_eval.checks import Finding
from r_eval.checks import check_target as check

QUESTION = {"question": "Where?", "answers": ["Paris"], "level": "KS", "program": "answer = 'Paris'"}


def found(tmp_path: Path, *questions: dict[str, Any]) -> list[Finding]:
    path = tmp_path / "questions.jsonl"
    lines = [json.dumps({"id": f"q{n}", **QUESTION, **q}) for n, q in enumerate(questions, 1)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return [f for f in check(str(path)) if f.severity != "note"]


def test_an_answer_that_stands_in_the_question_is_a_warning(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, {"question": "In which city is the Paris Opera?"})
    assert (finding.severity, "an answer that stands in the question" in finding.what) == ("warning", True)


def test_a_line_that_is_no_question_is_an_error_at_its_line(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, {}, {"level": "KX"})
    assert (finding.severity, finding.place) == ("error", f"{tmp_path / 'questions.jsonl'}:2")


def test_the_same_text_with_other_answers_is_an_error_and_with_the_same_a_warning(tmp_path: Path) -> None:
    findings = found(tmp_path, {}, {"answers": ["Rome"]}, {"question": " where? "})
    assert [(f.severity, f.place.rpartition(":")[2]) for f in findings] == [("error", "2"), ("warning", "3")]


def test_an_empty_answer_is_an_error(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, {"answers": ["Paris", " "]})
    assert (finding.severity, "an empty answer can never be matched" in finding.what) == ("error", True)


@pytest.mark.parametrize("gold", ["yes", "no", "7", "12"])
def test_a_gold_that_is_in_any_text_needs_evidence(tmp_path: Path, gold: str) -> None:
    (finding,) = found(tmp_path, {"answers": [gold]})
    assert finding.severity == "warning"
    assert "name no evidence" in finding.what
    assert found(tmp_path, {"answers": [gold], "evidence": ["born 1912"]}) == []


def test_a_program_that_is_missing_or_no_python_is_found(tmp_path: Path) -> None:
    findings = found(tmp_path, {"program": "answer ="}, {"question": "Who?", "program": None})
    assert [f.severity for f in findings] == ["error", "warning"]
