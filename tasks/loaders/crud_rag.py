"""CRUD-RAG's published tasks: one JSON object whose keys are tasks and whose values are lists of records; and the
questions that RAGQuestEval keeps for its documents.

An event is in several of the lists under the same ID, so a question's id is `<key>:<ID>`, and its ID is what clusters
it (`meta.document`). The news that a record was made from becomes `meta.sources`. The published retrieval database does
not hold it word for word, so only sets of one's own (`r_eval.tasks.crud_builder`) name the documents to be found.
`thoughts` are read by nothing.
"""

from __future__ import annotations

import collections
import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationError

from r_eval.languages import Language, language_of
from r_eval.records import Level, Question
from r_eval.tasks.loaders.base import Broken, Format, Item, LeftOut, Raw, Remark, Settings, Text, complaint
from r_eval.tasks.loaders.reading import Fault, NotThisForm, Record, json_lists, json_members

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


class Event(Raw):
    """What the records of all tasks have in common: an id, and texts that the record was made from."""

    id: str | int = Field(alias="ID")
    text_ids: list[str] = []
    """Ids of the documents to be found; the published records have none."""

    level: ClassVar[Level] = "KA"

    def asked(self) -> str:
        """What is asked, in the record's own words."""
        raise NotImplementedError

    def looked_up(self) -> str:
        """The retrieval query; "" where it is what is asked."""
        return ""

    def reference(self) -> str:
        """The gold answer, empty where the record has none."""
        raise NotImplementedError

    def sources(self) -> list[str]:
        """The texts that it was made from, as far as the record has them."""
        return []

    def meta(self) -> dict[str, Any]:
        """What else is known."""
        return {}


class Continuation(Event):
    beginning: Text
    continuing: str
    event: str = ""

    def asked(self) -> str:
        return self.beginning

    def reference(self) -> str:
        return self.continuing

    def meta(self) -> dict[str, Any]:
        return {"event": self.event}


class Summary(Event):
    event: Text
    summary: str
    text: str = ""
    title: str = ""

    def asked(self) -> str:
        return self.event

    def reference(self) -> str:
        return self.summary

    def sources(self) -> list[str]:
        return [self.text]

    def meta(self) -> dict[str, Any]:
        return {"title": self.title}


class Answered(Event):
    questions: Text
    answers: str
    event: str = ""
    news1: str = ""
    news2: str = ""
    news3: str = ""

    def asked(self) -> str:
        return self.questions

    def reference(self) -> str:
        return self.answers

    def sources(self) -> list[str]:
        return [news for news in (self.news1, self.news2, self.news3) if news.strip()]

    def meta(self) -> dict[str, Any]:
        return {"event": self.event, "arity": len(self.sources())}


class AnsweredFromOne(Answered):
    level: ClassVar[Level] = "KS"


class AnsweredFromSeveral(Answered):
    level: ClassVar[Level] = "KU"


class Hallucination(Event):
    beginning: Text = Field(alias="newsBeginning")
    hallucinated: Text = Field(alias="hallucinatedContinuation")
    corrected: str = Field(alias="hallucinatedMod")
    type: str = ""
    headline: str = Field("", alias="headLine")
    real: str = Field("", alias="realContinuation")

    def asked(self) -> str:
        beginning, continuation = LABELS[language_of(self.beginning)]
        return f"{beginning}: {self.beginning}\n\n{continuation}: {self.hallucinated}"

    def looked_up(self) -> str:
        return self.beginning

    def reference(self) -> str:
        return self.corrected

    def sources(self) -> list[str]:
        return [f"{self.beginning}{self.real}"] if self.real.strip() else []

    def meta(self) -> dict[str, Any]:
        return {"type": self.type, "title": self.headline}


RECORDS: Mapping[str, type[Event]] = {
    "continuing_writing": Continuation,
    "questanswer_1doc": AnsweredFromOne,
    "questanswer_2docs": AnsweredFromSeveral,
    "questanswer_3docs": AnsweredFromSeveral,
    "hallu_modified": Hallucination,
    "event_summary": Summary,
}
ARITY: Mapping[str, int] = {"questanswer_1doc": 1, "questanswer_2docs": 2, "questanswer_3docs": 3}
"""How many texts the questions of a task should need."""


class CrudSettings(Settings):
    """Which of the lists is asked; all of them where none is named."""

    task: Key | None = None


