"""What the answer rests on is replaced, and the gold program finds the new answer."""

import asyncio
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from r_eval.environments.aminer.environment import AMiner
from r_eval.environments.base import Environment, NotFound, query_api
from r_eval.environments.conditions.counterfactual import OLD_ANSWERS, REPLACED, UNKNOWN, Counterfactual
from r_eval.environments.conditions.replacing import Replacements, is_number
from r_eval.environments.sandbox import Sandbox, answer_text
from r_eval.environments.session import Session
from r_eval.environments.wiki.environment import Wiki
from r_eval.records import Document, Question, Step
from r_eval.seeds import Seeds
from r_eval.tasks.base import installed, task_files

ENVIRONMENTS = {"wiki": Wiki(), "aminer": AMiner()}
EMBEDDED = [name for name in sorted(task_files()) if name.partition("/")[0] in ENVIRONMENTS]
KEPT = {
    "aminer/profiling": 0,
    "aminer/soay-easy": 34,
    "aminer/soay-hard": 34,
    "wiki/2wikimultihopqa": 34,
    "wiki/copen-cic": 0,
    "wiki/copen-cpj": 0,
    "wiki/copen-csj": 0,
    "wiki/high-freq": 36,
    "wiki/hotpotqa": 33,
    "wiki/kqapro": 18,
    "wiki/low-freq": 38,
    "wiki/musique": 34,
}
"""At least so many of 40 questions. The rest are yes/no questions, counts, and questions that hold their answers."""


class Towns(Environment):
    """Towns."""

    @query_api
    def river(self, town: str) -> dict[str, Any]:
        """The river of a town.

        Args:
            town: Its name.
        """
        rivers = {"Passau": "Danube", "Bonn": "Rhine", "Riga": "Daugava"}
        if town not in rivers:
            raise NotFound(f"No town {town}; on the Danube lies Passau.")
        return {"town": town, "river": rivers[town], "length": 2850}

    def triples(self) -> Iterator[tuple[str, str, str]]:
        yield from (("Passau", "river", "Danube"), ("Bonn", "river", "Rhine"), ("Riga", "river", "Daugava"))


def asked(**changes: Any) -> Question:
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


def call(question: Question, api: str, **arguments: Any) -> Any:
    environment = Counterfactual().environment(Towns(), question, Seeds(0, question.id, 0))
    return asyncio.run(environment.open().call(api, arguments))


def test_the_new_gold_is_another_value_of_the_same_kind() -> None:
    question = under(asked())
    assert question.answers[0] in ("Rhine", "Daugava")
    assert question.meta == {REPLACED: {"Danube": question.answers[0]}, OLD_ANSWERS: ["Danube"]}
    assert (question.id, question.question) == ("q", asked().question)


def test_the_environment_says_the_new_value() -> None:
    question = under(asked())
    assert call(question, "river", town="Passau")["river"] == question.answers[0]


def test_what_is_said_when_nothing_is_found_has_the_new_value_too() -> None:
    question = under(asked())
    with pytest.raises(NotFound, match=question.answers[0]):
        call(question, "river", town="Ulm")


def test_the_old_value_is_not_known() -> None:
    with pytest.raises(NotFound, match=UNKNOWN):
        call(under(asked()), "river", town="danube")


def test_what_is_asked_for_by_its_new_name_is_found() -> None:
    question = asked(meta={REPLACED: {"Riga": "Tartu"}})
    assert call(question, "river", town="Tartu") == {"town": "Tartu", "river": "Daugava", "length": 2850}


def test_the_same_seed_draws_the_same_values_whatever_came_before() -> None:
    used = Counterfactual(seed=3)
    used.question(asked(id="other"), Towns())
    assert under(asked(), used) == under(asked(), Counterfactual(seed=3))


