"""Templates: a question's gold answer comes through the query APIs, and what does not hold is dropped and counted."""

from __future__ import annotations

import ast
import asyncio
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval import UserError
from r_eval.environments.base import Environment, query_api
from r_eval.environments.sandbox import ProgramLimits, Sandbox, answer_text
from r_eval.environments.session import Session
from r_eval.environments.wiki import Wiki
from r_eval.tasks.templates import TemplateFile, generate, read_templates
from r_eval.tasks.templates.generate import OVERRUNS
from r_eval.tasks.templates.programs import with_values
from tests.towns import BASE, LISTED, Town, made


def test_a_program_stands_by_itself_with_the_records_values(sandbox: Sandbox) -> None:
    for question in made(sandbox).questions:
        assert question.program
        assert "person" not in {node.id for node in ast.walk(ast.parse(question.program)) if isinstance(node, ast.Name)}
        result = asyncio.run(Session(Town(), sandbox).run_program(question.program))
        assert [answer_text(result.answer)] == question.answers


def test_a_question_does_not_depend_on_how_many_are_made(sandbox: Sandbox) -> None:
    every = made(sandbox).questions
    assert made(sandbox, count=2).questions == every[:2]
    assert len(made(sandbox, count=0).questions) == 0


# What is dropped


@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from("XYZ"), st.integers(1, 3)), max_size=12))
@settings(max_examples=15)
def test_no_question_that_is_kept_has_two_answers(sandbox: Sandbox, people: list[tuple[str, str, int]]) -> None:
    town = Town([(name, f"{city}{n}", age, []) for n, (name, city, age) in enumerate(people)])
    result = made(sandbox, {"question": "How old is {{ person.name }}?"}, town=town)
    ages = {name: {age for other, _, age in people if other == name} for name, _, _ in people}
    assert {q.question for q in result.questions} == {f"How old is {n}?" for n, a in ages.items() if len(a) == 1}
    assert result.dropped["ambiguous"] == sum(len(a) > 1 for a in ages.values())


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("answer = 1 / 0", "program: exception"),
        ("answer = find(name='Nobody')[0]", "program: not_found"),
        ("while True:\n    living_in(city='Oslo')", "program: calls"),
        ("answer = []", "empty answer"),
        ("person = find(name='Ada')\nanswer = person.age", "program: exception"),  # no record any more
        ("for person in find(name='Ada'):\n    pass\nanswer = person.age", "program: exception"),
    ],
)
def test_a_question_whose_program_fails_or_gives_nothing_is_dropped_and_counted(
    sandbox: Sandbox, program: str, reason: str
) -> None:
    town = Town([LISTED[0]])
    result = made(sandbox, {"program": program}, town=town)
    assert (result.questions, dict(result.dropped)) == ([], {reason: 1})


def test_an_error_has_its_line_in_the_template_though_records_are_assigned_before_it(sandbox: Sandbox) -> None:
    result = made(sandbox, {"program": "age = person.get('age')\nanswer = age / 0"}, town=Town([LISTED[0]]))
    assert result.examples["program: exception"].startswith("line 2: ZeroDivisionError")


def test_a_template_whose_programs_do_not_end_is_given_up() -> None:
    with Sandbox(limits=ProgramLimits(seconds=0.1)) as sandbox:
        result = made(
            sandbox, {"program": "while True:\n    pass"}, town=Town([(f"Ada {n}", "Oslo", n, []) for n in range(9)])
        )
    assert OVERRUNS <= result.dropped["program: time"] < 9


def test_where_keeps_only_what_it_accepts_and_counts_the_rest(sandbox: Sandbox) -> None:
    result = made(sandbox, {"where": 'person["age"] > 40 and len(person["likes"]) > 1'})
    assert [q.question for q in result.questions] == ["How old is Alan of Oslo?"]
    assert result.dropped == {"where": 3}


# Parts


def test_evidence_is_worked_out_over_the_program(sandbox: Sandbox) -> None:
    evidence = ['found[0]["city"]', '[p["age"] for p in found]', "answer", "'x' * 3", "answer > 1"]
    ada = next(q for q in made(sandbox, {"evidence": evidence}).questions if "Ada of Oslo" in q.question)
    assert ada.evidence == ["Oslo", "36", "xxx", "yes"]


def test_only_records_are_replaced_and_all_else_stays_as_it_is_written() -> None:
    program = 'a = 1  # 北京\nanswer = other["name"] + (person["name"] [0]\n  + person["born"]  # \u2028\n)'
    text = with_values(program, {"person": {"name": "Ada", "born": -1815}})
    assert text == "a = 1  # 北京\nanswer = other[\"name\"] + ('A'\n  + (-1815)  # \u2028\n)"


@pytest.mark.parametrize(
    "program", ['answer = thing.get("age")', "answer = [thing[key] for key in thing][2]", "answer = age_of(thing)"]
)
def test_a_program_sees_whole_records(sandbox: Sandbox, program: str) -> None:
    template = {"from": "person", "let": {"thing": {"from": "person", "match": {"name": 'person["name"]'}}}}
    program = f"def age_of(one):\n    return one['age']\n{program}"
    assert len(made(sandbox, {**template, "program": program, "where": "thing == person"}).questions) == 4


