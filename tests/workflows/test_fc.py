"""Function calling: one chain of calls, native or written into the text."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.llms.base import Reply, ToolCall
from r_eval.workflows.conversation import CALLS_PER_TURN
from r_eval.workflows.fc import FC


def reply(*calls: tuple[str, dict[str, Any]], text: str = "") -> Reply:
    made = tuple(ToolCall(f"id-{i}", name, arguments) for i, (name, arguments) in enumerate(calls))
    return Reply(text, made, "tool_calls")


LOOK = reply(("find_dish", {"name": "o"}), text="I look.")
END = reply(("Finish", {"answer": "omelette"}))


def test_parallel_calls_are_answered_in_their_order_and_no_more_than_eight_carried_out(play: Any) -> None:
    many = reply(*(("find_dish", {"name": name}) for name in "omelettexyz"))
    played = play(FC(), [many, END])
    assert [step.arguments["name"] for step in played.calls] == list("omelette")
    results = played.requests[1].messages[-11:]
    assert [message.call_id for message in results] == [call.id for call in many.tool_calls]
    assert ["Not carried out" in message.content for message in results] == [False] * CALLS_PER_TURN + [True] * 3


def test_a_finish_beside_other_calls_ends_at_once(play: Any) -> None:
    played = play(FC(), [reply(("find_dish", {"name": "o"}), ("Finish", {"answer": "pizza"}))])
    assert (played.answer, played.calls) == ("pizza", [])


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"thought": "I know", "answer": "omelette"}, "omelette"),
        ({"return_type": "give_answer", "final_answer": "omelette"}, "omelette"),
        ({"answer": ["egg", "butter"]}, "egg; butter"),
        ({"answer": True}, "yes"),
    ],
)
def test_the_argument_of_finish_is_the_answer_as_text(play: Any, arguments: dict[str, Any], answer: str) -> None:
    assert play(FC(), [reply(("Finish", arguments))]).answer == answer


@pytest.mark.parametrize(
    ("wrong", "native", "message"),
    [
        (reply(("Finish", {})), True, "needs the argument 'answer'"),
        (reply(("find_dis", {"name": "o"})), True, "Did you mean find_dish?"),
        ("<tool_call>find the dish</tool_call>", False, "<tool_call>"),
    ],
    ids=["no answer", "unknown API", "unreadable"],
)
def test_a_call_that_cannot_be_carried_out_is_answered_with_why(
    play: Any, wrong: Reply | str, native: bool, message: str
) -> None:
    played = play(FC(), [wrong, END], native=native)
    assert message in played.requests[1].messages[-1].content
    assert (played.answer, [step.error for step in played.calls if step.error is None]) == ("omelette", [])


@pytest.mark.parametrize("text", ["omelette", "Answer: omelette\nIt has eggs."])
def test_a_reply_without_a_call_is_the_answer(play: Any, text: str) -> None:
    assert play(FC(), [LOOK, text]).answer == "omelette"
    assert play(FC(), [LOOK, ""]).outcome == ("gave_up", "empty_reply")


def test_a_reply_that_was_cut_off_before_a_call_is_no_answer(play: Any) -> None:
    played = play(FC(), [Reply("I think that I should first", finish="length"), END])
    assert played.said(1)[-1] == ("user", played.notes[0])
    assert "cut off" in played.notes[0]
    assert (played.answer, played.outcome) == ("omelette", ("finished", ""))
