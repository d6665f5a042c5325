"""Records joined to others, and whether a question has one answer only, whichever of them were drawn."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval import UserError
from r_eval.environments.sandbox import Sandbox
from tests.towns import LISTED, Town, made

NEIGHBOURS: dict[str, Any] = {
    "let": {"other": {"from": "person", "match": {"city": 'person["city"]'}}},
    "where": 'other["name"] != person["name"]',
    "question": "How much older is {{ other.name }} than {{ person.name }}, both of {{ person.city }}?",
    "program": 'answer = str(other["age"] - person["age"]) + " years"',
}


def texts(sandbox: Sandbox, template: dict[str, Any], people: Any = LISTED, **how: Any) -> dict[str, str]:
    return {q.question: q.answers[0] for q in made(sandbox, template, town=Town(people), **how).questions}


def test_a_join_by_a_field_takes_the_records_that_are_equal_there(sandbox: Sandbox) -> None:
    assert texts(sandbox, NEIGHBOURS) == {
        "How much older is Alan than Ada, both of Oslo?": "5 years",
        "How much older is Ada than Alan, both of Oslo?": "-5 years",
    }


def test_a_join_by_a_condition_sees_the_names_above_it(sandbox: Sandbox) -> None:
    join = {"from": "person", "where": 'person["age"] < other["age"] < 50'}
    template = {
        **NEIGHBOURS,
        "let": {"other": join},
        "question": "{{ other.name }} {{ other.city }}, {{ person.city }}?",
    }
    found = texts(sandbox, template)
    assert found == {"Alan Oslo, Oslo?": "5 years", "Alan Oslo, Lima?": "12 years"}


# Only one answer


def test_two_templates_that_make_one_text_must_give_one_answer(sandbox: Sandbox) -> None:
    other = {"id": "likes", "program": 'answer = person["likes"][0]'}
    result = made(sandbox, {}, other)
    assert (result.questions, result.dropped["ambiguous"]) == ([], 8)


PEOPLE = st.lists(
    st.tuples(st.sampled_from("AB"), st.sampled_from("XY"), st.integers(1, 3), st.just(["a"])), min_size=1, max_size=6
)


@given(PEOPLE, st.sampled_from(["person", {"from": "person", "match": {"city": 'person["city"]'}}]), st.integers(0, 3))
@settings(max_examples=25)
def test_no_question_is_kept_that_some_records_would_answer_otherwise(
    sandbox: Sandbox, people: list[tuple[str, str, int, list[str]]], let: Any, seed: int
) -> None:
    template = {
        "let": {"other": let},
        "question": "What is the distance of {{ person.name }} and {{ other.name }}?",
        "program": 'answer = "d" + str(person["age"] - other["age"])',
    }
    possible: dict[str, set[str]] = {}
    for name, city, age, _ in people:
        for name_, city_, age_, _ in people:
            if let == "person" or city == city_:
                possible.setdefault(f"What is the distance of {name} and {name_}?", set()).add(f"d{age - age_}")
    found = texts(sandbox, template, people, seed=seed)
    assert all(possible[text] == {answer} for text, answer in found.items())
    if let != "person":
        assert set(found) == {text for text, answers in possible.items() if len(answers) == 1}


# Mistakes


def test_a_join_of_too_many_pairs_is_refused(sandbox: Sandbox) -> None:
    town = Town([(f"P{n}", "Oslo", n, []) for n in range(1200)])
    join = {"from": "person", "where": 'other["age"] > person["age"]'}
    with pytest.raises(UserError, match=r"let\.other: 1,440,000 sets of records, more than 1,000,000; narrow it"):
        made(sandbox, {"let": {"other": join}}, town=town)
