"""MuSiQue, answerable and full. Questions that the passages do not answer are left out, and counted."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from r_eval.records import Document, Question
from r_eval.tasks.loaders.base import LeftOut, Raw, RecordFormat, Text, evidence_for


class Paragraph(Raw):
    title: str
    paragraph_text: str
    is_supporting: bool = False


class MuSiQueRecord(Raw):
    id: Text
    question: Text
    answer: str = ""
    answer_aliases: list[str] = []
    answerable: bool = True
    paragraphs: list[Paragraph] = []
    question_decomposition: list[dict[str, Any]] = []


class MuSiQue(RecordFormat):
    name = "musique"
    expects = "MuSiQue: JSON Lines of records with id, paragraphs, question, question_decomposition and answer"
    signature = frozenset({"id", "paragraphs", "question", "answer"})
    Raw: ClassVar[type[MuSiQueRecord]] = MuSiQueRecord

    def question(self, raw: MuSiQueRecord) -> Question | LeftOut:
        if not raw.answerable:
            return LeftOut("unanswerable")
        supporting = [p.title for p in raw.paragraphs if p.is_supporting]
        hops = re.match(r"(\d)hop", raw.id)
        known = {"hops": int(hops[1]) if hops else None, "decomposition": raw.question_decomposition}
        return self.make(
            raw.id,
            raw.question,
            [raw.answer, *raw.answer_aliases],
            evidence=evidence_for(raw.answer, supporting),
            context=[Document.model_construct(title=p.title, text=p.paragraph_text) for p in raw.paragraphs],
            meta={**{key: value for key, value in known.items() if value}, "supporting": supporting},
        )
