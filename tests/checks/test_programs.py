"""What running the gold programs of a question file shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r_eval.checks import Finding
from r_eval.checks import check_target as check

DURATION = "answer = dish_details(dish_id=find_dish(name='Moussaka')[0]['dish_id'])['minutes']"
CUISINE = DURATION.replace("minutes", "cuisine")
FIRST = {"question": "Of which cuisine is moussaka?", "answers": ["Greek"], "level": "KS", "program": CUISINE}


def found(recipes: Path, *questions: dict[str, Any], environment: bool = True) -> list[Finding]:
    path = recipes / "mine.jsonl"
    lines = [json.dumps({"id": f"q{n}", **FIRST, **q}) for n, q in enumerate(questions, 1)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return check(str(path), f"{recipes / 'recipes.py'}" if environment else None)


def amiss(recipes: Path, *questions: dict[str, Any]) -> list[Finding]:
    return [f for f in found(recipes, *questions) if f.severity != "note"]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("answer = find_dish(name='No such dish')[0]['name']", "LookupError"),
        ("answer = find_dish(title='x')", "TypeError"),
        ("answer = open_door()", "NameError"),
        ("answer = ''", "it gives an empty answer"),
    ],
)
def test_a_program_that_fails_is_an_error_at_its_line(recipes: Path, program: str, said: str) -> None:
    (finding,) = amiss(recipes, {}, {"question": "What else?", "program": program})
    assert (finding.severity, finding.place.rpartition(":")[2]) == ("error", "2")
    assert finding.what.startswith("1 question (q2) with a program that fails")
    assert said in finding.what


def test_a_program_that_gives_another_answer_is_an_error_that_names_both(recipes: Path) -> None:
    (finding,) = [f for f in amiss(recipes, {"answers": ["Thai"]}) if "another answer" in f.what]
    assert (finding.severity, "(Greek in place of Thai)" in finding.what) == ("error", True)


def test_any_of_several_golds_and_any_order_of_values_is_right(recipes: Path) -> None:
    assert amiss(recipes, {"answers": ["Hellenic", "Greek"]}) == []
    both = f"{CUISINE}\nanswer = [answer, 'Moussaka']"
    assert amiss(recipes, {"question": "What?", "answers": ["moussaka; Greek"], "program": both}) == []


def test_an_answer_that_no_observation_holds_is_an_error_without_named_evidence(recipes: Path) -> None:
    program = "find_dish(name='Moussaka')\nanswer = 'Atlantis'"
    (finding,) = amiss(recipes, {"answers": ["Atlantis"], "program": program})
    assert (finding.severity, finding.what) == (
        "error",
        "1 question (q1) with an answer that no observation of the program holds (Atlantis)",
    )
    assert amiss(recipes, {"answers": ["Atlantis"], "program": program, "evidence": ["Moussaka"]}) == []


def test_named_evidence_that_is_not_observed_is_an_error(recipes: Path) -> None:
    (finding,) = amiss(recipes, {"evidence": ["Greek", "Atlantis"]})
    assert (finding.severity, "evidence that no observation of the program holds (Atlantis)" in finding.what) == (
        "error",
        True,
    )


def test_several_of_a_kind_are_one_line_with_the_first_one_explained(recipes: Path) -> None:
    broken = [{"question": f"What is {n}?", "program": f"answer = [][{n}]"} for n in range(5)]
    (finding,) = amiss(recipes, *broken)
    assert finding.what.startswith("5 questions (q1, q2, q3, ...) with a program that fails (q1: line 1: ")


def test_without_an_environment_nothing_runs_and_a_note_says_so(recipes: Path) -> None:
    findings = found(recipes, {"program": "answer = [][0]"}, environment=False)
    assert [f.severity for f in findings] == ["note", "note"]
    assert findings[1].todo == "--environment NAME"
