"""An episode as the transcript view gets it."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.analysis.report.transcripts import MOST_MARKS, transcript
from r_eval.analysis.scoring import score_episode
from r_eval.records import Episode, Outcome, Step

Made = dict[str, Any]


def made(right: dict[str, list[str]] | None = None, **changes: Any) -> Made:
    """The data of an episode with an observation that holds the gold; any field can be changed."""
    fields: dict[str, Any] = {
        "episode_id": "e1",
        "question_id": "q1",
        "task": "wiki/high-freq",
        "domain": "wiki",
        "level": "KS",
        "workflow": "react",
        "llm": "some/llm",
        "condition": "clean",
        "question": "Which city is the capital of Kenya?",
        "golds": ["Nairobi"],
        "answer": "Nairobi",
        "outcome": Outcome(kind="finished"),
        "steps": [call("The capital of Kenya is Nairobi.")],
    }
    episode = Episode(**{**fields, **changes})
    return transcript(episode, score_episode(episode, relevant=right))


def call(observation: str, error: str | None = None, **arguments: Any) -> Step:
    return Step(kind="call", api="Search", arguments=arguments, observation=observation, error=error)


def thought(text: str, depth: int) -> Step:
    return Step(kind="thought", text=text, depth=depth)


def test_the_place_of_a_gold_is_marked() -> None:
    assert made()["steps"][0]["marks"] == [(24, 31, 0)]


def test_the_steps_that_hold_a_gold_are_named() -> None:
    data = made(steps=[call("Nothing."), call("Nairobi"), call("nairobi!")])
    assert data["wanted"] == [{"text": "Nairobi", "chance": False, "steps": [1, 2]}]


def test_each_value_of_a_gold_is_marked_by_itself() -> None:
    data = made(golds=["Grace Ogot;Mombasa"], steps=[call("Mombasa is where Grace Ogot went.")])
    assert data["steps"][0]["marks"] == [(0, 7, 1), (17, 27, 0)]


def test_named_evidence_is_looked_for_in_place_of_the_golds() -> None:
    data = made(evidence=["the capital"])
    assert [entry["text"] for entry in data["wanted"]] == ["the capital"]
    assert data["steps"][0]["marks"] == [(4, 11, 0)]


def test_the_share_of_the_right_documents_that_were_found_is_told() -> None:
    search = call("A text.").model_copy(update={"found": ["a#1"]})
    assert made({"q1": ["a", "b"]}, steps=[search])["retrieved"] == 0.5


def test_places_count_utf16_units() -> None:
    data = made(steps=[call("\U0001f600\U0001f600 Nairobi")])
    assert data["steps"][0]["marks"] == [(5, 12, 0)]


def test_a_yes_is_there_by_chance_and_not_marked() -> None:
    data = made(golds=["yes"], steps=[call("yes")])
    assert data["wanted"] == [{"text": "yes", "chance": True, "steps": []}]
    assert "marks" not in data["steps"][0]


def test_what_a_refused_call_said_is_no_evidence() -> None:
    assert "marks" not in made(steps=[call("No API is called Nairobi.", "unknown_api")])["steps"][0]


def test_what_only_echoes_the_arguments_is_no_evidence() -> None:
    assert "marks" not in made(steps=[call("Could not find Nairobi.", "not_found", entity="Nairobi")])["steps"][0]


def test_an_observation_that_holds_the_gold_at_a_place_that_is_not_known_says_so() -> None:
    step = made(golds=["André"], steps=[call('["Andr\\u00e9"]')])["steps"][0]
    assert (step.get("holds"), "marks" in step) == ([0], False)


def test_marks_of_one_text_have_a_limit() -> None:
    assert len(made(steps=[call("Nairobi " * 1000)])["steps"][0]["marks"]) == MOST_MARKS


def test_a_search_has_its_tree_and_the_way_to_the_answer() -> None:
    steps = [thought("a", 0), call("x"), thought("b", 3), thought("c", 3), Step(kind="answer", text="Nairobi")]
    data = made(steps=steps)
    assert data["tree"] == [[0, -1, [1]], [2, 0, []], [3, 0, []]]
    assert data["path"] == [0, 3]


def test_a_search_that_fell_back_on_a_give_up_shows_the_reply_that_said_it() -> None:
    last = Step(kind="answer", text="Nairobi", observation="give_up")
    data = made(steps=[thought("maybe Nairobi", 0), thought("b", 3), last], outcome=Outcome(kind="gave_up"))
    assert data["path"] == [0]


@pytest.mark.parametrize("depth", [3000])
def test_a_chain_deeper_than_the_stack_is_walked(depth: int) -> None:
    assert len(made(steps=[thought("a", number) for number in range(depth)])["tree"]) == depth
