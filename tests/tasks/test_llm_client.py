"""What an LLM wrote, as one clean line."""

from __future__ import annotations

import pytest

from r_eval.tasks.llm_client import one_line, prompt


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (" Who? ", "Who?"),
        ("“Who?”", "Who?"),
        ("**«Кто?»**", "Кто?"),
        ("「谁？」", "谁？"),
        ("`Who?`", "Who?"),
        ("Question: Who?", "Who?"),
        ("Here is the reworded question: Who?", "Who?"),
        ("改写后的问题：谁？", "谁？"),
        ("Who: he?", "Who: he?"),
        ("Qui\u00a0?", "Qui ?"),
        ("Who?\nMe.", None),
        ("Who\x1b[31m?", None),
        ("\u202eWho?", None),
        ("Who, of all the people?", None),
        ("", None),
    ],
)
def test_a_line_is_short_and_clean(text: str, line: str | None) -> None:
    assert one_line(text, 12) == line


def test_what_is_filled_into_a_prompt_is_not_read_for_names_again() -> None:
    assert "$words" in prompt("closed_book.en", words="1", question="Is it $words?")
