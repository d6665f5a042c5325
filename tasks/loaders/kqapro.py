"""KQA Pro: questions over a knowledge base, with choices and the program that answers them there."""

from __future__ import annotations

from typing import Any, ClassVar

from r_eval.records import Question
from r_eval.tasks.loaders.base import Raw, RecordFormat, Text, content_id


class KQAProRecord(Raw):
    question: Text
    answer: Text
    choices: list[str] = []
    program: list[dict[str, Any]] = []
    sparql: str | None = None


class KQAPro(RecordFormat):
    """Its programs are written in functions of a knowledge base, not in query APIs: they are kept in `meta`."""

    name = "kqapro"
    expects = "KQA Pro: a JSON list of records with question, choices, program, sparql and answer"
    signature = frozenset({"question", "choices", "program", "answer"})
    Raw: ClassVar[type[KQAProRecord]] = KQAProRecord

    def question(self, raw: KQAProRecord) -> Question:
        known = {"choices": raw.choices, "kopl": raw.program, "sparql": raw.sparql}
        id = content_id(raw.question, raw.answer, *raw.choices)
        return self.make(id, raw.question, [raw.answer], meta={key: value for key, value in known.items() if value})