def test_an_environment_without_records_gets_those_of_a_file(sandbox: Sandbox, tmp_path: Path) -> None:
    class Prices(Environment):
        """What fruit costs."""

        @query_api
        def price(self, fruit: str) -> float:
            """Look up what one fruit costs, in euros."""
            return {"梨": 0.6, "تفاح": 0.4, "pêche": 1.2}[fruit]

    (tmp_path / "fruit.jsonl").write_text('{"name": "梨"}\n{"name": "تفاح"}\n{"name": "pêche"}\n', encoding="utf-8")
    asked = {"from": "fruit", "question": "What is {{ fruit.name }}?", "program": 'answer = price(fruit=fruit["name"])'}
    file = read_templates(file_with(tmp_path, asked, records={"fruit": "fruit.jsonl"}))
    questions = asyncio.run(generate(file, Prices(), sandbox, 3, 0)).questions
    assert {q.question: q.answers[0] for q in questions} == {
        "What is 梨?": "0.6",
        "What is تفاح?": "0.4",
        "What is pêche?": "1.2",
    }


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (date(2020, 1, 31), "2020-01-31"),
        (Decimal("1.5"), "1.5"),
        (numpy.int64(5), "5"),
        (numpy.array([3, 4]), "3; 4"),
        ({"b", "a"}, "a; b"),
        (float("nan"), None),
        (..., None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_records_values_are_plain_data_and_a_field_may_be_missing(
    sandbox: Sandbox, value: Any, answer: str | None
) -> None:
    town = Town([LISTED[0], LISTED[1]])
    town.people[0] |= {} if value is ... else {"extra": value}
    town.people[1]["extra"] = 7
    result = made(sandbox, {"question": "{{ person.name }}?", "program": 'answer = person["extra"]'}, town=town)
    found = {q.question: q.answers[0] for q in result.questions}
    assert found == {"Grace?": "7"} | ({"Ada?": answer} if answer else {})


# Mistakes


def file_with(tmp_path: Path, change: dict[str, Any], **top: Any) -> Path:
    template = {k: v for k, v in {**BASE, **change}.items() if v is not ...}
    path = tmp_path / "t.yaml"
    path.write_text(yaml.safe_dump({"environment": "town", "templates": [template], **top}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"program": ...}, r"t\.yaml:3: templates\.0\.program: the key is missing"),
        ({"levle": "KS"}, r"t\.yaml:6: templates\.0\.levle: unknown key 'levle'\. Did you mean level\?"),
        ({"program": "answer = (\n"}, r"t\.yaml:4: templates\.age: program, line 1: "),
        ({"program": "answer = '\x00'"}, r"t\.yaml:4: .*null bytes"),
        *(
            ({"program": f"answer = {piece * 100_000}1"}, rf"t\.yaml:4: templates\.age: program.*{complaint}")
            for piece, complaint in [
                ("not ", "nested too deep"),
                ("1 + ", "recursion|overflow"),
                ("[", "too many nested"),
            ]
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_mistake_in_a_template_is_named(tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as raised:
        read_templates(file_with(tmp_path, change))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "question",
    [
        "{{ person.name }} is how old?",
        "{{ person.name }}",
        "[{{ person.name }}]",
        "{{ person.name }}, {{ person.city }}?",
        "How old: {{ person.name }}?",
        '"{{ person.name }}" is how old?',
        "{% if person.name %}How old?{% endif %}",
        "{name} is how old?",
        'x\n  options: [person["city"], "Rome"]',
    ],
)
def test_a_question_that_yaml_takes_for_something_else_must_be_quoted(tmp_path: Path, question: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(f"environment: town\ntemplates:\n- id: age\n  question: {question}\n", encoding="utf-8")
    with pytest.raises(
        UserError, match=r"t\.yaml:[45]: not valid YAML: .*; a text with braces or brackets must be in quotes"
    ):
        read_templates(path)


def joined(**join: Any) -> dict[str, Any]:
    return {"let": {"other": {"from": "person", **join}}}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"from": "dragon"}, r"templates\.age: the environment has no records of kind 'dragon'"),
        ({"question": "Who is {{ person.nom }}?"}, r"templates\.age: no field 'nom'"),
        (
            {"question": "Who is {{ persn.name }}?"},
            r"templates\.age: no record 'persn'; did you mean 'person'",
        ),
        ({"question": "Who is {person[name]}?"}, r"templates\.age: .* two braces, as {{ person.name }}"),
        ({"question": "Who is {{ person.name }?"}, r"templates\.age: question, line 1: "),
        ({"program": 'answer = person["nme"]'}, r"templates\.age: program: no field 'nme'; did you mean 'name'"),
        ({"program": "a = 1\nanswer = person.age"}, r'program: line 2: person\.age is written person\["age"\] in code'),
        ({"program": 'answer = f"{person.age}"'}, r'program: line 1: person\.age is written person\["age"\] in code'),
        ({"where": "person.age > 3"}, r'where: line 1: person\.age is written person\["age"\] in code'),
        ({"where": "person["}, r"templates\.age: where: "),
        ({"where": 'person["nme"] == "Ada"'}, r"templates\.age: where: no field 'nme'; did you mean 'name'"),
        (joined(match={"town": 'person["city"]'}), r"let\.other\.match: no field 'town'"),
        (joined(match={"city": 'person["town"]'}), r"templates\.age: let\.other\.match\.city: .*town"),
        (joined(where='other["nom"]'), r"templates\.age: let\.other\.where: .*nom"),
    ],
    ids=str,
)
def test_a_template_that_does_not_fit_the_environment_is_named(
    sandbox: Sandbox, change: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint):
        made(sandbox, change)


def test_a_kind_that_an_environment_does_not_have_gets_a_hint(sandbox: Sandbox) -> None:
    file = TemplateFile.model_validate({"environment": "wiki", "templates": [{**BASE, "from": "contry"}]})
    with pytest.raises(UserError, match="no records of kind 'contry'; did you mean 'country'"):
        asyncio.run(generate(file, Wiki(), sandbox, 1, 0))
