"""ReAct: thought, action, observation in turns, in one conversation."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.workflows.react import ReAct

LOOK = 'Thought 1: I look.\nAction 1: find_dish(name="o")'


@pytest.mark.parametrize(
    "invented",
    [
        "\nObservation 1: 1 result. cake",
        "\nObservation: cake\nThought 2: Cake!\nAction 2: Finish[cake]",
        "\n  observation",
    ],
)
def test_an_observation_that_the_model_invents_is_cut_off(play: Any, invented: str) -> None:
    played = play(ReAct(), [LOOK + invented, "Finish[omelette]"])
    assert played.said(1)[-2:] == [("assistant", LOOK), ("user", "Observation 1: 1 result.\nomelette")]
    assert played.answer == "omelette"
    first, last = played.thoughts
    assert (first.text, first.error, last.error) == (LOOK + invented, "invented", None)


@pytest.mark.parametrize(
    "text",
    ["I do not know what to do.", "Observation 1: cake\nAction 2: Finish[cake]", "**Observation:** cake"],
)
def test_a_reply_without_an_action_costs_a_step_and_is_answered_with_the_forms(play: Any, text: str) -> None:
    played = play(ReAct(), [text, "Finish[omelette]"])
    (note,) = played.notes
    for form in ("Action 2:", "find_dish(name, limit?)", "ingredients[dish]", "Finish[answer]"):
        assert form in note
    assert played.said(1)[-1] == ("user", f"Observation 1: {note}")
    assert played.answer == "omelette"
