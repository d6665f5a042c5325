"""What is known of a question: hops, the kind of its answer, how popular its entity is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.facts import api_calls, hops, kind, popularity
from r_eval.records import Question


def question(gold: str = "Nairobi", asked: str = "Which?", **fields: Any) -> Question:
    return Question(id="q", question=asked, answers=[gold], level="KS", **fields)


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("yes", "yes/no"),
        ("False.", "yes/no"),
        ("7", "number"),
        ("1,234", "number"),
        ("-5", "number"),
        ("12.5 %", "number"),
        ("1987", "number"),
        ("2001-04-05", "date"),
        ("5 April 2001", "date"),
        ("April 5, 2001", "date"),
        ("April 2001", "date"),
        ("2001年4月5日", "date"),
        ("May Sinclair", "name"),
        ("Lake Turkana", "name"),
        ("Lamu;Mombasa", "list"),
        ("['Lamu', 'Mombasa']", "list"),
        ("['Lamu']", "name"),
        ("", ""),
        ("one two three four five six seven eight nine ten eleven twelve thirteen", "text"),
    ],
)
def test_the_kind_of_an_answer(gold: str, expected: str) -> None:
    assert kind(question(gold)) == expected


@pytest.mark.parametrize("asked", ["When was it built?", "In which year?", "它建于哪一年？"])
def test_four_digits_are_a_year_where_one_is_asked_for(asked: str) -> None:
    assert kind(question("1987", asked)) == "date"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("answer = Search('Kenya')", 1),
        ("found = searchPerson(name='A')\nanswer = len(getPersonPubs(person_id=found[0]['id']))", 2),
        ("answer = sorted(Search(x) for x in ['a', 'b'])", 1),
        ("def f(x):\n    return Search(x)\nanswer = f('a')", 1),
        ("answer = 'a'.upper()", 0),
        ("answer = (", 0),
        ("", 0),
        ("(" * 100_000, 0),
    ],
)
def test_the_calls_of_a_program_are_those_of_functions_that_are_not_its_own(program: str, expected: int) -> None:
    assert api_calls(program) == expected


@given(st.text())
def test_any_text_has_a_kind_and_a_number_of_calls(text: str) -> None:
    assert kind(question(text)) in ("yes/no", "number", "date", "list", "name", "text", "")
    assert api_calls(text) >= 0


def test_what_the_data_set_says_goes_before_the_program() -> None:
    assert hops(question(meta={"hops": 4}, program="answer = Search('a')")) == "4"


@pytest.mark.parametrize(("said", "expected"), [(7, "5 to 9"), (10, "10 or more"), ("4", ""), (True, ""), (0, "")])
def test_hops_are_grouped_and_what_is_no_number_of_them_is_not_known(said: object, expected: str) -> None:
    assert hops(question(meta={"hops": said})) == expected


@pytest.mark.parametrize(
    ("task", "meta", "expected"),
    [
        ("wiki/high-freq", {}, "high"),
        ("wiki/low-freq", {}, "low"),
        ("wiki/hotpotqa", {}, ""),
        ("wiki/hotpotqa", {"popularity": "medium"}, "medium"),
        ("mine", {"frequency": "low"}, "low"),
        ("mine", {"popularity": 3}, ""),
    ],
)
def test_popularity_is_the_questions_own_word_or_the_tasks(task: str, meta: dict[str, Any], expected: str) -> None:
    assert popularity(task, question(meta=meta)) == expected
