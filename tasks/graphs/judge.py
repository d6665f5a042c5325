"""The filters of graph questions: rules on names and numbers, named entities, and an LLM as judge."""

from __future__ import annotations

import asyncio
import functools
import re
import statistics
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from string import Template
from typing import Any

from r_eval.languages import recognised
from r_eval.llms.json_text import json_values
from r_eval.records import Question
from r_eval.tasks.graphs.ask import QuestionPlan
from r_eval.tasks.graphs.graph import ungrouped
from r_eval.tasks.graphs.graph_file import Filters
from r_eval.tasks.graphs.wording import prompt_parts
from r_eval.tasks.llm_client import LLMClient, objects_in, prompt
from r_eval.tasks.phrases import contains_phrase, likeness, names, words

Similarity = Callable[[str, Sequence[str]], float]
"""Similarity of an answer to the golds, 0 to 1."""

LONGEST_CONTEXT = 12_000
"""Maximum characters of context for a grader."""

ANSWERED = 0.8
"""Similarity to the gold at which an answer without context counts as right."""
NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")
GRADE = re.compile(r"(?<![\w.,/-])([012])(?:\.0)?(?:\s?(?:/|out of|of)\s?2)?(?![\w/]|[.,]\d)", re.ASCII)


def rule_violation(plan: QuestionPlan, text: str, invents: bool) -> str | None:
    """The rule that a question's text breaks; None if it names all it must and nothing it must not.

    Args:
        invents: Whether the text may contain further numbers, because a person wrote its wording.
    """
    if not all(names(text, entity) for entity in plan.entities):
        return "entity not named"
    if plan.bridge and any(names(part, plan.bridge) for part in (text, *plan.answers)):
        return "bridge named"
    if plan.subgraph.type != "comparison" and any(contains_phrase(text, answer) for answer in plan.answers):
        return "answer in question"
    allowed = {word for triple in plan.subgraph.triples for part in triple for word in _numbers(part)}
    return None if invents or _numbers(text) <= allowed else "number from nowhere"


def _numbers(text: str) -> set[str]:
    return {match.replace(",", "") for match in NUMBERS.findall(ungrouped(unicodedata.normalize("NFKC", text)))}


def presence(plan: QuestionPlan, question: str, answer: str) -> float:
    """How closely question and answer name their entities, 0 to 100: the mean of DRAGON's presence coefficients."""
    pairs = [*((name, question) for name in plan.entities), *((name, answer) for name in plan.answers)]
    return statistics.fmean(100.0 if contains_phrase(text, name) else likeness(name, text) for name, text in pairs)


def trim(values: Sequence[float], share: float) -> list[bool]:
    """Which values are between the quantiles `share` and 1 - `share`.

    >>> trim([1, *[5] * 18, 9], 0.05).count(False)
    2
    """
    sorted_values = sorted(values)
    n_cut = int(len(sorted_values) * share)
    if not n_cut:
        return [True] * len(values)
    return [sorted_values[n_cut] <= value <= sorted_values[-1 - n_cut] for value in values]


def mentions_entity(plan: QuestionPlan, entities: Collection[str]) -> bool:
    """Whether a name in the question or answer is a named entity of its documents, in any inflection."""
    return any(
        names(entity, name) or names(name, entity) for name in (*plan.entities, *plan.answers) for entity in entities
    )


async def named_entities(text: str, client: LLMClient) -> list[str]:
    """The named entities of a document, from natasha if it is installed and the text Russian, otherwise from an LLM."""
    language = recognised(text)
    if language == "ru" and (tag := _natasha()) is not None:
        return await asyncio.to_thread(tag, text)
    reply = await client.complete(prompt(f"entities.{language}", text=text[:LONGEST_CONTEXT]))
    return list(_texts([match.value for match in json_values(reply)]))


def _texts(value: Any) -> Iterator[str]:
    """The texts in JSON at any depth, such as in `{"entities": [{"name": "Oslo"}]}`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


@functools.cache
def _natasha() -> Callable[[str], list[str]] | None:
    """A tagger of people, places and organisations in Russian texts; None without natasha."""
    try:
        from natasha import Doc, NewsEmbedding, NewsNERTagger, Segmenter  # type: ignore[import-not-found]
    except ImportError:
        return None
    segmenter, tagger = Segmenter(), NewsNERTagger(NewsEmbedding())

    def tag(text: str) -> list[str]:
        document = Doc(text)
        document.segment(segmenter)
        document.tag_ner(tagger)
        return [span.text for span in document.spans]

    return tag


async def rejection(
    question: Question, context: str, filters: Filters, clients: Mapping[str, LLMClient], similarity: Similarity
) -> str | None:
    """Why an LLM rejects a question; None if it passes. The more expensive filters come last.

    Args:
        context: The text that supports the answer.
        clients: The LLMs of the filters by name.
    """
    if filters.closed_book is not None:
        length = str(max(1, len(words(question.answers[0]))))
        text = prompt(f"closed_book.{recognised(question.question)}", words=length, question=question.question)
        if similarity(await clients[filters.closed_book].complete(text), question.answers) >= ANSWERED:
            return "answered without context"
    for name, llm in (("fluency", filters.fluency), ("judge", filters.judge)):
        if llm is not None:
            reason = await _low_grade(question, context, name, clients[llm])
            if reason is not None:
                return reason
    return None


async def _low_grade(question: Question, context: str, name: str, client: LLMClient) -> str | None:
    """The first criterion of a filter that a question fails."""
    parts = prompt_parts("grade", recognised(question.question))
    criteria = {key: value for key, value in parts["criteria"].items() if (key == "fluency") is (name == "fluency")}
    texts = [_grade_prompt(question, context, parts, criterion) for criterion in criteria.values()]
    grades = [grade_in(reply) for reply in await asyncio.gather(*map(client.complete, texts))]
    if None in grades:
        return f"{name}: no grade in the reply"
    low = [key for key, grade in zip(criteria, grades, strict=True) if grade == 0]
    return (f"{name}: {low[0]}" if name != low[0] else name) if low else None


def _grade_prompt(question: Question, context: str, parts: Mapping[str, Any], criterion: Mapping[str, Any]) -> str:
    labels, shows = parts["labels"], criterion["shows"]
    sections = [f"{labels['context']}\n{context[:LONGEST_CONTEXT]}\n"] if "context" in shows else []
    sections.append(f"{labels['question']} {question.question}")
    if "answer" in shows:
        sections.append(f"{labels['answer']} {question.answers[0]}")
    two, one, zero = criterion["grades"]
    values = {"asks": criterion["asks"], "two": two, "one": one, "zero": zero, "shown": "\n".join(sections)}
    return Template(parts["prompt"]).substitute(values).strip()


def grade_in(reply: str) -> int | None:
    """The grade in a reply: under the key "score", or the only one in it; otherwise None.

    >>> grade_in('{"score": 2}'), grade_in("Score: 1/2"), grade_in("1.5"), grade_in("0 or 1")
    (2, 1, None, None)
    """
    scores = [str(value["score"]) for value in objects_in(reply) if "score" in value]
    grades = set(GRADE.findall(scores[0] if scores else reply))
    return int(grades.pop()) if len(grades) == 1 else None
