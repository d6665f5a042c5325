"""Paraphrases questions with an LLM; a question whose paraphrase fails a check stays unchanged.

The checks: every value from the records is present, the numbers are the same, the answer is not revealed, and no two
questions are equal. Whether the meaning is the same is not checked.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
from collections.abc import Mapping, Sequence

from r_eval.records import Question
from r_eval.tasks.llm_client import LLMClient, one_line, prompt
from r_eval.tasks.phrases import contains_phrase, words
from r_eval.tasks.templates.generate import gives_away

LONGEST = 600
"""Characters of a question."""
MARKS = ("?", "？")


@dataclasses.dataclass(frozen=True, slots=True)
class Paraphrased:
    """Questions in their order; `unchanged` counts those without a paraphrase by reason."""

    questions: list[Question]
    unchanged: collections.Counter[str]


async def paraphrase(
    questions: Sequence[Question], slot_values: Mapping[str, Sequence[str]], client: LLMClient
) -> Paraphrased:
    """Paraphrase every question; `meta` records the `original` and the LLM that `reworded` it.

    Args:
        slot_values: By question id, the values from records in its text.

    Raises:
        UserError: The LLM failed after all retries.
    """

    async def ask(question: Question) -> str:
        parts = "; ".join(dict.fromkeys(slot_values[question.id])) or "none"
        return one_line(await client.complete(prompt("reword", parts=parts, question=question.question)), LONGEST) or ""

    texts = {tuple(words(question.question)) for question in questions}
    result = Paraphrased([], collections.Counter())
    for question, text in zip(questions, await asyncio.gather(*map(ask, questions)), strict=True):
        same = "the same as a question" if tuple(words(text)) in texts else None
        if reason := rejection_reason(question, text, slot_values[question.id]) or same:
            result.unchanged[reason] += 1
            result.questions.append(question)
            continue
        texts.add(tuple(words(text)))
        meta = {**question.meta, "original": question.question, "reworded": client.name}
        result.questions.append(question.model_copy(update={"question": text, "meta": meta}))
    return result


def rejection_reason(question: Question, text: str, slot_values: Sequence[str]) -> str | None:
    """Why a paraphrase is rejected; None if it is accepted.

    Args:
        slot_values: The values from records in the question.
    """
    if not text:
        return "not one line of text"
    if question.question.endswith(MARKS) and not text.endswith(MARKS):
        return "no question"
    if any(words(value) and not contains_phrase(text, value) for value in slot_values):
        return "a value is missing"
    if _numbers(text) != _numbers(question.question):
        return "a number is not the same"
    if any(gives_away(text, answer) and not gives_away(question.question, answer) for answer in question.answers):
        return "the answer has come in"
    return None


def _numbers(text: str) -> collections.Counter[str]:
    return collections.Counter(word for word in words(text) if any(c.isdigit() for c in word))
