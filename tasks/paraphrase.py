"""Questions in an LLM's words. What records put into a question has to stand in it as it was; else it stays as it is.

That the meaning is the same is the LLM's part, and is not checked here: what is checked is that every value is there,
that the numbers are the same, that the answer has not come in, and that no two questions are the same.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from r_eval.records import Question
from r_eval.tasks.llm_client import one_line, prompt
from r_eval.tasks.phrases import words
from r_eval.tasks.templates.gold import gives_away

if TYPE_CHECKING:
    from r_eval.tasks.llm_client import LLMClient

LONGEST = 600
"""Characters of a question."""
AT_ONCE = 64
MARKS = ("?", "？")


@dataclasses.dataclass(frozen=True, slots=True)
class Paraphrased:
    """Questions in the order in which they came.

    Attributes:
        kept: How many stayed as they were, by reason.
    """

    questions: list[Question]
    kept: collections.Counter[str]


async def paraphrase(
    questions: Sequence[Question], shown: Mapping[str, Sequence[str]], speaker: LLMClient
) -> Paraphrased:
    """Have every question said in other words; `meta` then has the first ones as `original`, and who `reworded` them.

    Args:
        shown: By a question's id, what records put into its text.

    Raises:
        UserError: The LLM failed, after all its retries.
    """
    texts = {unpunctuated(question.question) for question in questions}
    done = Paraphrased([], collections.Counter())
    for start in range(0, len(questions), AT_ONCE):
        block = questions[start : start + AT_ONCE]
        replies = await asyncio.gather(*(speaker.complete(_prompt(q, shown[q.id])) for q in block))
        for question, reply in zip(block, replies, strict=True):
            text = one_line(reply, LONGEST)
            reason = amiss(question, text, shown[question.id]) if text else "not one line of text"
            if reason is None and text and unpunctuated(text) in texts:
                reason = "the same as a question"
            if text is None or reason is not None:
                done.kept[reason or ""] += 1
                done.questions.append(question)
                continue
            texts.add(unpunctuated(text))
            meta = {**question.meta, "original": question.question, "reworded": speaker.name}
            done.questions.append(question.model_copy(update={"question": text, "meta": meta}))
    return done


def amiss(question: Question, text: str, shown: Sequence[str]) -> str | None:
    """What is wrong with other words for a question; None where nothing is.

    Args:
        shown: What records put into the question.
    """
    new, old = words(text), words(question.question)
    if question.question.endswith(MARKS) and not text.endswith(MARKS):
        return "no question"
    if any(f" {' '.join(words(value))} " not in f" {' '.join(new)} " for value in shown):
        return "a value is missing"
    if _numbers(new) != _numbers(old):
        return "a number is not the same"
    if any(gives_away(text, answer) and not gives_away(question.question, answer) for answer in question.answers):
        return "the answer has come in"
    return None


def unpunctuated(text: str) -> str:
    """A text without regard to case, spaces and punctuation."""
    return " ".join(words(text))


def _numbers(found: list[str]) -> collections.Counter[str]:
    return collections.Counter(word for word in found if any(c.isdigit() for c in word))


def _prompt(question: Question, shown: Sequence[str]) -> str:
    parts = "; ".join(dict.fromkeys(shown)) or "none"
    return prompt("reword", parts=parts, question=question.question)
