"""Thinking is told apart from the answer, however it is marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.llms.base import Reply
from r_eval.llms.reasoning import apart, split


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
    ],
)
def test_thinking_and_answer_are_told_apart(text: str, thought: str, answer: str) -> None:
    assert apart(text) == (thought, answer)


def test_thinking_that_the_server_told_apart_stays() -> None:
    reply = split(Reply("<think>more</think>Nairobi", reasoning="some"))
    assert (reply.text, reply.reasoning) == ("Nairobi", "some\nmore")


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", " ", "\n", "Kenya"])).map("".join))
def test_no_tag_is_left_in_the_answer_but_a_stray_closing_one(text: str) -> None:
    assert "<think>" not in apart(text)[1]
