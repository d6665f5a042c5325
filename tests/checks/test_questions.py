"""What the check of questions finds, in their form, in programs, in the embedded tasks, in published datasets; and the
check of a template file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r_eval.checks import Finding
from r_eval.checks import check_target as check
from r_eval.checks.questions import check_questions, leaked
from r_eval.records import Question
from r_eval.tasks.base import installed, task_files
from tests.commands import typed_here

CUISINE = "answer = dish_details(dish_id=find_dish(name='Moussaka')[0]['dish_id'])['cuisine']"
FIRST = {"question": "Of which cuisine is moussaka?", "answers": ["Greek"], "level": "KS", "program": CUISINE}
ATLANTIS = {"answers": ["Atlantis"], "program": "find_dish(name='Moussaka')\nanswer = 'Atlantis'"}
BOTH = {"question": "What?", "answers": ["moussaka; Greek"], "program": f"{CUISINE}\nanswer = [answer, 'Moussaka']"}


def found(folder: Path, *some: dict[str, Any], environment: bool = True) -> list[Finding]:
    path = folder / "mine.jsonl"
    path.write_text(
        "\n".join(json.dumps({"id": f"q{n}", **FIRST, **q}) for n, q in enumerate(some, 1)), encoding="utf-8"
    )
    return check(str(path), environment=f"{folder / 'recipes.py'}" if environment else None)


def amiss(folder: Path, *some: dict[str, Any]) -> list[tuple[str, str, str]]:
    findings = [f for f in found(folder, *some) if f.severity != "note"]
    return [(f.severity, f.place.rpartition(":")[2], f.what) for f in findings]


FAULTS: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "a leak": ([{"question": "Is Greek moussaka good?"}], "warning 1", "an answer that the question contains"),
    "no level": ([{}, {"level": "KX"}], "error 2", "level"),
    "the same text, other answers": ([{}, {"answers": ["Greek", "Thai"]}], "error 2", "with other answers"),
    "the same question": ([{}, {"question": " of which CUISINE is moussaka?"}], "warning 2", "text and answers of"),
    "an empty answer": ([{"answers": ["Greek", " "]}], "error 1", "an empty answer can never be matched"),
    "no Python": ([{"program": "answer ="}], "error 1", "a program that is not Python"),
    "no program": ([{"program": None}], "warning 1", "no program"),
    "LookupError": ([{"program": "answer = find_dish(name='No such')[0]['name']"}], "error 1", "LookupError"),
    "TypeError": ([{}, {"question": "?", "program": "answer = find_dish(title='x')"}], "error 2", "TypeError"),
    "NameError": ([{"program": "answer = open_door()"}], "error 1", "1 question (q1) with a program that fails"),
    "no answer": ([{"program": "answer = ''"}], "error 1", "it gives an empty answer"),
    "another answer": ([{"answers": ["Thai"]}], "error 1", "another answer (Greek in place of Thai)"),
    "a guess": ([ATLANTIS], "error 1", "an answer that is in none of the program's observations (Atlantis)"),
    "evidence": ([{"evidence": ["Greek", "Atlantis"]}], "error 1", "in none of the program's observations (Atlantis)"),
    "several": (
        [{"question": f"What is {n}?", "program": f"answer = [][{n}]"} for n in range(5)],
        "error 1",
        "5 questions (q1, q2, q3, ...) with a program that fails (q1: line 1: ",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_finding_at_its_line(recipes: Path, name: str) -> None:
    some, where, what = FAULTS[name]
    ((severity, line, text),) = amiss(recipes, *some)
    assert (f"{severity} {line}", what in text) == (where, True), text


@pytest.mark.parametrize("question", [{"answers": ["Hellenic", "Greek"]}, BOTH, {**ATLANTIS, "evidence": ["Moussaka"]}])
def test_any_gold_any_order_of_values_and_named_evidence_are_right(recipes: Path, question: dict[str, Any]) -> None:
    assert amiss(recipes, question) == []


@pytest.mark.parametrize("gold", ["yes", "no", "7", "12"])
def test_a_gold_that_is_in_any_text_needs_evidence(tmp_path: Path, gold: str) -> None:
    asked = {"answers": [gold], "program": "answer = 1"}
    (finding,) = [f for f in found(tmp_path, asked, environment=False) if f.severity != "note"]
    assert (finding.severity, "no evidence" in finding.what) == ("warning", True)
    last = found(tmp_path, {**asked, "evidence": ["born 1912"]}, environment=False)
    assert [f.severity for f in last] == ["note", "note"]
    assert last[1].todo == "name it with --environment", "no program ran"


def test_a_season_says_over_which_environment_the_programs_run(recipes: Path) -> None:
    assert typed_here(["generate", "templates.yaml", "--count", "8", "--out", "made.jsonl"], recipes).returncode == 0
    made = recipes / "made.jsonl"
    findings = check(str(made))
    assert ({f.severity for f in findings}, findings[0].what) == ({"note"}, "season 1.0.0 over recipes.py")
    line = json.loads(made.read_text(encoding="utf-8").splitlines()[0])
    made.write_text(json.dumps({**line, "program": "answer = [][0]"}), encoding="utf-8")
    assert any("a program that fails" in f.what for f in check(str(made)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["questions", "demonstrations"])
def test_the_embedded_tasks_have_no_error(kind: str) -> None:
    for name, path in task_files().items():
        task, file = installed(name), path.with_name(f"{path.stem}.{kind}.jsonl")
        is_elsewhere = task.home and kind == "demonstrations"
        over = (task.home, {}) if is_elsewhere else (task.environment, task.settings)
        findings = check_questions(file, over) if file.exists() else []
        assert [finding.line() for finding in findings if finding.severity == "error"] == []


# Whether a question's text gives its answer away

LONGER = "Which river is longer, the Niger River or the River Shannon?"
LEAKS: dict[str, list[tuple[str, str]]] = {
    "stands in the question": [
        ("In which city does the Paris Opera of Garnier stand?", "Paris"),
        ("Who wrote the biography of Marie Curie?", "marie curie"),
        ("What links Oslo to Rome, and since when?", "Oslo; Rome"),
        ("居里夫人的丈夫是谁？", "居里"),
        ("What is the capital of New Zealand?", "New Zealand"),
    ],
    "is one of several": [
        (LONGER, "Niger River"),
        (LONGER, "River Shannon"),
        ("Which of Ada Lovelace and Alan Turing was born first?", "Ada Lovelace"),
        ("Who is older, Trinidad and Tobago or Fiji?", "Trinidad and Tobago"),
        ("Which is closest to a lake: river, hill, sea or town?", "river"),
        ("Which fits?\n- lake\n- hill\n- town", "hill"),
        ("尼日尔河和香农河哪条更长，尼日尔河还是香农河？", "香农河"),
    ],
    "is a verdict, a small number or a part of a word": [
        ("Is it true or false that 7 is no prime?", "true"),
        ("Is there no bridge, yes or no?", "no"),
        ("How many of the 12 months have 7 letters?", "7"),
        ("In which year was 1987 written?", "198"),
        ("Who knows Nowak?", "no"),
    ],
    "is in a text that the question brings along": [
        ("Where does she work? " + "She works at Ostrad University with others. " * 12, "Ostrad University"),
    ],
}


@pytest.mark.parametrize(("kind", "text", "answer"), [(kind, *pair) for kind in LEAKS for pair in LEAKS[kind]])
def test_only_an_answer_that_stands_in_the_question_is_a_leak(kind: str, text: str, answer: str) -> None:
    question = Question(id="q", question=text, answers=[answer], level="KS")
    assert leaked(question) == (kind == "stands in the question")


# Published datasets

RECORDS = [{"question": f"Which of {n}?", "answer": "it", "type": "bridge"} for n in range(6)]
DATASETS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "sound": (RECORDS, ["h.json: note: 6 records of the format 'hotpotqa': 6 questions (6 KA)"]),
    "broken records": (
        [*RECORDS, *[{"question": "?"}] * 4, {"answer": "x"}],
        ["h.json: record 7: warning: a broken record: the key answer is missing", "", "", "5 broken records"],
    ),
    "no format": ([{"a": 1}], ["unknown format"]),
}


@pytest.mark.parametrize("name", DATASETS)
def test_the_records_of_a_published_dataset_are_counted_and_the_broken_ones_named(tmp_path: Path, name: str) -> None:
    records, lines = DATASETS[name]
    (tmp_path / "h.json").write_text(json.dumps(records), encoding="utf-8")
    found = [finding.line() for finding in check(str(tmp_path / "h.json"))]
    assert [line for line, part in zip(found, lines, strict=False) if part not in line] == []


HEAD = "environment: ./recipes.py\ntemplates:\n"
GOOD = """  - id: minutes
    level: KS
    from: dish
    question: How long does {{ dish.name }} take?
    program: |
      answer = str(find_dish(name=dish["name"])[0]["dish_id"])
