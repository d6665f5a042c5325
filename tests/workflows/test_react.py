"""ReAct: thought, action, observation in turns, in one conversation."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.environments.base import Environment, query_api
from r_eval.llms.base import Message
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


def test_a_reply_is_asked_to_stop_before_the_observation(play: Any) -> None:
    assert play(ReAct(), ["Finish[x]"]).requests[0].stop == ("\nObservation",)


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


def test_the_record_keeps_the_reply_as_it_came(play: Any) -> None:
    said = 'Action 1: find_dish(name="o")\nObservation 1: cake'
    assert play(ReAct(), [said, "Finish[x]"]).thoughts[0].text == said


def test_a_reply_without_an_action_costs_a_step_and_is_told_how_to_write_one(play: Any) -> None:
    played = play(ReAct(), ["I do not know what to do.", "Finish[x]"])
    (note,) = played.notes
    assert "Action 2:" in note
    assert "find_dish(name, limit?)" in note
    assert "ingredients[dish]" in note
    assert "Finish[answer]" in note
    assert played.said(1)[-1] == ("user", f"Observation 1: {note}")


def test_an_unknown_api_is_told_the_closest(play: Any) -> None:
    played = play(ReAct(), ["Action 1: ingredient[omelette]", "Finish[x]"])
    assert "Did you mean ingredients?" in played.said(1)[-1][1]
    assert played.calls[0].error == "unknown_api"


def test_wrong_arguments_are_told_what_fits(play: Any) -> None:
    played = play(ReAct(), ['Action 1: find_dish(title="o")', "Finish[x]"])
    assert "Its arguments: name, limit" in played.said(1)[-1][1]
    assert played.calls[0].error == "bad_arguments"


def test_nothing_found_is_an_observation(play: Any) -> None:
    played = play(ReAct(), ["Action 1: ingredients[cake]", "Finish[x]"])
    assert "There is no dish cake" in played.said(1)[-1][1]
    assert played.calls[0].error == "not_found"


def test_arguments_without_names_go_by_their_order(play: Any) -> None:
    played = play(ReAct(), ['Action 1: find_dish("e", 1)', "Finish[x]"])
    assert played.calls[0].arguments == {"name": "e", "limit": 1}


def test_the_steps_are_limited(play: Any) -> None:
    played = play(ReAct(), ['Action: find_dish(name="o")'], steps=3)
    assert len(played.requests) == 3
    assert played.outcome == ("exhausted", "steps")


def test_steps_without_one_right_call_are_a_misuse_of_the_tools(play: Any) -> None:
    assert play(ReAct(), ["Action: look[x]"], steps=3).outcome == ("tool_misuse", "steps")


def test_an_empty_finish_is_an_answer_that_could_not_be_read(play: Any) -> None:
    played = play(ReAct(), ["Finish[]"])
    assert (played.answer, played.episode.steps[-1].error) == ("", "unparsed")


def test_it_works_without_demonstrations(play: Any) -> None:
    played = play(ReAct(), ["Finish[x]"])
    assert [role for role, _ in played.said(0)] == ["system", "user"]
    assert played.said(0)[-1] == ("user", "Question: Which dish has an egg in it?")


def test_the_instructions_list_every_action_with_what_it_does(play: Any) -> None:
    system = play(ReAct(), ["Finish[x]"]).said(0)[0][1]
    assert "- find_dish(name, limit?): Find dishes by a part of their name." in system
    assert "- ingredients[dish]: List what is in a dish." in system
    assert "Finish[answer]" in system
    assert "Dishes and what is in them." in system
    assert "Answer with a name." in system


def test_a_demonstration_is_written_from_the_calls_that_its_program_really_makes(play: Any) -> None:
    messages = play(ReAct(), ["Finish[x]"], shown=[PIZZA]).requests[0].messages[1:-1]
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant", "user", "assistant"]
    assert messages[0].content == "Question: What is in a pizza?"
    assert messages[1].content.endswith('Action 1: find_dish(name="pizza")')
    assert messages[2].content == "Observation 1: 1 result. pizza"
    assert messages[3].content.endswith("Action 2: ingredients[pizza]")
    assert messages[4].content == "Observation 2: 3 results. flour tomato cheese"
    assert messages[5].content.endswith("Action 3: Finish[flour; tomato; cheese]")
    assert all("Thought" in message.content for message in messages if message.role == "assistant")


def test_what_a_demonstration_shows_is_read_back_as_the_same_calls(play: Any) -> None:
    shown: list[Message] = list(play(ReAct(), ["Finish[x]"], shown=[PIZZA]).requests[0].messages)
    said = [message.content for message in shown if message.role == "assistant"]
    played = play(ReAct(), said)
    assert [(step.api, step.arguments) for step in played.calls] == [
        ("find_dish", {"name": "pizza"}),
        ("ingredients", {"dish": "pizza"}),
    ]
    assert played.answer == "flour; tomato; cheese"
