"""ReAct: thought, action, observation in turns, in one conversation."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.environments.base import Environment, query_api
from r_eval.records import Question
from r_eval.workflows.react import ReAct

PIZZA = Question(
    id="q0",
    question="What is in a pizza?",
    answers=["flour; tomato; cheese"],
    level="KS",
    program="dish = find_dish(name='pizza')[0]\nanswer = ingredients(dish=dish)",
)


def test_it_takes_turns_until_it_finishes(play: Any) -> None:
    played = play(
        ReAct(),
        [
            'Thought 1: I look.\nAction 1: find_dish(name="o")',
            "Thought 2: And in it?\nAction 2: ingredients[omelette]",
            "Thought 3: I know.\nAction 3: Finish[omelette]",
        ],
    )
    assert (played.answer, played.outcome) == ("omelette", ("finished", ""))
    assert played.requests[0].stop == ("\nObservation",)
    assert [(step.api, step.arguments) for step in played.calls] == [
        ("find_dish", {"name": "o"}),
        ("ingredients", {"dish": "omelette"}),
    ]
    assert played.said(2)[-4:] == [
        ("assistant", 'Thought 1: I look.\nAction 1: find_dish(name="o")'),
        ("user", "Observation 1: 1 result. omelette"),
        ("assistant", "Thought 2: And in it?\nAction 2: ingredients[omelette]"),
        ("user", "Observation 2: 2 results. egg butter"),
    ]


class Lines(Environment):
    """Says several lines."""

    @query_api
    def say(self, what: str) -> str:
        """Say it.

        Args:
            what: It.
        """
        return f"one\n\ntwo\r\n\tthree {what}"


def test_line_breaks_in_an_observation_become_spaces_and_words_stay_apart(play: Any) -> None:
    played = play(ReAct(), ["Action 1: say[x]", "Finish[y]"], environment=Lines())
    assert played.said(1)[-1] == ("user", "Observation 1: one two three x")


@pytest.mark.parametrize(
    "invented",
    [
        "\nObservation 1: 1 result. cake",
        "\nObservation: cake\nThought 2: Cake!\nAction 2: Finish[cake]",
        "\n  observation",
    ],
)
def test_an_observation_that_the_model_invents_is_cut_off(play: Any, invented: str) -> None:
    said = 'Thought 1: I look.\nAction 1: find_dish(name="o")'
    played = play(ReAct(), [said + invented, "Finish[omelette]"])
    assert played.said(1)[-2:] == [("assistant", said), ("user", "Observation 1: 1 result. omelette")]
    assert played.answer == "omelette"
    assert "cake" not in "".join(step.observation or "" for step in played.calls)
    first, last = played.thoughts
    assert (first.text, first.error, last.error) == (said + invented, "invented", None)


@pytest.mark.parametrize("said", ["Observation 1: cake\nAction 2: Finish[cake]", "**Observation:** cake"])
def test_nothing_counts_of_a_reply_that_begins_with_an_observation(play: Any, said: str) -> None:
    played = play(ReAct(), [said, "Finish[omelette]"])
    assert played.answer == "omelette"
    assert "No action could be read" in played.notes[0]


def test_a_reply_without_an_action_costs_a_step_and_is_told_how_to_write_one(play: Any) -> None:
    played = play(ReAct(), ["I do not know what to do.", "Finish[x]"])
    (note,) = played.notes
    assert "Action 2:" in note
    assert "find_dish(name, limit?)" in note
    assert "ingredients[dish]" in note
    assert "Finish[answer]" in note
    assert played.said(1)[-1] == ("user", f"Observation 1: {note}")


@pytest.mark.parametrize(
    ("action", "error", "told"),
    [
        ("ingredient[omelette]", "unknown_api", "Did you mean ingredients?"),
        ('find_dish(title="o")', "bad_arguments", "Its arguments: name, limit"),
        ("ingredients[cake]", "not_found", "There is no dish cake"),
    ],
)
def test_a_wrong_call_is_told_what_fits(play: Any, action: str, error: str, told: str) -> None:
    played = play(ReAct(), [f"Action 1: {action}", "Finish[x]"])
    assert told in played.said(1)[-1][1]
    assert played.calls[0].error == error


AGAIN = 'Action: find_dish(name="o")'
HINT = "This very action was taken before"


def test_a_repeated_action_is_told_so_once(play: Any) -> None:
    played = play(ReAct(), [AGAIN, AGAIN, AGAIN, "Finish[x]"])
    observations = [message.content for message in played.requests[-1].messages if message.content.startswith("Obs")]
    assert [HINT in observation for observation in observations] == [False, True, False]
    assert [step.observation for step in played.calls] == ["1 result.\nomelette"] * 3
    assert len(played.notes) == 1
    assert HINT in played.notes[0]


class Pages(Environment):
    """Says the next page."""

    def __init__(self) -> None:
        self.page = 0

    @query_api
    def turn(self, book: str) -> int:
        """Turn the page.

        Args:
            book: The book.
        """
        self.page += 1
        return self.page


def test_a_repeated_action_with_another_result_is_not_told_anything(play: Any) -> None:
    played = play(ReAct(), ["Action: turn[x]", "Action: turn[x]", "Finish[x]"], environment=Pages())
    assert played.said(2)[-1] == ("user", "Observation 2: 2")
    assert played.notes == []


def test_an_empty_finish_is_an_answer_that_could_not_be_read(play: Any) -> None:
    played = play(ReAct(), ["Finish[]"])
    assert (played.answer, played.episode.steps[-1].error) == ("", "unparsed")


def test_the_instructions_list_every_action_with_what_it_does(play: Any) -> None:
    system = play(ReAct(), ["Finish[x]"]).said(0)[0][1]
    assert "- find_dish(name, limit?): Find dishes by a part of their name." in system
    assert "- ingredients[dish]: List what is in a dish." in system
    assert "Finish[answer]" in system
    assert "Dishes and what is in them." in system
    assert "Answer with a name." in system


class Careful(ReAct):
    """A workflow made from another one, in another folder."""


def test_a_workflow_made_from_it_elsewhere_has_its_prompts(play: Any) -> None:
    played = play(Careful(), ["Finish[x]"])
    assert played.answer == "x"
    own, base = Careful().identity(), ReAct().identity()
    assert own.pop("code") != base.pop("code")
    assert own == base


# As one text that the reply completes


def test_a_completion_that_begins_with_the_label_again_does_not_double_it(play: Any) -> None:
    played = play(ReAct(prompting="completion"), ["Thought 1: I look.\nAction 1: ingredients[pizza]", "Finish[x]"])
    assert played.said(1)[0][1].count("Thought 1: I look.") == 1
    assert "Thought 1: Thought" not in played.said(1)[0][1]


def test_in_completion_every_demonstration_stands_apart(play: Any) -> None:
    text = play(ReAct(prompting="completion"), ["Finish[x]"], shown=[PIZZA]).said(0)[0][1]
    assert "Answer with a name.\n\nQuestion: What is in a pizza?\nThought 1: " in text
    assert "Finish[flour; tomato; cheese]\n\nQuestion: Which dish" in text


# Thought and action in two replies


def test_thought_and_action_can_be_asked_for_apart(play: Any) -> None:
    played = play(ReAct(replies=2), ["Thought 1: I look.", "Action 1: ingredients[omelette]", "I know.", "Finish[egg]"])
    assert len(played.requests) == 4
    assert played.said(1)[-2] == ("assistant", "Thought 1: I look.")
    assert 'the line "Action 1: "' in played.said(1)[-1][1]
    assert played.said(2)[-2:] == [
        ("assistant", "Thought 1: I look.\nAction 1: ingredients[omelette]"),
        ("user", "Observation 1: 2 results. egg butter"),
    ]
    assert (played.answer, len(played.calls)) == ("egg", 1)


def test_apart_an_action_that_comes_with_the_thought_is_cut_off(play: Any) -> None:
    played = play(ReAct(replies=2), ["I look.\nAction 1: Finish[cake]\nObservation 1: cake", "Finish[omelette]"])
    assert played.said(1)[-2] == ("assistant", "I look.")
    assert played.answer == "omelette"
    thought, action = played.requests[:2]
    assert "\nAction" in thought.stop
    assert "\nObservation" in action.stop


@pytest.mark.parametrize("settings", [{"prompting": "text"}, {"replies": 3}, {"replies": True}, {"replies": "2"}])
def test_a_setting_with_another_value_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        ReAct(**settings)


@pytest.mark.parametrize("prompting", ["chat", "completion"])
@pytest.mark.parametrize("replies", [1, 2])
def test_what_a_demonstration_shows_is_read_back_in_every_form(play: Any, prompting: str, replies: int) -> None:
    turns = [
        ("I need find_dish.", 'find_dish(name="pizza")'),
        ("I need ingredients.", "ingredients[pizza]"),
        ("I know.", "Finish[flour]"),
    ]
    said = [
        part
        for n, (thought, action) in enumerate(turns, 1)
        for part in ([thought, action] if replies == 2 else [f"{thought}\nAction {n}: {action}"])
    ]
    played = play(ReAct(prompting, replies), said)
    assert [(step.api, step.arguments) for step in played.calls] == [
        ("find_dish", {"name": "pizza"}),
        ("ingredients", {"dish": "pizza"}),
    ]
    assert (played.answer, played.outcome) == ("flour", ("finished", ""))
