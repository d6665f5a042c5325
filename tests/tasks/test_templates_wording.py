"""How a question is written: phrasings, slots and options, and what its answer and entities are."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval import UserError
from r_eval.environments.sandbox import Sandbox
from r_eval.tasks.templates.generate import gives_away
from r_eval.tasks.templates.render import Phrasing
from tests.towns import Town, made

TWO = [
    "How old is {{ person.name }} of {{ person.city }}?",
    "What is the age of {{ person.name }} of {{ person.city }}?",
]


def worded(text: str, value: Any) -> str | None:
    phrasing = Phrasing(text)
    phrasing.check(["film"])
    return phrasing.text({"film": {"x": value}})


def test_one_of_several_phrasings_is_asked_for_each_record(sandbox: Sandbox) -> None:
    people = [(f"P{n}", "Oslo", n, []) for n in range(12)]
    questions = made(sandbox, {"question": TWO}, town=Town(people)).questions
    assert len(questions) == len({q.answers[0] for q in questions}) == 12
    assert {q.question.split()[0] for q in questions} == {"How", "What"}


def test_a_question_with_an_empty_slot_is_dropped_and_counted(sandbox: Sandbox) -> None:
    town = Town([("Ada", "", 36, []), ("Bo", "Rome", 40, [])])
    result = made(sandbox, {}, town=town)
    assert (len(result.questions), result.dropped) == (1, {"empty slot": 1})


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("{{ film.x[1] }} {{ film['x'][0] }} {{ film.x[-1] }}", ["b", "a"], "a b a"),
        ("{{ film.x | listed('or') }}?", ["Rom", "Köln", "北京"], "Rom, Köln or 北京?"),
        ("{% if film.x > 3 %}many{% else %}few{% endif %}", 3, "few"),
        ("{{ film.x.items }}", {"items": 3}, "3"),
        ("{{ film.x }}", "<b>", "<b>"),
        ("{{ film.x }}", "{{ film.y }}", "{{ film.y }}"),
        ("a{{ film.x[3] }}", ["a"], None),
        ("a{{ film.x }}", [], None),
    ],
)
def test_a_value_is_written_in_its_place(text: str, value: Any, expected: str) -> None:
    assert worded(text, value) == expected


@pytest.mark.parametrize(
    ("text", "value", "complaint"),
    [
        ("{{ film.xx }}", "a", r"no field 'xx'; did you mean 'x'\?"),
        ("{{ film }}", "a", r"a question cannot show a whole record; name one of its fields"),
        ("{{ films.x }}", "a", r"no record 'films'; did you mean 'film'\?"),
        ("a\n{{ film.x", "a", r"line 2: unexpected end of template"),
        ("{{ film.x() }}", "a", r"line 1: a question can have no 'call'"),
        ("{{ 'a' * 1000000000 }}", "a", r"a question can have no 'mul'"),
        ("{% for a in film.x %}{{ a }}{% endfor %}", "a", r"a question can have no 'for'"),
    ],
)
def test_a_slot_that_cannot_be_filled_is_named(text: str, value: Any, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        worded(text, value)


# Answers


def test_aliases_are_further_answers(sandbox: Sandbox) -> None:
    aliases = ['str(answer) + " years"', '["", answer, person["city"]]']
    ada = next(q for q in made(sandbox, {"aliases": aliases}).questions if "Ada of Oslo" in q.question)
    assert ada.answers == ["36", "36 years", "Oslo"]


def test_a_question_that_holds_its_answer_is_dropped_and_counted(sandbox: Sandbox) -> None:
    template = {"program": 'answer = person["city"]'}
    result = made(sandbox, template)
    assert (result.questions, result.dropped) == ([], {"answer in the question": 4})
    assert "Ada of Oslo" in result.examples["answer in the question"] or result.examples


@pytest.mark.parametrize(
    "change",
    [
        {"choice": True},
        {"question": "Does {{ person.name }} live in {{ person.city }} or in Bern?"},
    ],
    ids=str,
)
def test_a_choice_may_hold_its_answer(sandbox: Sandbox, change: dict[str, Any]) -> None:
    assert len(made(sandbox, {"program": 'answer = person["city"]', **change}).questions) == 4


@pytest.mark.parametrize(
    ("answer", "text", "expected"),
    [
        ("Oslo", "Where is Osloville?", False),
        ("yes", "Is it so, yes?", False),
        ("Ada; Bo", "Are Bo and Ada here?", True),
        ("北京", "北京是哪里的首都？", True),
    ],
)
def test_an_answer_stands_in_a_text_as_whole_words(answer: str, text: str, expected: bool) -> None:
    assert gives_away(text, answer) is expected


# Options

CITIES = {
    "options": ['person["city"]', '["Bern", "Oslo", "Paris"]', '"Rome"'],
    "question": "Where does {{ person.name }}, {{ person.age }}, live: {{ options | shuffled | listed('or') }}?",
    "program": 'answer = [c for c in options if c == person["city"]][0]',
}


def test_options_stand_once_each_in_an_order_that_says_nothing_of_the_answer(sandbox: Sandbox) -> None:
    town = Town([(f"P{n}", city, n, []) for n, city in enumerate(["Oslo", "Rome", "Bern", "Paris"] * 30)])
    questions = made(sandbox, CITIES, town=town, count=120).questions
    places = []
    for question in questions:
        options = question.question.rpartition(": ")[2].rstrip("?").replace(" or ", ", ").split(", ")
        assert sorted(options) == ["Bern", "Oslo", "Paris", "Rome"]
        places.append(options.index(question.answers[0]))
    assert all(15 <= places.count(place) <= 45 for place in range(4))


def test_other_records_that_make_the_same_text_make_it_ambiguous_in_whatever_order_it_stands(sandbox: Sandbox) -> None:
    town = Town([("Ada", "Oslo", 36, []), ("Ada", "Rome", 36, [])])
    result = made(sandbox, CITIES, town=town)
    assert (result.questions, set(result.dropped)) == ([], {"ambiguous"})