"""


OF_TEMPLATES: dict[str, tuple[tuple[str, str], str, list[str]]] = {
    "records that are not there": (
        ("from: dish", "from: dishes"),
        "3: error",
        ["the environment has no records of kind 'dishes'; fix the template, or the environment's records()"],
    ),
    "programs that fail are counted with their reason and an example": (
        ("find_dish(name=", "find_dish(title="),
        "3: error",
        ["30 records dropped: program: bad_arguments, such as: line 1", "find_dish has no argument 'title'"],
    ),
    "a where that leaves everything out": (
        ("    question", '    where: dish["minutes"] > 999\n    question'),
        "3: error",
        ["it gives no question"],
    ),
    "ambiguous questions": (
        ("{{ dish.name }}", "a {{ dish.cuisine }} dish"),
        "3: warning",
        ["8 records dropped: ambiguous"],
    ),
    "answers that are in any text": (("answer = str(", "answer = len("), "3: warning", ["has no evidence"]),
}


@pytest.mark.parametrize("name", OF_TEMPLATES)
def test_a_fault_is_found_at_the_templates_line(recipes: Path, name: str) -> None:
    (old, new), severity, parts = OF_TEMPLATES[name]
    path = recipes / "templates.yaml"
    path.write_text(HEAD + GOOD.replace(old, new), encoding="utf-8")
    first = next(finding.line() for finding in check(str(path)) if finding.severity != "note")
    assert first.startswith(f"{path}:{severity}: template 'minutes': "), first
    assert [part for part in parts if part not in first] == []
