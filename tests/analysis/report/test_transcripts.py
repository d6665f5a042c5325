"""An episode as the transcript view gets it."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.analysis.report.transcripts import transcript
from r_eval.analysis.scoring import score_episode
from r_eval.records import Outcome, Step
from tests.analysis.conftest import call, episode

Made = dict[str, Any]


def made(right: dict[str, list[str]] | None = None, **changes: Any) -> Made:
    """The data of an episode with an observation that holds the gold; any field can be changed."""
    found = episode(**changes)
    return transcript(found, score_episode(found, relevant=right))


def thought(text: str, depth: int) -> Step:
    return Step(kind="thought", text=text, depth=depth)


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({}, [0]),
        ({"golds": ["Grace Ogot;Mombasa"], "steps": [call("Mombasa is where Grace Ogot went.")]}, [0, 1]),
        ({"evidence": ["1963", "the capital"]}, [1]),
        ({"golds": ["André"], "steps": [call('["Andr\\u00e9"]')]}, [0]),
        ({"golds": ["yes"], "steps": [call("yes")]}, []),
        ({"steps": [call("No API is called Nairobi.", "unknown_api")]}, None),
        ({"steps": [call("Could not find Nairobi.", "not_found", entity="Nairobi")]}, []),
    ],
    ids=["gold", "values of a gold", "named evidence", "escaped", "by chance", "refused call", "echoed argument"],
)
def test_a_step_names_the_evidence_that_it_holds(changes: Made, holds: list[int] | None) -> None:
    assert made(**changes)["steps"][0].get("holds") == holds


def test_the_steps_that_hold_a_gold_are_named() -> None:
    data = made(steps=[call("Nothing."), call("Nairobi"), call("nairobi!")])
    assert data["wanted"] == [{"text": "Nairobi", "chance": False, "steps": [1, 2]}]
    assert made(golds=["yes"], steps=[call("yes")])["wanted"] == [{"text": "yes", "chance": True, "steps": []}]


def test_a_search_has_its_tree_and_the_way_to_the_answer() -> None:
    steps = [thought("a", 0), call("x"), thought("b", 3), thought("c", 3), Step(kind="answer", text="Nairobi")]
    data = made(steps=steps)
    assert data["tree"] == [[0, -1, [1]], [2, 0, []], [3, 0, []]]
    assert data["path"] == [0, 3]


def test_a_search_that_fell_back_on_a_give_up_shows_the_reply_that_said_it() -> None:
    last = Step(kind="answer", text="Nairobi", observation="give_up")
    data = made(steps=[thought("maybe Nairobi", 0), thought("b", 3), last], outcome=Outcome(kind="gave_up"))
    assert data["path"] == [0]


def test_a_chain_deeper_than_the_stack_is_walked() -> None:
    assert len(made(steps=[thought("a", number) for number in range(3000)])["tree"]) == 3000
