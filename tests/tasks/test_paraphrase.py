"""Other words for a question are taken only where everything that records put into it is still there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from r_eval.environments.sandbox import Sandbox
from r_eval.tasks.llm_client import LLMClient
from r_eval.tasks.paraphrase import Paraphrased, paraphrase
from tests.tasks.conftest import write_llm
from tests.towns import LISTED, made


def reworded(sandbox: Sandbox, folder: Path, function: str) -> Paraphrased:
    """The questions of the town in the words of a function that is given the question's text."""
    llm = write_llm(folder, function.replace("text", "text.split('Question: ')[1].split('\\n')[0]"))
    found = made(sandbox)

    async def every() -> Paraphrased:
        async with LLMClient(llm) as speaker:
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
        ("text.replace('old', 'old' + chr(27))", "not one line of text"),
        ("'a' * 5000 + '?'", "not one line of text"),
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


def test_two_questions_do_not_become_the_same(sandbox: Sandbox, tmp_path: Path) -> None:
    done = reworded(sandbox, tmp_path, "'Is it Ada of Oslo, Ada of Lima, Grace of Rome or Alan of Oslo?'")
    assert len({q.question for q in done.questions}) == len(LISTED)
    assert done.unchanged == {"the same as a question": len(LISTED) - 1}
