"""CRUD-RAG's generated questions: for every document, questions about its key facts with their answers."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from r_eval.records import Level, Question
from r_eval.tasks.loaders.base import Format, Item, LeftOut, Raw
from r_eval.tasks.loaders.reading import Fault, NotThisForm, Record, json_members

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
