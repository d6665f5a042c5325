"""Questions in an LLM's words. What records put into a question has to stand in it as it was; else it stays as it is.

That the meaning is the same is the LLM's part, and is not checked here: what is checked is that every value is there,
that the numbers are the same, that the answer has not come in, and that no two questions are the same.
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
    """Questions in the order in which they came; `kept` counts those that stayed as they were, by reason."""

    questions: list[Question]
    kept: collections.Counter[str]


async def paraphrase(
    questions: Sequence[Question], shown: Mapping[str, Sequence[str]], client: LLMClient
) -> Paraphrased:
    """Have every question said in other words; `meta` then has the first ones as `original`, and who `reworded` them.

    Args:
        shown: By a question's id, what records put into its text.

    Raises:
        UserError: The LLM failed, after all its retries.
    """

    async def ask(question: Question) -> str:
        parts = "; ".join(dict.fromkeys(shown[question.id])) or "none"
        return one_line(await client.complete(prompt("reword", parts=parts, question=question.question)), LONGEST) or ""

    texts = {tuple(words(question.question)) for question in questions}
    done = Paraphrased([], collections.Counter())
    for question, text in zip(questions, await asyncio.gather(*map(ask, questions)), strict=True):
        same = "the same as a question" if tuple(words(text)) in texts else None
        if reason := rejection_reason(question, text, shown[question.id]) or same:
            done.kept[reason] += 1
            done.questions.append(question)
            continue
        texts.add(tuple(words(text)))
        meta = {**question.meta, "original": question.question, "reworded": client.name}
        done.questions.append(question.model_copy(update={"question": text, "meta": meta}))
    return done


def rejection_reason(question: Question, text: str, shown: Sequence[str]) -> str | None:
    """What is wrong with other words for a question; None where nothing is.

    Args:
        shown: What records put into the question.
    """
    if not text:
        return "not one line of text"
    if question.question.endswith(MARKS) and not text.endswith(MARKS):
        return "no question"
    if any(words(value) and not contains_phrase(text, value) for value in shown):
        return "a value is missing"
    if _numbers(text) != _numbers(question.question):
        return "a number is not the same"
    if any(gives_away(text, answer) and not gives_away(question.question, answer) for answer in question.answers):
        return "the answer has come in"
    return None


def _numbers(text: str) -> collections.Counter[str]:
    return collections.Counter(word for word in words(text) if any(c.isdigit() for c in word))
