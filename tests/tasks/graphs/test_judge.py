"""The filters: rules, named entities, and those that ask an LLM."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Sequence
from importlib.util import find_spec
from string import Template
from typing import Any

import pytest

from r_eval.records import Question
from r_eval.tasks.graphs.ask import QuestionPlan, plans
from r_eval.tasks.graphs.graph import Graph, Subgraph, Triple, sample
from r_eval.tasks.graphs.graph_file import GraphPart
from r_eval.tasks.graphs.judge import (
    grade_in,
    mentions_entity,
    named_entities,
    presence,
    rejection,
    rule_violation,
    trim,
)
from r_eval.tasks.graphs.wording import prompt_parts
from r_eval.tasks.llm_client import LLMClient, prompt_file
from tests.tasks.graphs.scripts import name

VOICE = Subgraph("simple", (("Morty Smith", "voice", "Harry Belden"),), ("Morty Smith", "Harry Belden"))
FORWARD = plans(VOICE)[0]
SET = plans(Subgraph("set", (("A", "r", "Lima"), ("A", "r", "Oslo")), ("Lima", "Oslo"), "A", "S"))[0]


def over_bridge(fact: Triple = ("Norway", "currency", "krone")) -> QuestionPlan:
    """From Maud over Norway to something."""
    (found,) = sample(Graph([("Maud", "born in", "Norway"), fact]), "multi-hop", 0)
    return next(plan for plan in plans(found) if plan.entities == ("Maud",))


@pytest.mark.parametrize(
    ("plan", "text", "invents", "reason"),
    [
        (FORWARD, "Who lends Morty Smith a voice?", False, None),
        (FORWARD, "Who lends the boy a voice?", False, "entity not named"),
        (FORWARD, "Does Harry Belden lend Morty Smith a voice?", False, "answer in question"),
        (FORWARD, "Who gave Morty Smith a voice in 2013?", False, "number from nowhere"),
        (over_bridge(), "What is the currency of Norway, where Maud was born?", False, "bridge named"),
        (
            over_bridge(("Norway", "bank", "Bank of Norway")),
            "What is the bank of the country in which Maud was born?",
            False,
            "bridge named",
        ),
        (SET, "What does A have besides Lima?", False, "answer in question"),
    ],
)
def test_what_a_question_gives_away_or_leaves_out(
    plan: QuestionPlan, text: str, invents: bool, reason: str | None
) -> None:
    assert rule_violation(plan, text, invents) == reason


def test_the_trim_takes_both_ends_and_nothing_where_all_are_alike() -> None:
    values = [presence(FORWARD, f"Who is {text}?", "Harry Belden") for text in (*["Morty Smith"] * 18, "Mort", "Smit")]
    assert [place for place, keep in enumerate(trim([*values[:18], 3.0, 200.0], 0.05)) if not keep] == [18, 19]
    assert all(trim(values[:18], 0.05))
    assert values[0] == 100 > min(values)
    assert trim([1.0, 2.0, 3.0], 0) == [True] * 3


@pytest.mark.parametrize(
    ("entities", "expected"),
    [(["Harry Belden"], True), (["Harri Beldens"], True), (["Oslo"], False)],
)
def test_a_name_of_the_question_is_an_entity_of_the_document_in_any_inflection(
    entities: list[str], expected: bool
) -> None:
    assert mentions_entity(FORWARD, entities) is expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [("finds_names", ["Oslo", "Norway"]), ("finds_names_in_objects", ["Oslo", "Norway"]), ("rambles", [])],
)
def test_an_llm_names_the_entities_of_a_document(function: str, expected: list[str]) -> None:
    text = "Oslo lies in Norway, on a fjord."
    assert asyncio.run(named_entities(text, LLMClient(name(function)))) == expected


@pytest.mark.skipif(find_spec("natasha") is None, reason="natasha is not installed")
def test_natasha_names_the_entities_of_a_russian_document() -> None:
    found = asyncio.run(named_entities("Иван Петров открыл завод в Москве.", LLMClient(name("fails"))))
    assert found == ["Иван Петров", "Москве"]


QUESTION = Question(id="q", question="Where was Ibsen played?", answers=["Oslo"], level="KS")


def same(answer: str, golds: Sequence[str]) -> float:
    return float(answer in golds)


def judged(question: Question = QUESTION, **filters: Any) -> str | None:
    async def ask() -> str | None:
        part = GraphPart.model_validate({"llm": name("words_it"), "filters": filters})
        async with contextlib.AsyncExitStack() as stack:
            clients = {llm: await stack.enter_async_context(LLMClient(llm)) for llm in part.llms}
            return await rejection(question, "(Ibsen | played in | Oslo)", part.filters, clients, same)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ({"closed_book": name("knows_oslo")}, "answered without context"),
        ({"fluency": name("likes_all"), "judge": name("likes_all")}, None),
        ({"judge": name("dislikes_clarity")}, "judge: clarity"),
        ({"fluency": name("grades_none")}, "fluency"),
        ({"judge": name("will_not_grade")}, "judge: no grade in the reply"),
    ],
    ids=str,
)
def test_a_filter_drops_a_question_with_its_reason(filters: dict[str, Any], reason: str | None) -> None:
    assert judged(**filters) == reason


@pytest.mark.parametrize("text", ["易卜生的戏在哪里上演？", "Где шли пьесы Ибсена?"])
def test_a_question_is_judged_in_its_language(text: str) -> None:
    assert judged(QUESTION.model_copy(update={"question": text}), judge=name("grades_in_kind")) is None


SLOTS = re.compile(r"\$\w+")


@pytest.mark.parametrize("language", ["zh", "ru"])
def test_prompts_have_the_same_parts_in_every_language(language: str) -> None:
    for file in ("extract", "match", "entities", "closed_book"):
        slots = {one: sorted(SLOTS.findall(prompt_file(f"{file}.{one}.md"))) for one in ("en", language)}
        assert slots[language] == slots["en"]
    for file in ("word", "grade"):
        english, other = prompt_parts(file, "en"), prompt_parts(file, language)
        assert sorted(Template(other["prompt"]).get_identifiers()) == sorted(
            Template(english["prompt"]).get_identifiers()
        )
        assert {key: value.keys() for key, value in other.items() if isinstance(value, dict)} == {
            key: value.keys() for key, value in english.items() if isinstance(value, dict)
        }


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ('Here: ```json\n{"score": "1"}\n```', 1),
        ("I give it 1, because it is odd.", 1),
        ('{"score": 2.0}', 2),
        ("Score: 1 out of 2", 1),
        ("评分：2分", 2),
        ("", None),
    ],
)
def test_a_grade_is_read_out_of_a_reply(reply: str, grade: int | None) -> None:
    assert grade_in(reply) == grade
