"""What the answer rests on is replaced, and the gold program finds the new answer."""

import asyncio
import functools
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from r_eval.analysis.robustness import verdict
from r_eval.environments.base import Environment, NotFound, query_api
from r_eval.environments.conditions.combined import Combined
from r_eval.environments.conditions.counterfactual import OLD_ANSWERS, REPLACED, Counterfactual
from r_eval.environments.conditions.replacing import Replacements, normal
from r_eval.environments.sandbox import Sandbox, answer_text
from r_eval.environments.session import Session
from r_eval.records import Document, Question, Step
from r_eval.seeds import Seeds
from r_eval.tasks.base import installed, open_environment, task_files

EMBEDDED = [
    *(name for name in sorted(task_files()) if name.startswith(("wiki/", "aminer/"))),
    *(f"crud/qa-{n}doc{language}" for n in (1, 2, 3) for language in ("", "-en")),
]


@functools.cache
def environment_of(name: str) -> Environment:
    task = installed(name)
    return open_environment(task.environment, task.settings)


class Towns(Environment):
    """Towns."""

    @query_api
    def river(self, town: str) -> dict[str, Any]:
        """The river of a town.

        Args:
            town: Its name.
        """
        rivers = {"Passau": "Danube", "Bonn": "Rhine", "Riga": "Daugava"}
        assert town != "down"
        if town not in rivers:
            raise NotFound(f"No town {town}; on the Danube lies Passau.")
        return {"town": town, "river": rivers[town], "length": 2850}

    def triples(self) -> Iterator[tuple[str, str, str]]:
        yield from (("Passau", "river", "Danube"), ("Bonn", "river", "Rhine"), ("Riga", "river", "Daugava"))


def question_with(**changes: Any) -> Question:
    fields = {
        "id": "q",
        "question": "On which river lies Passau?",
        "answers": ["Danube"],
        "level": "KS",
        "program": "answer = river('Passau')['river']",
        **changes,
    }
    return Question(**fields)


def under(question: Question, condition: Counterfactual | None = None) -> Question:
    found = (condition or Counterfactual()).question(question, Towns())
    assert found is not None
    return found


def world_of(question: Question, bare: Environment) -> Environment:
    """The environment in which a question is asked under the condition."""
    condition = Counterfactual()
    return Combined(condition.name, (condition,)).environment(bare, question, Seeds(0, question.id, 0))


def call(question: Question, api: str, **arguments: Any) -> Any:
    return asyncio.run(world_of(question, Towns()).open().call(api, arguments)).value


def test_the_new_gold_is_another_value_of_the_same_kind() -> None:
    question = under(question_with())
    assert question.answers[0] in ("Rhine", "Daugava")
    assert question.meta == {REPLACED: {"Danube": question.answers[0]}, OLD_ANSWERS: ["Danube"]}
    assert (question.id, question.question) == ("q", question_with().question)


@pytest.mark.parametrize("town", ["Danube", "danube", "DANUBE", "Ulm"])
def test_every_text_says_the_new_value_and_an_old_one_is_a_name_that_nobody_has_heard_of(town: str) -> None:
    question = under(question_with())
    assert call(question, "river", town="Passau")["river"] == question.answers[0]
    with pytest.raises(NotFound) as caught:
        call(question, "river", town=town)
    assert str(caught.value) == f"No town {town}; on the {question.answers[0]} lies Passau."


def test_the_same_seed_draws_the_same_values_whatever_came_before() -> None:
    used = Counterfactual(seed=3)
    used.question(question_with(id="other"), Towns())
    assert under(question_with(), used) == under(question_with(), Counterfactual(seed=3))


def test_documents_and_evidence_change_with_the_environment() -> None:
    documents = {"context": [Document(title="Passau", text="On the Danube.")], "meta": {"sources": ["On the Danube."]}}
    question = under(question_with(**documents, evidence=["Danube"]))
    new = question.answers[0]
    assert (question.context[0].text, question.evidence) == (f"On the {new}.", [new])
    assert question.meta["sources"] == [f"On the {new}."]
    assert call(question_with(meta={REPLACED: {"Riga": "Tartu"}}), "river", town="Tartu")["river"] == "Daugava"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"answers": ["yes"], "program": None}, "truth value or a count"),
        ({"answers": ["3"], "program": None}, "truth value or a count"),
        ({"answers": ["yes"], "program": "answer = True"}, "nothing"),
        ({"answers": ["3"], "program": "answer = 3"}, "nothing"),
        ({"answers": [f"Passau {'lies on a river ' * 5}"], "program": None}, "whole text"),
        ({"answers": ["Danube"], "program": "answer = 'Danube'"}, "does not change"),
        ({"answers": ["Danube"], "program": "answer = river('Bonn')['river']"}, "does not give the gold"),
        ({"question": "Is it the Danube or the Rhine?", "program": None}, "appears in the question"),
        ({"answers": ["42"], "program": None}, "may be a count"),
        ({"answers": ["Wolga"], "program": None}, "no other value"),
    ],
)
def test_a_question_without_a_sure_new_gold_is_dropped_and_counted(changes: dict[str, Any], reason: str) -> None:
    condition = Counterfactual()
    assert condition.question(question_with(**changes), Towns()) is None
    ((why, number),) = condition.dropped.items()
    assert (reason in why, number) == (True, 1)


