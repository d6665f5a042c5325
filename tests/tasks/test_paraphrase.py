"""Other words for a question are taken only where everything that records put into it is still there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.environments.sandbox import Sandbox
from r_eval.records import Question
from r_eval.tasks.llm_client import LLMClient
from r_eval.tasks.paraphrase import Paraphrased, paraphrase, rejection_reason
from tests.towns import LISTED, made

QUESTION = Question(id="a", question="How old is Ada King of Oslo in 1843?", answers=["28"], level="KS")
SHOWN = ("Ada King", "Oslo", "1843")


def reworded(sandbox: Sandbox, folder: Path, function: str) -> Paraphrased:
    """The questions of the town in the words of a function that is given the question's text."""
    (folder / "writer.py").write_text(
        "def write(request):\n"
        "    text = request.messages[-1].content.split('Question: ')[1].split('\\n')[0]\n"
        f"    return {function}\n",
        encoding="utf-8",
    )
    found = made(sandbox)

    async def every() -> Paraphrased:
        async with LLMClient(f"scripted/{folder / 'writer.py'}:write") as speaker:
            return await paraphrase(found.questions, found.slot_values, speaker)

    return asyncio.run(every())


def test_a_question_is_asked_in_other_words(sandbox: Sandbox, tmp_path: Path) -> None:
    done = reworded(sandbox, tmp_path, "text.replace('How old is', 'What is the age of')")
    assert {q.question for q in done.questions} == {f"What is the age of {n} of {c}?" for n, c, *_ in LISTED}
    assert done.unchanged == {}


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("''", "not one line of text"),
        ("text + chr(10) + 'More.'", "not one line of text"),
        ("text.replace('old', 'old' + chr(27))", "not one line of text"),
        ("'a' * 5000 + '?'", "not one line of text"),
        ("text", "the same as a question"),
        ("text.upper()", "the same as a question"),
        ("text.rstrip('?') + '.'", "no question"),
        ("text.replace('of', 'not in').replace('Oslo', 'Bergen').replace('Rome', 'Bern').replace('Lima', 'Cuzco')",
         "a value is missing"),
        ("text.replace('?', ' in 1843?')", "a number is not the same"),
    ],
)  # fmt: skip
def test_words_that_spoil_a_question_are_not_taken(
    sandbox: Sandbox, tmp_path: Path, function: str, reason: str
) -> None:
    done = reworded(sandbox, tmp_path, function)
    assert done.questions == made(sandbox).questions
    assert done.unchanged == {reason: len(LISTED)}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("In 1843, what was the age of Ada King of Oslo?", None),
        ("In 1843, what was the age of Ada King of Osloville?", "a value is missing"),
        ("In 1843, what was the age of King Ada of Oslo?", "a value is missing"),
        ("In 1843, on 3 May, what was the age of Ada King of Oslo?", "a number is not the same"),
        ("Was Ada King of Oslo twenty-eight in 1843", "no question"),
    ],
)
def test_what_is_amiss_is_told(text: str, reason: str | None) -> None:
    assert rejection_reason(QUESTION, text, SHOWN) == reason


def test_two_questions_do_not_become_the_same(sandbox: Sandbox, tmp_path: Path) -> None:
    done = reworded(sandbox, tmp_path, "'Is it Ada of Oslo, Ada of Lima, Grace of Rome or Alan of Oslo?'")
    assert len({q.question for q in done.questions}) == len(LISTED)
    assert done.unchanged == {"the same as a question": len(LISTED) - 1}


@given(st.text(max_size=80))
def test_whatever_is_said_holds_every_value_or_is_not_taken(text: str) -> None:
    if rejection_reason(QUESTION, text, SHOWN) is None:
        assert all(value.casefold() in text.casefold() for value in ("Oslo", "1843"))
