"""The filters that ask an LLM: can it be answered without context, is it fluent, does it stand by eight criteria."""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

from r_eval.llms.json_text import json_values
from r_eval.records import Question
from r_eval.tasks.graphs.file import Filters
from r_eval.tasks.llm_client import LLMClient, prompt, prompt_file

Similarity = Callable[[str, Sequence[str]], float]
"""How like the golds an answer is, 0 to 1."""

LONGEST_CONTEXT = 12_000
"""Characters of the context that a grader sees."""

SCORE = re.compile(r"score[^\w-]{0,9}([0-9][0-9.,/]*)", re.IGNORECASE)
ALONE = re.compile(r"(?<![\w.,/-])[0-9]+(?:[.,/][0-9]+)*(?!\w)")
GRADE = re.compile(r"([012])(?:/2)?[.,]?")


async def flaw(
    question: Question, context: str, filters: Filters, speakers: Mapping[str, LLMClient], similarity: Similarity
) -> str | None:
    """Why an LLM finds a question no good; None where it passes. The dearer filters come last.

    Args:
        context: What the answer rests on.
        speakers: By name, all those that the filters name.
    """
    closed = filters.closed_book
    if closed is not None:
        words = str(max(1, len(question.answers[0].split())))
        text = prompt("closed_book", words=words, question=question.question)
        answer = await speakers[closed.llm].complete(text)
        if similarity(answer, question.answers) >= closed.below:
            return "answered without context"
    for group, graded in (("fluency", filters.fluency), ("judge", filters.judge)):
        if graded is not None:
            failed = await _graded(question, context, group, speakers[graded.llm], graded.at_least)
            if failed is not None:
                return failed
    return None


async def _graded(question: Question, context: str, group: str, speaker: LLMClient, at_least: int) -> str | None:
    """The first criterion of a group by which a question fails."""
    asked = {name: criterion for name, criterion in criteria().items() if criterion["group"] == group}
    prompts = [_prompt(question, context, criterion) for criterion in asked.values()]
    replies = await asyncio.gather(*(speaker.complete(text) for text in prompts))
    grades = [grade_in(reply) for reply in replies]
    if None in grades:
        return f"{group}: no grade in the reply"
    low = [name for name, grade in zip(asked, grades, strict=True) if grade is not None and grade < at_least]
    return (f"{group}: {low[0]}" if group != low[0] else group) if low else None


def _prompt(question: Question, context: str, criterion: Mapping[str, Any]) -> str:
    shown = [f"Question: {question.question}"]
    if "answer" in criterion["shows"]:
        shown.append(f"Answer: {question.answers[0]}")
    if "context" in criterion["shows"]:
        shown.insert(0, f"Context:\n{context[:LONGEST_CONTEXT]}\n")
    names = ("asks", "two", "one", "zero")
    return prompt("grade", shown="\n".join(shown), **{name: criterion[name] for name in names})


@functools.cache
def criteria() -> dict[str, dict[str, Any]]:
    """What is graded, by name; see the file."""
    data: dict[str, dict[str, Any]] = yaml.safe_load(prompt_file("criteria.yaml"))
    return data


def grade_in(reply: str) -> int | None:
    """The grade in a reply: under the key "score", after the word, or the one number that it holds; else None.

    >>> grade_in('{"score": 2}'), grade_in("Score: 1/2"), grade_in("1.5"), grade_in("0 or 1")
    (2, 1, None, None)
    """
    for value in (found.value for found in json_values(reply)):
        if isinstance(value, dict) and "score" in value:
            return _grade(str(value["score"]))
    found = set(SCORE.findall(reply)) or set(ALONE.findall(reply))
    return _grade(found.pop()) if len(found) == 1 else None


def _grade(text: str) -> int | None:
    whole = GRADE.fullmatch(text.strip())
    return int(whole[1]) if whole else None
