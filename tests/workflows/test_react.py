"""ReAct: thought, action, observation in turns, in one conversation."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.records import Question
from r_eval.workflows.react import ReAct

PIZZA = Question(
    id="q0",
    question="What is in a pizza?",
    answers=["flour; tomato; cheese"],
    level="KS",
    program="dish = find_dish(name='pizza')[0]\nanswer = ingredients(dish=dish)",
)
LOOK = 'Thought 1: I look.\nAction 1: find_dish(name="o")'
TURNS = [
    ("I look.", 'find_dish(name="o")'),
    ("And in it?", "ingredients[omelette]"),
    ("I know.", "Finish[omelette]"),
]


@pytest.mark.parametrize("prompting", ["chat", "completion"])
@pytest.mark.parametrize("replies", [1, 2])
def test_it_takes_turns_until_it_finishes(play: Any, prompting: str, replies: int) -> None:
    lines = [(f"Thought {n}: {thought}", f"Action {n}: {action}") for n, (thought, action) in enumerate(TURNS, 1)]
    parts = [part for pair in lines for part in (pair if replies == 2 else ["\n".join(pair)])]
    played = play(ReAct(prompting, replies), parts)
    assert (played.answer, played.outcome) == ("omelette", ("finished", ""))
    assert [(step.api, step.arguments) for step in played.calls] == [
        ("find_dish", {"name": "o"}),
        ("ingredients", {"dish": "omelette"}),
    ]
    conversation = [
        ("assistant", "\n".join(lines[0])),
        ("user", "Observation 1: 1 result.\nomelette"),
        ("assistant", "\n".join(lines[1])),
        ("user", "Observation 2: 2 results.\negg\nbutter"),
    ]
    asked = played.said(2 * replies)
    if prompting == "chat":
        assert asked[-4:] == conversation
    else:
        assert asked[-1][1].endswith("\n".join([*(text for _, text in conversation), "Thought 3:"]))


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


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        ("ingredient[omelette]", "unknown_api", "Did you mean ingredients?"),
        ('find_dish(title="o")', "bad_arguments", "Its arguments: name, limit"),
        ("ingredients[cake]", "not_found", "There is no dish cake"),
    ],
)
def test_a_wrong_call_is_answered_with_what_fits(play: Any, action: str, error: str, message: str) -> None:
    played = play(ReAct(), [f"Action 1: {action}", "Finish[x]"])
    assert message in played.said(1)[-1][1]
    assert played.calls[0].error == error


def test_an_empty_finish_is_an_answer_that_could_not_be_read(play: Any) -> None:
    played = play(ReAct(), ["Finish[]"])
    assert (played.answer, played.episode.steps[-1].error) == ("", "unparsed")


class Careful(ReAct):
    """A workflow made from another one, in another folder."""


def test_a_workflow_made_from_it_elsewhere_has_its_prompts(play: Any) -> None:
    assert play(Careful(), ["Finish[x]"]).answer == "x"
    own, base = Careful().identity(), ReAct().identity()
    assert own.pop("code") != base.pop("code")
    assert own == base


def test_a_completion_that_begins_with_the_label_again_does_not_double_it(play: Any) -> None:
    played = play(ReAct(prompting="completion"), ["Thought 1: I look.\nAction 1: ingredients[pizza]", "Finish[x]"])
    assert played.said(1)[0][1].count("Thought 1: I look.") == 1
    assert "Thought 1: Thought" not in played.said(1)[0][1]


def test_in_completion_every_demonstration_stands_apart(play: Any) -> None:
    text = play(ReAct(prompting="completion"), ["Finish[x]"], shown=[PIZZA]).said(0)[0][1]
    assert "Answer with a name.\n\nQuestion: What is in a pizza?\nThought 1: " in text
    assert "Finish[flour; tomato; cheese]\n\nQuestion: Which dish" in text


def test_in_two_replies_an_action_that_comes_with_the_thought_is_cut_off(play: Any) -> None:
    played = play(ReAct(replies=2), ["I look.\nAction 1: Finish[cake]\nObservation 1: cake", "Finish[omelette]"])
    assert played.said(1)[-2] == ("assistant", "I look.")
    assert 'the line "Action 1: "' in played.said(1)[-1][1]
    assert played.answer == "omelette"
    thought, action = played.requests[:2]
    assert "\nAction" in thought.stop
    assert "\nObservation" in action.stop


@pytest.mark.parametrize("settings", [{"prompting": "text"}, {"replies": 3}, {"replies": True}, {"replies": "2"}])
def test_a_setting_with_another_value_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        ReAct(**settings)
