"""CRUD-RAG's published tasks, one JSON object that maps tasks to lists of records, and the questions of RAGQuestEval.

An event occurs in several lists under one ID, so a question's id is `<key>:<ID>` and its cluster the ID
(`meta.document`). `meta.sources` has the news of a record. The published retrieval database does not contain these
verbatim, so only a user's own sets (`r_eval.tasks.crud_builder`) name relevant documents. `thoughts` are ignored.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from r_eval.languages import Language, language_of
from r_eval.records import Level, Question
from r_eval.tasks.files import Part
from r_eval.tasks.loaders.base import Data, Raw, Skipped, convert_records, form, question_of, text_in
from r_eval.tasks.loaders.reading import InvalidRecord, json_members

Key = Literal[
    "continuing_writing",
    "questanswer_1doc",
    "questanswer_2docs",
    "questanswer_3docs",
    "hallu_modified",
    "event_summary",
]

LABELS: Mapping[Language, tuple[str, str]] = {
    "en": ("Beginning of the report", "Continuation to correct"),
    "zh": ("报道开头", "待改正的续写"),
}
"""Headings of the parts of a text to correct."""

EMPTY = "records without a reference"
LEAKED = "records whose reference is the error message of an API"
TWICE = "records with the question and reference of an earlier one"

_ERROR = re.compile(
    r"""^\W*(?:error\ code:|traceback|<!doctype|<html)|\b(?:HTTPS?ConnectionPool|RateLimitError|APIConnectionError)\b
      |^\s*\{\s*["'](?:err\w*|code|msg|message)["']\s*:|maximum\ context\ length\ is|exceeded\ your\ current\ quota""",
    re.IGNORECASE | re.VERBOSE,
)
LOOKED_AT = 2000
"""Characters at the start of a reference that are searched for an error message."""


@dataclasses.dataclass(frozen=True, slots=True)
class List:
    """The keys of the records of a list.

    Attributes:
        question_key, reference_key: The keys of the question and the gold.
        sources: The keys of the source texts.
        meta_fields: Further keys by their name in `meta`.
    """

    level: Level
    question_key: str
    reference_key: str
    sources: tuple[str, ...] = ()
    meta_fields: Mapping[str, str] = dataclasses.field(default_factory=lambda: {"event": "event"})


NEWS = ("news1", "news2", "news3")
LISTS: Mapping[str, List] = {
    "continuing_writing": List("KA", "beginning", "continuing"),
    "questanswer_1doc": List("KS", "questions", "answers", NEWS),
    "questanswer_2docs": List("KU", "questions", "answers", NEWS),
    "questanswer_3docs": List("KU", "questions", "answers", NEWS),
    "hallu_modified": List(
        "KA", "newsBeginning", "hallucinatedMod", ("realContinuation",), {"type": "type", "title": "headLine"}
    ),
    "event_summary": List("KA", "event", "summary", ("text",), {"title": "title"}),
}


class CrudSettings(Part):
    """`task`: the list to use; default: all."""

    task: Key | None = None


def _is_crud(path: Path, sample: Sequence[Any]) -> bool:
    lists = sample[0] if len(sample) == 1 and isinstance(sample[0], dict) else {}
    samples = [value[0] for key, value in lists.items() if key in LISTS and isinstance(value, list) and value]
    return any(isinstance(item, dict) and "ID" in item for item in samples)


@form(
    "crud-rag",
    "CRUD-RAG: a JSON object with a list of records for each task, such as continuing_writing",
    settings=CrudSettings,
    is_like=_is_crud,
)
def crud_rag(source: str, settings: CrudSettings, data: Data) -> Iterator[Question]:
    """The records of the lists without duplicates of question and reference."""
    seen: set[tuple[str, ...]] = set()
    for key, value in json_members(Path(source)):
        if key not in LISTS or settings.task not in (None, key) or not isinstance(value, list):
            continue
        items = ((f"{source}: {key}, record {number}", item) for number, item in enumerate(value, 1))
        for question in convert_records(items, functools.partial(_question, key), data):
            same = (key, question.question, *question.answers)
            if same in seen:
                data.skipped[TWICE] += 1
                continue
            seen.add(same)
            yield question


def _question(key: str, raw: Raw) -> Question:
    form, id = LISTS[key], str(raw["ID"]).strip()
    text, query, reference = text_in(raw, form.question_key), "", raw[form.reference_key].strip()
    if not id or raw["ID"] is None:
        raise InvalidRecord("ID: is empty")
    if not reference:
        raise Skipped(EMPTY)
    if is_error_message(reference):
        raise Skipped(LEAKED)
    sources = [source for name in form.sources if (source := raw.get(name, "")).strip()]
    meta = {name: raw.get(field) for name, field in form.meta_fields.items()}
    if key == "hallu_modified":
        query, sources = text, [f"{text}{source}" for source in sources]
        beginning, continuation = LABELS[language_of(text)]
        text = f"{beginning}: {text}\n\n{continuation}: {text_in(raw, 'hallucinatedContinuation')}"
    meta |= {"task": key, "document": id, "text_ids": raw.get("text_ids"), "sources": sources}
    return question_of(f"{key}:{id}", text, [reference], form.level, query=query, meta=meta)


def is_error_message(text: str) -> bool:
    """Whether a reference looks like the error message of an HTTP API instead of an LLM's text."""
    return _ERROR.search(text[:LOOKED_AT]) is not None


UNANSWERABLE = "无法推断"
"""The answer of unanswerable questions in the file."""


def _is_generated(path: Path, sample: Sequence[Any]) -> bool:
    members = list(sample[0].values()) if len(sample) == 1 and isinstance(sample[0], dict) else []
    return bool(members) and all(isinstance(m, dict) and {"question", "answers"} <= m.keys() for m in members)


@form(
    "crud-questions",
    "CRUD-RAG's generated questions: a JSON object that has question and answers for each document's id",
    is_like=_is_generated,
)
def crud_questions(source: str, settings: Any, data: Data) -> Iterator[Question]:
    """RAGQuestEval's question files. Documents with fewer answers than questions are left out, since it is unclear
    which answer is missing.
    """
    for document, value in json_members(Path(source)):
        data.records += 1
        try:
            questions, answers = (list(map(str.strip, value[key])) for key in ("question", "answers"))
        except (KeyError, TypeError):
            data.add_fault(f"{source}: {document}", "holds no lists of texts under question and answers")
            continue
        if len(questions) != len(answers):
            data.skipped["documents of which not every question has an answer"] += 1
            continue
        for place, (question, answer) in enumerate(zip(questions, answers, strict=True)):
            if not question or not answer:
                data.skipped["questions without text or answer"] += 1
            elif answer.rstrip("。.") == UNANSWERABLE:
                data.skipped["unanswerable questions"] += 1
            else:
                yield question_of(f"{document}-{place}", question, [answer], "KS", meta={"document": document})