def test_documents_and_evidence_change_with_the_environment() -> None:
    question = under(asked(context=[Document(title="Passau", text="On the Danube.")], evidence=["Danube"]))
    new = question.answers[0]
    assert (question.context[0].text, question.evidence) == (f"On the {new}.", [new])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"answers": ["yes"], "program": "answer = True"}, "truth value or a count"),
        ({"answers": ["3"], "program": "answer = 3"}, "truth value or a count"),
        ({"answers": ["Danube"], "program": "answer = 'Danube'"}, "does not change"),
        ({"answers": ["Danube"], "program": "answer = river('Bonn')['river']"}, "does not give the gold"),
        ({"question": "Is it the Danube or the Rhine?", "program": None}, "stands in the question"),
        ({"answers": ["42"], "program": None}, "may be a count"),
        ({"answers": ["Wolga"], "program": None}, "no other value"),
    ],
)
def test_a_question_without_a_sure_new_gold_is_dropped_and_counted(changes: dict[str, Any], reason: str) -> None:
    condition = Counterfactual()
    assert condition.question(asked(**changes), Towns()) is None
    ((said, number),) = condition.dropped.items()
    assert (reason in said, number) == (True, 1)


def test_a_question_without_a_program_is_kept() -> None:
    assert under(asked(program=None)).answers != ["Danube"]


def test_a_choice_is_made_to_come_out_the_other_way() -> None:
    question = next(q for q in installed("wiki/hotpotqa").questions if q.meta["template"] == "born-first")
    found = Counterfactual().question(question, ENVIRONMENTS["wiki"])
    assert found is not None
    assert found.answers != question.answers
    assert found.answers[0] in question.question


@pytest.mark.parametrize("settings", [{"seed": "one"}, {"seed": True}, {"pool": "Oslo"}, {"kinds": [1]}])
def test_a_setting_of_another_type_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(settings))} must be"):
        Counterfactual(**settings)


def test_a_question_over_an_environment_that_fails_is_dropped() -> None:
    class Down(Towns):
        @query_api
        def river(self, town: str) -> dict[str, Any]:
            """The river of a town.

            Args:
                town: Its name.
            """
            raise RuntimeError("down")

    condition = Counterfactual()
    assert condition.question(asked(), Down()) is None
    assert list(condition.dropped) == ["the environment failed while the program ran"]


def test_it_can_be_asked_from_within_an_event_loop() -> None:
    async def inside() -> Question | None:
        return Counterfactual().question(asked(), Towns())

    assert asyncio.run(inside()) is not None


async def _oracle(question: Question, environment: Environment, sandbox: Sandbox) -> tuple[str, list[Step]]:
    steps: list[Step] = []
    session = Session(environment, sandbox, steps.append)
    result = await session.run_program(question.program or "")
    draw = random.Random(question.id)
    for value in draw.sample(sorted({*question.meta[REPLACED].values(), *question.evidence, question.question}), 1):
        for api, spec in session.specs.items():
            await session.call(api, dict.fromkeys(list(spec.json_schema()["properties"])[:1], value))
    return answer_text(result.answer), steps


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_oracle_gives_every_new_gold_and_no_observation_holds_an_old_value(name: str) -> None:
    bare, condition = ENVIRONMENTS[name.partition("/")[0]], Counterfactual()
    found = [condition.question(question, bare) for question in installed(name).questions[::2]]
    kept = [question for question in found if question is not None]
    assert len(kept) >= KEPT[name] // 2 - 2, condition.dropped
    assert len(kept) + condition.dropped.total() == len(found)

    async def all_of_them(sandbox: Sandbox) -> None:
        for question in kept:
            environment = condition.environment(bare, question, Seeds(0, question.id, 0))
            answer, steps = await _oracle(question, environment, sandbox)
            assert answer.casefold() in [gold.casefold() for gold in question.answers], question
            changes = Replacements(question.meta[REPLACED])
            counted = re.compile(r"^\d+ results?\.\n")
            seen = [counted.sub("", step.observation or "") for step in steps]
            assert not [text for text in seen if changes.traces(text)], question

    with Sandbox(1) as sandbox:
        asyncio.run(all_of_them(sandbox))


def test_a_number_that_the_program_computes_comes_out_of_the_new_ones() -> None:
    names = ("older-by-years", "year-of-life", "melting-difference")
    questions = [q for q in installed("wiki/kqapro").questions if q.meta["template"] in names]
    found = [Counterfactual().question(question, ENVIRONMENTS["wiki"]) for question in questions]
    kept = [question for question in found if question is not None]
    assert kept
    assert all(is_number(question.answers[0]) for question in kept)
    assert not any(set(question.meta[OLD_ANSWERS]) & set(question.meta[REPLACED]) for question in kept)
