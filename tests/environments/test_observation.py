"""An `Observation` that a query API returns: it keeps its text and ids under conditions, and in a check."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from r_eval.checks import check
from r_eval.environments import Environment, Observation, query_api
from r_eval.environments.conditions.counterfactual import Replaced
from r_eval.environments.conditions.faulty import CUT, Faulty
from r_eval.environments.conditions.noisy import NOISE, Noisy
from r_eval.environments.conditions.replacing import Replacements
from r_eval.environments.conditions.slow import Slow
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.records import Question, Step
from r_eval.seeds import Seeds

ARTICLES = [{"id": f"a{n}", "text": f"Article {n} says that Łódź has {n} parks."} for n in range(1, 9)]
QUESTION = Question(id="q", question="How many?", answers=["no such answer"], level="KS")


class Articles(Environment):
    """Articles about a town."""

    @query_api
    def search(self, words: str, top_k: int = 2) -> Observation[list[dict[str, str]]]:
        """Find articles.

        Args:
            words: What to look for, such as Łódź.
            top_k: How many.
        """
        found = ARTICLES[:top_k]
        return Observation(found, " | ".join(each["text"] for each in found), [each["id"] for each in found])


def search(environment: Environment, sandbox: Sandbox) -> Step:
    """The step of one search."""
    steps: list[Step] = []
    asyncio.run(Session(environment, sandbox, steps.append).call("search", {"words": "Łódź"}))
    return steps[0]


def test_a_condition_that_changes_nothing_keeps_all(sandbox: Sandbox) -> None:
    step = search(Slow(0.001).environment(Articles(), QUESTION, Seeds(0, "q", 0)), sandbox)
    assert step.observation == "Article 1 says that Łódź has 1 parks. | Article 2 says that Łódź has 2 parks."
    assert step.found == ["a1", "a2"]


def test_a_counterfactual_replaces_in_value_and_text_and_keeps_the_ids(sandbox: Sandbox) -> None:
    environment = Replaced(Articles(), Replacements({"Łódź": "Gdańsk"}))
    steps: list[Step] = []
    result = asyncio.run(Session(environment, sandbox, steps.append).call("search", {"words": "Gdańsk"}))
    assert "Łódź" not in result.observation + str(result.value)
    assert result.observation.count("Gdańsk") == 2
    assert steps[0].found == ["a1", "a2"]


@pytest.mark.parametrize("at", ["first", "last"])
def test_noise_is_known_by_its_id(sandbox: Sandbox, at: str) -> None:
    step = search(Noisy(1, at=at).environment(Articles(), QUESTION, Seeds(0, "q", 0)), sandbox)
    noise = f"{NOISE}a3"
    assert step.found == ([noise, "a1", "a2"] if at == "first" else ["a1", "a2", noise])
    assert "Article 3" in (step.observation or "")


def test_a_truncated_result_keeps_the_ids_of_what_is_left(sandbox: Sandbox) -> None:
    faulty = Faulty(rate=1.0, kinds="truncated")
    step = search(faulty.environment(Articles(), QUESTION, Seeds(0, "q", 0)), sandbox)
    assert (step.observation or "").startswith(CUT)
    assert step.found == ["a1"]


def test_a_check_reads_an_observation_as_a_session_does() -> None:
    findings = check(Articles(), [("search", {"words": "Łódź"})])
    assert [finding.what for finding in findings if finding.severity == "error"] == []


@pytest.mark.parametrize("bad", [{"text": 3}, {"retrieved_ids": "a1"}, {"retrieved_ids": [1]}])
def test_a_text_or_an_id_that_is_none_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="of an Observation must be a"):
        Observation([], **bad)