class CrudRag(Format):
    name = "crud-rag"
    expects = f"CRUD-RAG: a JSON object with a list of records for each task, such as {next(iter(RECORDS))}"
    Settings: ClassVar[type[Settings]] = CrudSettings

    @classmethod
    def fits(cls, path: Path, first: Sequence[Any]) -> int:
        if path.is_dir() or path.suffix.lower() != ".json":
            return 0
        try:
            records = [record.data for record in itertools.islice(json_lists(path), 1)]
        except NotThisForm:
            return 0
        return 4 if any(key in RECORDS and isinstance(item, dict) and "ID" in item for key, item in records) else 0

    def read(self, source: str, size: int | None, seed: int) -> Iterator[Item]:
        known: set[bytes] = set()
        for record in json_lists(Path(source)):
            key, data = record.data
            if key in RECORDS and self.settings.task in (None, key):
                yield from self._items(key, Record(record.place, data), known)

    def _items(self, key: str, record: Record, known: set[bytes]) -> Iterator[Item]:
        """The question of a record, and what is odd about it.

        Args:
            known: Hashes of what was asked so far.
        """
        try:
            raw = RECORDS[key].model_validate(record.data)
            if not str(raw.id).strip():
                raise Broken("ID: is empty")
        except ValidationError as error:
            yield Fault(record.place, complaint(error, RECORDS[key]))
            return
        except Broken as error:
            yield Fault(record.place, str(error))
            return
        reference = raw.reference().strip()
        same = hashlib.blake2b(
            "\0".join((key, raw.asked(), reference)).encode(errors="replace"), digest_size=8
        ).digest()
        if not reference:
            yield LeftOut(EMPTY)
        elif is_error_message(reference):
            yield LeftOut(LEAKED)
        elif same in known:
            yield LeftOut(TWICE)
        else:
            known.add(same)
            yield from _remarks(key, raw)
            yield self._question(key, raw, reference)

    def _question(self, key: str, raw: Event, reference: str) -> Question:
        meta = {"task": key, "document": str(raw.id), **raw.meta(), "text_ids": raw.text_ids, "sources": raw.sources()}
        return Question(
            id=f"{key}:{raw.id}",
            question=raw.asked(),
            answers=[reference],
            level=self.level_of_all or raw.level,
            query=raw.looked_up(),
            meta={name: value for name, value in meta.items() if value},
        )


def _remarks(key: str, raw: Event) -> Iterator[Remark]:
    expected, found = ARITY.get(key), len(raw.sources())
    if expected is not None and found != expected:
        held = "no text that they were made from" if not found else f"{found} of the {expected} texts that it promises"
        yield Remark(f"records of {key} hold {held}")


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


class Generated(Raw):
    question: list[str]
    answers: list[str]


class CrudQuestions(Format):
    """The files that RAGQuestEval keeps. Documents of which not every question has its answer are left out whole: which
    answer is missing cannot be told.
    """

    name = "crud-questions"
    expects = "CRUD-RAG's generated questions: a JSON object that has question and answers for each document's id"
    level: ClassVar[Level] = "KS"

    @classmethod
    def fits(cls, path: Path, first: Sequence[Any]) -> int:
        if first or path.is_dir():
            return 0
        try:
            members = [record.data[1] for record in itertools.islice(json_members(path), 3)]
        except NotThisForm:
            return 0
        return 2 if members and all(isinstance(m, dict) and {"question", "answers"} <= m.keys() for m in members) else 0

    def read(self, source: str, size: int | None, seed: int) -> Iterator[Item]:
        self.seen = 0
        left: collections.Counter[str] = collections.Counter()
        for record in json_members(Path(source)):
            self.seen += 1
            yield from self._questions(record, left)
        for why, number in left.items():
            yield LeftOut(why, number)

    def _questions(self, record: Record, left: collections.Counter[str]) -> Iterator[Item]:
        document, data = record.data
        try:
            made = Generated.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            yield Fault(record.place, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
            return
        if len(made.question) != len(made.answers):
            left["documents of which not every question has an answer"] += 1
            return
        for number, (question, answer) in enumerate(zip(made.question, made.answers, strict=True)):
            if not question.strip() or not answer.strip():
                left["questions without text or answer"] += 1
            elif answer.strip().rstrip("。.") == UNANSWERABLE:
                left["unanswerable questions"] += 1
            else:
                yield self._question(f"{document}-{number}", question.strip(), answer.strip(), document)

    def _question(self, id: str, question: str, answer: str, document: str) -> Question:
        level = self.level_of_all or self.level
        return Question(id=id, question=question, answers=[answer], level=level, meta={"document": document})