def test_a_question_over_an_environment_that_fails_is_dropped() -> None:
    condition = Counterfactual()
    assert condition.question(question_with(program="answer = river('down')"), Towns()) is None
    assert list(condition.dropped) == ["the environment failed while the program ran"]


def test_it_can_be_asked_from_within_an_event_loop() -> None:
    async def inside() -> Question | None:
        return Counterfactual().question(question_with(), Towns())

    assert asyncio.run(inside()) is not None


async def _oracle(question: Question, environment: Environment, sandbox: Sandbox) -> tuple[str, list[Step]]:
    steps: list[Step] = []
    session = Session(environment, sandbox, steps.append)
    result = await session.run_program(question.program or "")
    value = random.Random(question.id).choice(sorted({*question.meta[REPLACED].values(), *question.evidence}))
    for api, spec in session.specs.items():
        await session.call(api, dict.fromkeys(list(spec.json_schema()["properties"])[:1], value))
    return answer_text(result.answer), steps


@pytest.mark.parametrize("name", EMBEDDED)
def test_who_reads_is_faithful_who_remembers_leaks_and_no_observation_holds_an_old_value(name: str) -> None:
    bare, condition = environment_of(name), Counterfactual()
    questions = installed(name).questions
    found = [condition.question(question, bare) for question in questions[:: len(questions) // 6]]
    remaining = [question for question in found if question is not None]
    assert len(remaining) * 2 >= len(found), condition.dropped
    assert len(remaining) + condition.dropped.total() == len(found)

    async def all_of_them(sandbox: Sandbox) -> None:
        for question in remaining:
            answer, steps = await _oracle(question, world_of(question, bare), sandbox)
            new, old = question.answers, question.meta[OLD_ANSWERS]
            assert answer.casefold() in [normal(gold).casefold() for gold in new] or normal(answer) in new, question
            assert {verdict(gold, new, old) for gold in (answer, *new)} == {"faithful"}, question
            assert {verdict(gold, new, old) for gold in old} == {"leaked"}, question
            changes = Replacements(question.meta[REPLACED])
            counted = re.compile(r"^\d+ results?\.\n")
            seen = [counted.sub("", step.observation or "") for step in steps]
            assert not [text for text in seen if changes.traces(text)], question

    with Sandbox(1) as sandbox:
        asyncio.run(all_of_them(sandbox))


def changed(name: str, template: str) -> tuple[Question, Question]:
    """The first question of a template, before and after."""
    question = next(q for q in installed(name).questions if q.meta["template"] == template)
    found = Counterfactual().question(question, environment_of(name))
    assert found is not None
    return question, found


@pytest.mark.parametrize(("template", "new"), [("inherited-by-a-country", "false"), ("language", "true")])
def test_a_truth_value_comes_out_the_other_way(template: str, new: str) -> None:
    question, found = changed("wiki/copen-cpj", template)
    assert (question.question, found.answers) == (found.question, [new])


def test_a_question_that_quotes_what_it_asks_about_changes_with_the_environment() -> None:
    question, found = changed("aminer/profiling", "doctorate")
    university, year = question.answers[0].split("; ")
    assert found.question == Replacements(found.meta[REPLACED]).forward(question.question)
    assert university not in found.question
    assert found.answers[0].split("; ")[0] in found.question
    assert year not in found.answers[0]
    question, found = changed("aminer/profiling", "position-teaching")  # all positions stand in the question
    (old,), (new,) = question.answers, found.answers
    assert found.meta[REPLACED][old] == new
    assert found.meta[REPLACED].get(new, old) == old
    assert new in found.question  # be it among the labels, or in the place of one


def test_a_change_under_which_a_call_fails_that_did_not_is_none() -> None:
    program = "try:\n    answer = river('Passau')['river'] == 'Danube'\nexcept Exception:\n    answer = False"
    question = question_with(question="Does Passau lie on a river, the Danube?", answers=["yes"], program=program)
    found = under(question.model_copy(update={"evidence": ["Passau", "Danube"]}))
    assert found.answers == ["no"]
    assert "Passau" not in found.meta[REPLACED]


def test_a_program_that_reads_by_the_words_around_the_old_value_gets_the_new_ones() -> None:
    program = "import re\nanswer = re.search('(Danube)', river('Passau')['river']).group(1)"
    found = under(question_with(program=program, evidence=["Danube"]))
    assert found.program == program.replace("Danube", found.answers[0])
