"""The filters of graph questions: rules about names and numbers, named entities, and what an LLM says of a question."""

from __future__ import annotations

import asyncio
import functools
import re
import statistics
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from string import Template
from typing import Any

from r_eval.languages import recognised
from r_eval.llms.json_text import json_values
from r_eval.records import Question
from r_eval.tasks.graphs.ask import QuestionPlan
from r_eval.tasks.graphs.graph_file import Filters
from r_eval.tasks.graphs.wording import prompt_parts
from r_eval.tasks.llm_client import LLMClient, objects_in, prompt
from r_eval.tasks.phrases import contains_phrase, likeness, names, words

Similarity = Callable[[str, Sequence[str]], float]
"""How like the golds an answer is, 0 to 1."""

LONGEST_CONTEXT = 12_000
"""Characters of the context that a grader sees."""

ANSWERED = 0.8
"""Likeness to the gold from which on an answer without context counts as right."""
NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")
SCORE = re.compile(r"score[^\w-]{0,9}([0-9][0-9.,/]*)", re.IGNORECASE)
ALONE = re.compile(r"(?<![\w.,/-])[0-9]+(?:[.,/][0-9]+)*(?!\w)")
GRADE = re.compile(r"([012])(?:/2)?[.,]?")


def rule_violation(plan: QuestionPlan, text: str, invents: bool) -> str | None:
    """Which rule a question's text breaks; None where it names what it must, and nothing that it must not.

    Args:
        invents: Whether the text may hold numbers of its own, since a person wrote its words.
    """
    if not all(names(text, entity) for entity in plan.named):
        return "entity not named"
    if plan.bridge and any(names(part, plan.bridge) for part in (text, *plan.answers)):
        return "bridge named"
    if plan.subgraph.type != "comparison" and any(contains_phrase(text, answer) for answer in plan.answers):
        return "answer in question"
    known = {word for triple in plan.subgraph.triples for part in triple for word in _numbers(part)}
    return None if invents or _numbers(text) <= known else "number from nowhere"


def _numbers(text: str) -> set[str]:
    return {found.replace(",", "") for found in NUMBERS.findall(unicodedata.normalize("NFKC", text))}


def presence(plan: QuestionPlan, question: str, answer: str) -> float:
    """How nearly a question and its answer name their entities, 0 to 100: DRAGON's presence coefficients, averaged."""
    in_question = [100.0 if contains_phrase(question, name) else likeness(name, question) for name in plan.named]
    in_answer = [100.0 if contains_phrase(answer, name) else likeness(name, answer) for name in plan.answers]
    return statistics.fmean([*in_question, *in_answer])


def trim(values: Sequence[float], share: float) -> list[bool]:
    """Which values lie between the quantiles of `share` and 1 - `share`.

    >>> trim([1, *[5] * 18, 9], 0.05).count(False)
    2
    """
    ordered = sorted(values)
    cut = int(len(ordered) * share)
    if not cut:
        return [True] * len(values)
    return [ordered[cut] <= value <= ordered[-1 - cut] for value in values]


def mentions_entity(plan: QuestionPlan, entities: Collection[str]) -> bool:
    """Whether a name that the question is about is one of the named entities of its documents, in any inflection."""
    return any(
        names(entity, name) or names(name, entity) for name in (*plan.named, *plan.answers) for entity in entities
    )


async def named_entities(text: str, client: LLMClient) -> list[str]:
    """The named entities of a document: by natasha where it is Russian and natasha is installed, else by an LLM."""
    language = recognised(text)
    if language == "ru" and (tag := _natasha()) is not None:
        return await asyncio.to_thread(tag, text)
    reply = await client.complete(prompt(f"entities.{language}", text=text[:LONGEST_CONTEXT]))
    lists = [found.value for found in json_values(reply) if isinstance(found.value, list)]
    return [name for values in lists for name in values if isinstance(name, str)]


@functools.cache
def _natasha() -> Callable[[str], list[str]] | None:
    """What finds the names of people, places and organisations in a Russian text; None without natasha."""
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
    """Why an LLM rejects a question; None where it passes. The dearer filters come last.

    Args:
        context: What the answer rests on.
        clients: By name, all the LLMs that the filters name.
    """
    if filters.closed_book is not None:
        length = str(max(1, len(words(question.answers[0]))))
        text = prompt(f"closed_book.{recognised(question.question)}", words=length, question=question.question)
        if similarity(await clients[filters.closed_book].complete(text), question.answers) >= ANSWERED:
            return "answered without context"
    for name, llm in (("fluency", filters.fluency), ("judge", filters.judge)):
        if llm is not None:
            failed = await _low_grade(question, context, name, clients[llm])
            if failed is not None:
                return failed
    return None


async def _low_grade(question: Question, context: str, name: str, client: LLMClient) -> str | None:
    """The first criterion of a filter by which a question fails."""
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
    shown = [f"{labels['context']}\n{context[:LONGEST_CONTEXT]}\n"] if "context" in shows else []
    shown.append(f"{labels['question']} {question.question}")
    if "answer" in shows:
        shown.append(f"{labels['answer']} {question.answers[0]}")
    two, one, zero = criterion["grades"]
    values = {"asks": criterion["asks"], "two": two, "one": one, "zero": zero, "shown": "\n".join(shown)}
    return Template(parts["prompt"]).substitute(values).strip()


def grade_in(reply: str) -> int | None:
    """The grade in a reply: under the key "score", after the word, or the one number that it holds; else None.

    >>> grade_in('{"score": 2}'), grade_in("Score: 1/2"), grade_in("1.5"), grade_in("0 or 1")
    (2, 1, None, None)
    """
    for value in objects_in(reply):
        if "score" in value:
            return _grade(str(value["score"]))
    found = set(SCORE.findall(reply)) or set(ALONE.findall(reply))
    return _grade(found.pop()) if len(found) == 1 else None


def _grade(text: str) -> int | None:
    whole = GRADE.fullmatch(text.strip())
    return int(whole[1]) if whole else None
