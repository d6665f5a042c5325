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


@pytest.mark.parametrize("said", ["Observation 1: cake\nAction 2: Finish[cake]", "**Observation:** cake"])
def test_nothing_counts_of_a_reply_that_begins_with_an_observation(play: Any, said: str) -> None:
    played = play(ReAct(), [said, "Finish[omelette]"])
    assert played.answer == "omelette"
    assert "No action could be read" in played.notes[0]


@pytest.mark.parametrize(
    ("said", "error"), [("Action 1: find_dish(name='o')\nObservation 1: cake", "invented"), ("Finish[cake]", None)]
)
def test_a_reply_with_an_invented_observation_is_marked_in_the_record(play: Any, said: str, error: str | None) -> None:
    assert play(ReAct(), [said, "Finish[x]"]).thoughts[0].error == error


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


AGAIN = 'Action: find_dish(name="o")'
HINT = "This very action was taken before"


def test_a_repeated_action_is_told_so_once(play: Any) -> None:
    played = play(ReAct(), [AGAIN, AGAIN, AGAIN, "Finish[x]"])
    observations = [message.content for message in played.requests[-1].messages if message.content.startswith("Obs")]
    assert [HINT in observation for observation in observations] == [False, True, False]
    assert len(played.notes) == 1
    assert HINT in played.notes[0]


def test_a_repeated_action_is_carried_out_all_the_same(play: Any) -> None:
    calls = play(ReAct(), [AGAIN, AGAIN, "Finish[x]"]).calls
    assert [step.observation for step in calls] == ["1 result.\nomelette"] * 2


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


def test_the_steps_are_limited(play: Any) -> None:
    played = play(ReAct(), [AGAIN], steps=3, last_chance=False)
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


def test_the_instructions_alone_say_how_a_turn_is_written(play: Any) -> None:
    system = play(ReAct(), ["Finish[x]"]).said(0)[0][1]
    assert '"Thought 1: "' in system
    assert '"Action 1: "' in system
    assert "Observation" in system


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


class Careful(ReAct):
    """A workflow made from another one, in another folder."""


def test_a_workflow_made_from_it_elsewhere_has_its_prompts(play: Any) -> None:
    played = play(Careful(), ["Finish[x]"])
    assert played.answer == "x"
    own, base = Careful().identity(), ReAct().identity()
    assert own.pop("code") != base.pop("code")
    assert own == base


# As one text that the reply completes


def test_in_completion_all_is_one_text_that_ends_where_the_reply_begins(play: Any) -> None:
    played = play(ReAct(prompting="completion"), [" I look.\nAction 1: ingredients[omelette]", "Finish[omelette]"])
    ((role, first),), ((_, second),) = played.said(0), played.said(1)
    assert role == "user"
    assert first.endswith("\n\nQuestion: Which dish has an egg in it?\nThought 1:")
    assert second == (
        first + " I look.\nAction 1: ingredients[omelette]\nObservation 1: 2 results. egg butter\nThought 2:"
    )
    assert (played.answer, len(played.calls)) == ("omelette", 1)


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


def test_apart_the_thought_stops_before_the_action_and_the_action_before_the_observation(play: Any) -> None:
    thought, action = play(ReAct(replies=2), ["I look.", "Finish[x]"]).requests
    assert "\nAction" in thought.stop
    assert "\nObservation" in action.stop


def test_apart_an_action_that_comes_with_the_thought_is_cut_off(play: Any) -> None:
    played = play(ReAct(replies=2), ["I look.\nAction 1: Finish[cake]\nObservation 1: cake", "Finish[omelette]"])
    assert played.said(1)[-2] == ("assistant", "I look.")
    assert played.answer == "omelette"


def test_apart_and_in_completion_the_text_ends_in_thought_and_then_in_action(play: Any) -> None:
    played = play(ReAct(prompting="completion", replies=2), [" I look.", " ingredients[omelette]", "", "Finish[x]"])
    thought, action, again = (played.said(i)[0][1] for i in range(3))
    assert thought.endswith("\nThought 1:")
    assert action == thought + " I look.\nAction 1:"
    assert again == action + " ingredients[omelette]\nObservation 1: 2 results. egg butter\nThought 2:"


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
