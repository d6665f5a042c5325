"""CRUD-RAG's published tasks: one JSON object whose keys are tasks and whose values are lists of records; and the
questions that RAGQuestEval keeps for its documents.

An event is in several of the lists under the same ID, so a question's id is `<key>:<ID>`, and its ID is what clusters
it (`meta.document`). The news that a record was made from becomes `meta.sources`. The published retrieval database does
not hold it word for word, so only sets of one's own (`r_eval.tasks.crud_builder`) name the documents to be found.
`thoughts` are read by nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from r_eval.languages import Language, language_of
from r_eval.records import Level, Question
from r_eval.tasks.loaders.base import (
    Broken,
    Item,
    LeftOut,
    Raw,
    Read,
    Remark,
    Settings,
    converted,
    form,
    question_of,
    text_in,
)
from r_eval.tasks.loaders.reading import Fault, Record, json_lists, json_members

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
"""How the parts of a text to be corrected are headed."""

EMPTY = "records without a reference"
LEAKED = "records whose reference is the error message of an API"
TWICE = "records that ask the same, with the same reference, as an earlier one"

_ERROR_KEYS = frozenset({"error", "errors", "err_msg", "error_msg", "error_code", "errcode", "msg"})
_ERROR = re.compile(
    r"""^\W*(?:error\s*(?:code)?\s*[:=]\s*|(?:http\s*)?(?:status\s*(?:code)?\s*[:=]?\s*)?[45]\d\d\b\s*[-:]?\s*
        (?:bad\ request|unauthorized|forbidden|not\ found|too\ many|internal|bad\ gateway|service|gateway|server)
      |traceback\ \(most\ recent|<!doctype\ html|<html|request\ (?:timed\ out|failed)\b|read\ timed\ out)
      |\bHTTPS?ConnectionPool\(|\b(?:openai|requests|httpx|urllib3)\.(?:error|exceptions)\b
      |\b(?:RateLimit|APIConnection|APITimeout|InvalidRequest|Authentication|ServiceUnavailable|APIStatus)Error\b
      |["'](?:err(?:or)?(?:_?(?:code|msg))?|msg|code|message)["']\s*:\s*["'{\d]
      |maximum\ context\ length\ is\ \d|exceeded\ your\ current\ quota|rate\ limit\ reached\ for""",
    re.IGNORECASE | re.VERBOSE,
)
LOOKED_AT = 2000
"""Characters at the beginning of a reference in which an error message is looked for."""


@dataclasses.dataclass(frozen=True, slots=True)
class List:
    """How the records of a list are read.

    Attributes:
        asked, reference: The keys of what is asked, and of the gold.
        sources: Of the texts that a record was made from.
        known: Of what else is kept, by its name in `meta`.
    """

    level: Level
    asked: str
    reference: str
    sources: tuple[str, ...] = ()
    known: Mapping[str, str] = dataclasses.field(default_factory=lambda: {"event": "event"})


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


ARITY: Mapping[str, int] = {"questanswer_1doc": 1, "questanswer_2docs": 2, "questanswer_3docs": 3}
"""How many texts the questions of a list should need."""


class CrudSettings(Settings):
    """Which of the lists is asked; all of them where none is named."""

    task: Key | None = None


def _is_crud(path: Path, first: Sequence[Any]) -> bool:
    lists = first[0] if len(first) == 1 and isinstance(first[0], dict) else {}
    found = [value[0] for key, value in lists.items() if key in LISTS and isinstance(value, list) and value]
    return any(isinstance(item, dict) and "ID" in item for item in found)


@form(
    "crud-rag",
    "CRUD-RAG: a JSON object with a list of records for each task, such as continuing_writing",
    settings=CrudSettings,
    is_like=_is_crud,
)
def crud_rag(source: str, settings: CrudSettings, size: int | None, seed: int) -> Iterator[Item]:
    """The records of the lists; the same question with the same reference is asked once."""
    known: set[tuple[str, ...]] = set()
    for record in json_lists(Path(source)):
        key, data = record.data
        if key not in LISTS or settings.task not in (None, key):
            continue
        for item in converted([Record(record.place, data)], functools.partial(_question, key)):
            if isinstance(item, Question):
                same = (key, item.question, *item.answers)
                if same in known:
                    item = LeftOut(TWICE)
                elif (wanted := ARITY.get(key)) and (arity := item.meta.get("arity", 0)) != wanted:
                    yield Remark(f"records of {key} hold {arity or 'none'} of the {wanted} texts that it promises")
                known.add(same)
            yield item


def _question(key: str, raw: Raw) -> Question | LeftOut:
    form, id = LISTS[key], str(raw["ID"]).strip()
    asked, query, reference = text_in(raw, form.asked), "", raw[form.reference].strip()
    if not id or raw["ID"] is None:
        raise Broken("ID: is empty")
    if not reference:
        return LeftOut(EMPTY)
    if is_error_message(reference):
        return LeftOut(LEAKED)
    sources = [text for name in form.sources if (text := raw.get(name, "")).strip()]
    meta = {name: raw.get(field) for name, field in form.known.items()}
    if key in ARITY:
        meta["arity"] = len(sources)
    if key == "hallu_modified":
        query, sources = asked, [f"{asked}{text}" for text in sources]
        beginning, continuation = LABELS[language_of(asked)]
        asked = f"{beginning}: {asked}\n\n{continuation}: {text_in(raw, 'hallucinatedContinuation')}"
    meta |= {"task": key, "document": id, "text_ids": raw.get("text_ids"), "sources": sources}
    return question_of(f"{key}:{id}", asked, [reference], form.level, query=query, meta=meta)


def is_error_message(text: str) -> bool:
    """Whether a reference looks like what an HTTP API says when it fails, in place of a text that an LLM wrote."""
    opening = text[:LOOKED_AT].strip()
    if _ERROR.search(opening):
        return True
    try:
        value = json.loads(text) if opening.startswith("{") else None
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and bool(_ERROR_KEYS & {key.casefold() for key in value})


UNANSWERABLE = "无法推断"
"""What the file gives as the answer to a question that its document does not answer."""


def _is_generated(path: Path, first: Sequence[Any]) -> bool:
    members = list(first[0].values()) if len(first) == 1 and isinstance(first[0], dict) else []
    return bool(members) and all(isinstance(m, dict) and {"question", "answers"} <= m.keys() for m in members)


@form(
    "crud-questions",
    "CRUD-RAG's generated questions: a JSON object that has question and answers for each document's id",
    is_like=_is_generated,
)
def crud_questions(source: str, settings: Any, size: int | None, seed: int) -> Iterator[Item]:
    """The files that RAGQuestEval keeps. Documents of which not every question has its answer are left out whole: which
    answer is missing cannot be told.
    """
    number = 0
    for record in json_members(Path(source)):
        number += 1
        document, data = record.data
        try:
            asked, answers = [str.strip(one) for one in data["question"]], [str.strip(one) for one in data["answers"]]
        except (KeyError, TypeError):
            yield Fault(record.place, "holds no lists of texts under question and answers")
            continue
        if len(asked) != len(answers):
            yield LeftOut("documents of which not every question has an answer")
            continue
        for place, (question, answer) in enumerate(zip(asked, answers, strict=True)):
            if not question or not answer:
                yield LeftOut("questions without text or answer")
            elif answer.rstrip("。.") == UNANSWERABLE:
                yield LeftOut("unanswerable questions")
            else:
                yield question_of(f"{document}-{place}", question, [answer], "KS", meta={"document": document})
    yield Read(number)
