"""How a question is written: phrasings, languages, numbers and dates, and what its answer and entities are."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from r_eval import UserError
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import MissingExtra
from r_eval.tasks.templates import TemplateFile, read_templates
from r_eval.tasks.templates.formats import formatted, locale_of
from r_eval.tasks.templates.gold import gives_away
from r_eval.tasks.templates.render import Phrasing
from tests.towns import BASE, LISTED, Town, made

TWO = [
    "How old is {{ person.name }} of {{ person.city }}?",
    "What is the age of {{ person.name }} of {{ person.city }}?",
]


def worded(text: str, value: Any, language: str | None = None) -> str | None:
    phrasing = Phrasing(text, language)
    phrasing.check(["film"])
    return phrasing.text({"film": {"x": value}})


def test_one_of_several_phrasings_is_asked_for_each_record(sandbox: Sandbox) -> None:
    people = [(f"P{n}", "Oslo", n, []) for n in range(12)]
    questions = made(sandbox, {"question": TWO}, town=Town(people)).questions
    assert len(questions) == len({q.answers[0] for q in questions}) == 12
    assert {q.question.split()[0] for q in questions} == {"How", "What"}


def test_the_seed_chooses_among_phrasings(sandbox: Sandbox) -> None:
    chosen = {frozenset(q.question for q in made(sandbox, {"question": TWO}, seed=seed).questions) for seed in range(6)}
    assert len(chosen) > 1


def test_a_phrasing_with_an_empty_slot_is_left_to_the_others(sandbox: Sandbox) -> None:
    town = Town([("Ada", "", 36, []), ("Bo", "", 40, [])])
    texts = {
        q.question for q in made(sandbox, {"question": [TWO[0], "How old is {{ person.name }}?"]}, town=town).questions
    }
    assert texts == {"How old is Ada?", "How old is Bo?"}


def test_a_question_with_an_empty_slot_is_dropped_and_counted(sandbox: Sandbox) -> None:
    town = Town([("Ada", "", 36, []), ("Bo", "Rome", 40, [])])
    result = made(sandbox, {}, town=town)
    assert (len(result.questions), result.dropped) == (1, {"empty slot": 1})


# Languages

BOTH = {"en": TWO, "zh": "住在{{ person.city }}的{{ person.name }}多大年纪？"}


def languages(result: Any) -> list[str]:
    return sorted({q.meta.get("language", "none") for q in result.questions})


def test_the_first_language_is_made_unless_others_are_asked_for(sandbox: Sandbox) -> None:
    assert languages(made(sandbox, {"question": BOTH})) == ["en"]


def test_a_language_can_be_asked_for(sandbox: Sandbox) -> None:
    result = made(sandbox, {"question": BOTH}, languages=["zh"])
    assert languages(result) == ["zh"]
    assert {q.question for q in result.questions} == {f"住在{city}的{name}多大年纪？" for name, city, *_ in LISTED}


def test_several_languages_ask_the_same_in_turn(sandbox: Sandbox) -> None:
    result = made(sandbox, {"question": BOTH}, languages=["en", "zh"], count=4)
    assert [q.meta["language"] for q in result.questions] == ["en", "zh", "en", "zh"]
    assert result.questions[0].program == result.questions[1].program


def test_a_question_that_names_no_language_is_english(sandbox: Sandbox) -> None:
    result = made(sandbox, {}, {"id": "both", "question": BOTH}, languages=["zh"])
    assert {q.meta["template"] for q in result.questions} == {"both"}


def test_a_language_that_no_template_has_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(UserError, match=r"no template is written in fr; known: en, zh"):
        made(sandbox, {"question": BOTH}, languages=["fr"])


def test_the_files_languages_are_those_that_are_made() -> None:
    file = TemplateFile.model_validate({"environment": "x", "languages": ["zh"], "templates": [BASE]})
    assert file.languages == ["zh"]


# Numbers and dates


@pytest.mark.parametrize(
    ("text", "value", "language", "expected"),
    [
        ("{{ film.x | number }}", 1234567, None, "1,234,567"),
        ("{{ film.x | number }}", 1234567, "de", "1.234.567"),
        ("{{ film.x | number }}", 0.12345, "en", "0.12345"),
        ("{{ film.x | number }}", "12000", "en", "12,000"),
        ("{{ film.x | date }}", "1969-07-20", "en", "Jul 20, 1969"),
        ("{{ film.x | date_long }}", "1969-07-20", "en", "July 20, 1969"),
        ("{{ film.x | date_long }}", "1969-07-20", "zh", "1969年7月20日"),
        ("{{ film.x | date_long }}", "1969-07-20T00:00:00Z", "de", "20. Juli 1969"),
        ("{{ film.x | date_long }}", "1969-07", "en", "July 1969"),
        ("{{ film.x | date }}", "1969", "en", "1969"),
        ("{{ film.x[1] }} {{ film['x'][0] }}", ["b", "a"], None, "a b"),
        ("{{ film.x | listed('or') }}?", ["Rom", "Köln", "北京"], None, "Rom, Köln or 北京?"),
        ("{{ film.x[:2] | join(' / ') | upper }}", ["a", "b", "c"], None, "A / B"),
        ("{% if film.x > 3 %}many{% else %}few{% endif %}", 3, None, "few"),
        ("{{ 'no' if film.x is none else film.x }}", None, None, "no"),
        ("{{ film.x.items }}", {"items": 3}, None, "3"),
        ("{{ '{' }}{{ film.x }}}", 3, None, "{3}"),
        ("{{ film.x }}", "<b>", None, "<b>"),
        ("{{ film.x }}", "{{ film.y }}", None, "{{ film.y }}"),
        ("a{{ film.x[3] }}", ["a"], None, None),
        ("a{{ film.x.name }}", None, None, None),
        ("a{{ film.x }}", [], None, None),
    ],
)
def test_a_value_is_written_in_its_format(text: str, value: Any, language: str | None, expected: str) -> None:
    pytest.importorskip("babel", reason="babel is not installed: pip install 'r-eval[languages]'")
    assert worded(text, value, language) == expected


@given(st.integers(-(10**20), 10**20), st.sampled_from(["en", "de", "fr", "zh", "pt_BR"]))
def test_a_number_keeps_its_digits_in_every_language(number: int, language: str) -> None:
    pytest.importorskip("babel", reason="babel is not installed: pip install 'r-eval[languages]'")
    assert "".join(c for c in formatted(number, "number", language) if c.isdigit()) == str(abs(number))


@given(st.dates(min_value=datetime.date(1000, 1, 1)), st.sampled_from(["en", "de", "zh"]))
def test_a_date_keeps_its_year_and_day_in_every_language(date: Any, language: str) -> None:
    pytest.importorskip("babel", reason="babel is not installed: pip install 'r-eval[languages]'")
    shown = formatted(date.isoformat(), "date-long", language)
    assert str(date.year) in shown
    assert str(date.day) in shown


@pytest.mark.parametrize(
    ("text", "value", "complaint"),
    [
        ("{{ film.x | number }}", "many", r"'many' is no number"),
        ("{{ film.x | date }}", "yesterday", r"'yesterday' is no date; a date is written as 1969-07-20"),
        ("{{ film.x | date }}", "1969-13-01", r"month must be"),
        ("{{ film.x.y }}", "a", r"no field 'y'"),
        ("{{ film.xx }}", "a", r"no field 'xx'; did you mean 'x'\?"),
        ("{{ film }}", "a", r"a record cannot stand in a question; name a field of it"),
        ("{{ film.x.__class__ }}", "a", r"no field '__class__'"),
        ("{{ films.x }}", "a", r"no record 'films'; did you mean 'film'\?"),
        ("a\n{{ film.x", "a", r"line 2: unexpected end of template"),
        ("{{ film.x() }}", "a", r"line 1: a question can have no 'call'"),
        ("{{ 'a' * 1000000000 }}", "a", r"a question can have no 'mul'"),
        ("{% for a in film.x %}{{ a }}{% endfor %}", "a", r"a question can have no 'for'"),
        ("{% set a = 3 %}{{ a }}", "a", r"a question can have no 'assign'"),
        ("{{ film.x | center(1000000000) }}", "a", r"line 1: No filter named 'center'"),
        ("{% include 'x' %}", "a", r"a question can have no 'include'"),
    ],
)
def test_a_slot_that_cannot_be_filled_is_named(text: str, value: Any, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        worded(text, value)


def test_a_language_that_nobody_knows_is_refused() -> None:
    pytest.importorskip("babel", reason="babel is not installed: pip install 'r-eval[languages]'")
    with pytest.raises(UserError, match="the language 'xx' is not known"):
        worded("{{ film.x | number }}", 3, "xx")


def test_without_babel_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "babel", None)
    locale_of.cache_clear()
    with pytest.raises(MissingExtra, match=r"babel: type  pip install 'r-eval\[languages\]'"):
        worded("{{ film.x | number }}", 3)


# Answers


def test_aliases_are_further_answers(sandbox: Sandbox) -> None:
    aliases = ['str(answer) + " years"', '["", answer, person["city"]]']
    ada = next(q for q in made(sandbox, {"aliases": aliases}).questions if "Ada of Oslo" in q.question)
    assert ada.answers == ["36", "36 years", "Oslo"]


def test_entities_are_worked_out_over_the_program_and_the_records(sandbox: Sandbox) -> None:
    questions = made(sandbox, {"entities": ['[person["name"], found[0]["city"]]'], "evidence": ["answer"]}).questions
    ada = next(q for q in questions if "Ada of Oslo" in q.question)
    assert (ada.entities, ada.evidence) == (["Ada", "Oslo"], ["36"])


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
        {"question": "Of {{ person.name }}, {{ other.city }}, {{ person.city }}: where?", "let": {"other": "person"}},
        {"question": "{{ person.name }} {{ person.city }} 或 Bern?"},
    ],
    ids=str,
)
def test_a_choice_may_hold_its_answer(sandbox: Sandbox, change: dict[str, Any]) -> None:
    assert len(made(sandbox, {"program": 'answer = person["city"]', **change}).questions) == 4


@pytest.mark.parametrize(
    ("answer", "text", "expected"),
    [
        ("Oslo", "Where is oslo?", True),
        ("Oslo", "Where is Osloville?", False),
        ("3", "Which 3 are there?", True),
        ("3", "Which 30 are there?", False),
        ("yes", "Is it so, yes?", False),
        ("Ada; Bo", "Are Bo and Ada here?", True),
        ("Ada; Bo", "Is Ada here?", False),
        ("北京", "北京是哪里的首都？", True),
        ("東京", "北京是哪里的首都？", False),
        ("!", "What!", False),
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


def test_the_order_of_options_depends_on_the_seed_and_the_text_alone(sandbox: Sandbox) -> None:
    orders = {}
    for seed in (1, 2):
        questions = made(sandbox, CITIES, seed=seed).questions
        assert {q.question for q in questions} == {
            q.question for q in made(sandbox, CITIES, seed=seed, ahead=1).questions
        }
        orders[seed] = {q.question for q in questions}
    assert orders[1] != orders[2]


def test_other_records_that_make_the_same_text_make_it_ambiguous_in_whatever_order_it_stands(sandbox: Sandbox) -> None:
    town = Town([("Ada", "Oslo", 36, []), ("Ada", "Rome", 36, [])])
    result = made(sandbox, CITIES, town=town)
    assert (result.questions, set(result.dropped)) == ([], {"ambiguous"})


# Mistakes in a file


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"question": []}, r"templates\.0\.question: .*at least 1"),
        ({"question": {"English": "x"}}, r"templates\.0: 'English' is no language; write it as en, zh or pt_BR"),
        ({"question": {"en": 3}}, r"templates\.0\.question\.en: "),
        ({"let": {"other": {"form": "person"}}}, r"templates\.0\.let\.other\.(form|from): "),
        ({"let": {"person": "person"}}, r"templates\.0: let: 'person' is the name of the first record"),
        ({"let": {"a b": "person"}}, r"templates\.0: 'a b' cannot name a record"),
        ({"let": {"options": "person"}}, r"templates\.0: 'options' is the name of the choices"),
        ({"alias": ["x"]}, r"templates\.0\.alias: "),
    ],
    ids=str,
)
def test_a_mistake_in_the_file_is_named_with_its_key(tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    text = yaml.safe_dump({"environment": "town", "templates": [{**BASE, **change}]}, allow_unicode=True)
    (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=complaint) as raised:
        read_templates(tmp_path / "t.yaml")
    assert "\n" not in str(raised.value)
