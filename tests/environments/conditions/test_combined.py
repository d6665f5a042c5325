"""Conditions by name, alone and nested: each does its own, keeps its rate, and knows no gold answer."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
from collections.abc import Sequence
from typing import Any

import pytest

from r_eval.environments import Environment, Observation, TemporaryFailure, ToolError, query_api
from r_eval.environments.base import observe
from r_eval.environments.conditions.base import Wrapped
from r_eval.environments.conditions.combined import Combined, combine
from r_eval.environments.conditions.counterfactual import REPLACED, Counterfactual
from r_eval.environments.documents import Documents
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.environments.wiki import Wiki
from r_eval.errors import UserError
from r_eval.records import Document, Question, Step
from r_eval.seeds import Seeds

SEEDS = Seeds(0, "q1", 0)


@pytest.mark.parametrize(
    ("kinds", "settings", "message"),
    [
        (["fualty"], {}, "unknown condition 'fualty'. Did you mean faulty? Known: counterfactual, "),
        (["faulty"], {"rat": 0.1}, "condition 'x': unknown setting 'rat'. Did you mean rate?"),
        (["faulty"], {"rate": 2}, "condition 'x': rate: must be at most 1.0, not 2"),
        (["counterfactual"], {"kinds": "town"}, "kinds: must be a valid tuple, not 'town'"),
        (["faulty", "faulty"], {}, "condition 'x': duplicate condition faulty"),
        (["clean", "faulty"], {}, "condition 'x': clean is the bare environment, and combines with nothing"),
        (["json:JSONDecoder"], {}, "json:JSONDecoder is not a subclass of "),
    ],
)
def test_what_makes_no_sense_is_refused(kinds: list[str], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        combine("x", kinds, settings)


@pytest.mark.parametrize(
    ("inner", "api", "arguments"),
    [
        (Wiki(), "Search", {"entity": "Kenya"}),
        (Documents().for_documents([Document(title="Tea", text="Black tea.")]), "retrieve", {"query": "tea"}),
    ],
)
def test_every_part_of_an_environment_is_passed_on(inner: Environment, api: str, arguments: dict[str, Any]) -> None:
    outer = Wrapped(inner)
    assert (outer.specs(), outer.description, outer.version) == (inner.specs(), inner.description, inner.version)
    assert list(outer.triples()) == list(inner.triples())
    seen = asyncio.run(outer.open().call(api, arguments))
    assert seen == asyncio.run(observe(inner.open(), api, arguments))
    assert outer.render(api, seen.value) == seen.text
    assert tuple(outer.retrieved_ids(api, seen.value)) == seen.retrieved_ids
    with pytest.raises(KeyError):
        outer.records("shelf")
    public = {name for name in vars(Environment) if not name.startswith("_")}
    assert public - {"query_apis", "timeout", "copies_state"} <= set(vars(Wrapped))


class Articles(Environment):
    """Articles about a town on the Danube."""

    @query_api
    def search(self, words: str, top_k: int = 2) -> list[dict[str, str]]:
        """Find articles.

        Args:
            words: What to look for, such as Łódź.
            top_k: How many.
        """
        if words == "nothing":
            raise TemporaryFailure("Łódź is closed.")
        return [{"id": f"a{n}", "text": f"Article {n} says that Łódź has {n} parks."} for n in range(top_k)]

    @query_api
    def titled(self, words: str) -> Observation[list[str]]:
        """Find titles."""
        if words == "closed":
            raise ToolError(f"No {words} in Łódź.")
        return Observation(["Łódź", "Kraków"], f"Titles: Łódź and Kraków, not {words}", ["t1", "t2"])


def question_with(n: int, **changes: Any) -> Question:
    return Question(id=f"q{n}", question="How many parks?", answers=["no such answer"], level="KS", **changes)


async def calls(combined: Combined, n: int, made: Sequence[tuple[str, dict[str, Any]]], sandbox: Sandbox) -> list[Step]:
    """The steps of an episode under nested conditions, as a run plans and makes it."""
    steps: list[Step] = []
    question = question_with(n, meta={REPLACED: {"Łódź": "Gdańsk"}})
    for part in combined.parts:
        if not isinstance(part, Counterfactual):  # whose question is made above
            question = part.question(question, Articles()) or question
    session = Session(combined.environment(Articles(), question, Seeds(0, f"q{n}", 0)), sandbox, steps.append)
    for api, arguments in made:
        await session.call(api, arguments)
    return steps


ORDERS = [
    ["faulty", "noisy"],
    ["noisy", "faulty"],
    ["faulty", "counterfactual"],
    ["faulty", "noisy", "counterfactual"],
    ["counterfactual", "noisy", "faulty"],
    ["noisy", "counterfactual", "faulty"],
]


def failures(order: Sequence[str], api: str, sandbox: Sandbox) -> list[list[bool]]:
    """Which of the ten calls of 200 episodes fail, at a rate of 0.2."""
    combined = combine("x", order, {"rate": 0.2})

    async def every() -> list[list[bool]]:
        made = [(api, {"words": "x"})] * 10
        return [[step.error == "temporary" for step in await calls(combined, n, made, sandbox)] for n in range(200)]

    return asyncio.run(every())


@pytest.fixture(scope="module")
def alone(sandbox: Sandbox) -> list[list[bool]]:
    return failures(["faulty"], "titled", sandbox)


@pytest.mark.parametrize("order", ORDERS, ids="+".join)
def test_a_rate_is_the_rate_wherever_the_condition_stands(
    order: list[str], alone: list[list[bool]], sandbox: Sandbox
) -> None:
    assert failures(order, "search", sandbox) == alone


@pytest.mark.parametrize("order", [order for order in ORDERS if "counterfactual" in order], ids="+".join)
def test_no_text_says_the_old_value_wherever_the_condition_stands(order: list[str], sandbox: Sandbox) -> None:
    combined = combine("x", order, {"rate": 0.3})
    made = [("search", {"words": "Gdańsk"}), ("titled", {"words": "x"}), ("titled", {"words": "closed"})] * 4
    steps = asyncio.run(calls(combined, 1, [*made, ("search", {"words": "nothing"})], sandbox))
    assert any("Gdańsk" in (step.observation or "") for step in steps)
    assert not any("Łódź" in (step.observation or "") for step in steps)
    environment = combined.environment(
        Articles(), question_with(1, meta={REPLACED: {"Łódź": "Gdańsk", "Danube": "Rhine"}}), SEEDS
    )
    texts = [environment.description, *(json.dumps(spec.json_schema()) for spec in environment.specs().values())]
    assert not any("Łódź" in text or "\\u0141" in text or "Danube" in text for text in texts)


def test_no_environment_of_an_episode_holds_a_gold_answer() -> None:
    question = question_with(1, evidence=["in Zanzibar"], program="answer = 1")
    combined = combine("x", ["noisy", "slow", "faulty"], {"seconds": 0.0})
    planned = combined.question(question, Articles())
    assert planned is not None
    environment = combined.environment(Articles(), planned, SEEDS)
    held = pickle.dumps([environment, combined]).lower()
    assert b"no such answer" not in held
    assert b"zanzibar" not in held
