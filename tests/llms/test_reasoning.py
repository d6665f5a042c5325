"""Thinking is told apart from the answer, however it is marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.llms.base import Reply
from r_eval.llms.reasoning import split_reasoning, split_text


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("Nairobi", "", "Nairobi"),
        ("<think>Kenya.</think>Nairobi", "Kenya.", "Nairobi"),
        ("<think>\nKenya.\n</think>\n\nNairobi", "Kenya.", "Nairobi"),
        ("<think></think>Nairobi", "", "Nairobi"),
        ("Kenya.</think>Nairobi", "Kenya.", "Nairobi"),
        ("<think>Kenya, which has", "Kenya, which has", ""),
        ("<think>one</think>A <think>two</think>B", "one\ntwo", "A B"),
        ("first</think>A<think>second", "first\nsecond", "A"),
        ("<thinking>肯尼亚</thinking>内罗毕", "肯尼亚", "内罗毕"),
        ("[THINK]Kenya.[/THINK]Nairobi", "Kenya.", "Nairobi"),
        ("◁think▷Kenya.◁/think▷Nairobi", "Kenya.", "Nairobi"),
        ("<seed:think>Kenya.</seed:think>Nairobi", "Kenya.", "Nairobi"),
        ("<THINK>Kenya.</THINK>🌍", "Kenya.", "🌍"),
        (
            "<|channel|>analysis<|message|>Kenya.<|end|><|start|>assistant<|channel|>final<|message|>Nairobi<|return|>",
            "Kenya.",
            "Nairobi",
        ),
        ("<|channel|>analysis<|message|>Kenya, which", "Kenya, which", ""),
        ("a < b, and x[0] is <b>bold</b>", "", "a < b, and x[0] is <b>bold</b>"),
    ],
)
def test_thinking_and_answer_are_told_apart(text: str, thought: str, answer: str) -> None:
    assert split_text(text) == (thought, answer)


def test_thinking_that_the_server_told_apart_stays() -> None:
    reply = split_reasoning(Reply("<think>more</think>Nairobi", reasoning="some"))
    assert (reply.text, reply.reasoning) == ("Nairobi", "some\nmore")


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", " ", "\n", "Kenya"])).map("".join))
def test_no_tag_is_left_in_the_answer_but_a_stray_closing_one(text: str) -> None:
    assert "<think>" not in split_text(text)[1]
