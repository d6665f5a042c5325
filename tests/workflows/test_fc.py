"""Function calling: one chain of calls, native or written into the text."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.llms.base import Reply, ToolCall
from r_eval.llms.tool_calls import format_tool_call as written
from r_eval.records import Question
from r_eval.workflows.fc import FC


def reply(*calls: tuple[str, dict[str, Any]], text: str = "") -> Reply:
    made = tuple(ToolCall(f"id-{i}", name, arguments) for i, (name, arguments) in enumerate(calls))
    return Reply(text, made, "tool_calls")


LOOK = reply(("find_dish", {"name": "o"}), text="I look.")
END = reply(("Finish", {"answer": "omelette"}))


def as_text(said: Reply) -> str:
    return "\n".join([said.text, *(written(call) for call in said.tool_calls)])


@pytest.mark.parametrize("native", [True, False], ids=["native", "prompted"])
def test_it_calls_until_it_finishes(play: Any, native: bool) -> None:
    replies = [LOOK, reply(("ingredients", {"dish": "omelette"})), END]
    played = play(FC(), replies if native else [as_text(said) for said in replies], native=native)
    assert (played.answer, played.outcome) == ("omelette", ("finished", ""))
    assert [(step.api, step.arguments) for step in played.calls] == [
        ("find_dish", {"name": "o"}),
        ("ingredients", {"dish": "omelette"}),
    ]


def test_calls_and_results_stay_in_the_conversation(play: Any) -> None:
    messages = play(FC(), [LOOK, END]).requests[1].messages
    assert messages[-2].tool_calls == LOOK.tool_calls
    assert messages[-2].content == "I look."
    assert (messages[-1].role, messages[-1].content) == ("tool", "1 result.\nomelette")
    assert (messages[-1].call_id, messages[-1].name) == ("id-0", "find_dish")


def test_where_tools_are_not_native_they_stand_in_the_prompt_and_results_come_as_text(play: Any) -> None:
    played = play(FC(), [as_text(LOOK), as_text(END)], native=False)
    first, second = played.requests
    assert first.tools == ()
    assert "find_dish" in first.messages[0].content
    assert "Finish" in first.messages[0].content
    assert second.messages[-1].role == "user"
    assert "<tool_response>\n1 result.\nomelette\n</tool_response>" in second.messages[-1].content


def test_every_query_api_and_finish_are_offered(play: Any) -> None:
    tools = play(FC(), [END]).requests[0].tools
    assert [tool.name for tool in tools] == ["find_dish", "ingredients", "Finish"]
    assert tools[0].parameters["required"] == ["name"]
    assert tools[0].parameters["properties"]["name"]["description"] == "A part of the name."


def test_parallel_calls_are_answered_in_their_order(play: Any) -> None:
    two = reply(("find_dish", {"name": "o"}), ("ingredients", {"dish": "pizza"}))
    played = play(FC(), [two, END])
    assert [step.api for step in played.calls] == ["find_dish", "ingredients"]
    results = played.requests[1].messages[-2:]
    assert [message.call_id for message in results] == ["id-0", "id-1"]
    assert ["omelette" in results[0].content, "tomato" in results[1].content] == [True, True]


def test_a_finish_beside_other_calls_ends_at_once(play: Any) -> None:
    played = play(FC(), [reply(("find_dish", {"name": "o"}), ("Finish", {"answer": "pizza"}))])
    assert (played.answer, played.calls) == ("pizza", [])


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"answer": "omelette"}, "omelette"),
        ({"thought": "I know", "answer": "omelette"}, "omelette"),
        ({"final_answer": "omelette"}, "omelette"),
        ({"answer": ["egg", "butter"]}, "egg; butter"),
        ({"answer": 2}, "2"),
        ({"answer": True}, "yes"),
    ],
)
def test_the_argument_of_finish_is_the_answer_as_text(play: Any, arguments: dict[str, Any], answer: str) -> None:
    assert play(FC(), [reply(("Finish", arguments))]).answer == answer


def test_a_finish_without_an_answer_is_told_so(play: Any) -> None:
    played = play(FC(), [reply(("Finish", {})), END])
    assert "needs the argument 'answer'" in played.requests[1].messages[-1].content
    assert (played.answer, played.calls) == ("omelette", [])


@pytest.mark.parametrize(("text", "answer"), [("omelette", "omelette"), ("Answer: omelette\nIt has eggs.", "omelette")])
def test_a_reply_without_a_call_is_the_answer(play: Any, text: str, answer: str) -> None:
    played = play(FC(), [LOOK, text])
    assert (played.answer, played.outcome) == (answer, ("finished", ""))


def test_an_empty_reply_is_giving_up(play: Any) -> None:
    assert play(FC(), [LOOK, ""]).outcome == ("gave_up", "empty_reply")


def test_an_unknown_api_is_told_the_closest(play: Any) -> None:
    played = play(FC(), [reply(("find_dis", {"name": "o"})), END])
    assert "Did you mean find_dish?" in played.requests[1].messages[-1].content
    assert played.calls[0].error == "unknown_api"


def test_a_call_that_cannot_be_read_is_answered_with_how_to_write_one(play: Any) -> None:
    played = play(FC(), ["<tool_call>find the dish</tool_call>", END], native=False)
    assert "<tool_call>" in played.notes[0]
    assert played.notes[0] in played.requests[1].messages[-1].content
    assert played.calls == []


def test_on_the_last_step_finish_alone_is_offered_and_required(play: Any) -> None:
    played = play(FC(), [LOOK, LOOK, END], steps=3)
    assert [request.tool_choice for request in played.requests] == ["auto", "auto", "required"]
    assert [tool.name for tool in played.requests[-1].tools] == ["Finish"]
    assert (played.answer, played.outcome) == ("omelette", ("finished", ""))


def test_where_tools_are_not_native_the_last_step_describes_finish_alone(play: Any) -> None:
    played = play(FC(), [as_text(LOOK), as_text(END)], native=False, steps=2)
    described = played.requests[-1].messages[0].content
    assert '"Finish"' in described
    assert '"find_dish"' not in described
    assert played.answer == "omelette"


@pytest.mark.parametrize("native", [True, False], ids=["native", "prompted"])
@pytest.mark.parametrize("said", [as_text(LOOK), 'find_dish(name="o")', "Action: find_dish[o]"])
def test_another_call_on_the_last_step_is_neither_carried_out_nor_an_answer(play: Any, said: str, native: bool) -> None:
    played = play(FC(), [as_text(LOOK), said], native=native, steps=2, last_chance=False)
    assert len(played.calls) == 1
    assert (played.answer, played.outcome) == ("", ("exhausted", "steps"))


def test_a_demonstration_is_a_conversation_of_the_calls_that_its_program_really_makes(play: Any) -> None:
    shown = Question(
        id="q0",
        question="What is in a pizza?",
        answers=["flour; tomato; cheese"],
        level="KS",
        program="dish = find_dish(name='pizza')[0]\nanswer = ingredients(dish=dish)",
    )
    messages = play(FC(), [END], shown=[shown]).requests[0].messages[1:-1]
    assert messages[0].content == "What is in a pizza?"
    assert [(c.name, c.arguments) for m in messages for c in m.tool_calls] == [
        ("find_dish", {"name": "pizza"}),
        ("ingredients", {"dish": "pizza"}),
        ("Finish", {"answer": "flour; tomato; cheese"}),
    ]
    assert [m.content for m in messages if m.role == "tool"][:2] == [
        "1 result.\npizza",
        "3 results.\nflour\ntomato\ncheese",
    ]
    called = [c.id for m in messages for c in m.tool_calls]
    assert called == [m.call_id for m in messages if m.role == "tool"]
    assert len(set(called)) == len(called)
