"""The multi-hop sets: HotpotQA, 2WikiMultihopQA, MuSiQue and KQA Pro."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, ValidationError

from r_eval.errors import UserError
from r_eval.records import Document, Question
from r_eval.tasks.loaders.base import Item, LeftOut, Raw, RecordFormat, Settings, Text, content_id, evidence_for
from r_eval.tasks.loaders.reading import Fault, json_records


def _paired(value: Any) -> Any:
    """Pairs of title and content; the Hub's releases keep a list of the titles and one of the contents."""
    if isinstance(value, dict) and isinstance(value.get("title"), list):
        others = next((other for key, other in value.items() if key in ("sentences", "sent_id", "content")), None)
        if isinstance(others, list) and len(others) == len(value["title"]):
            return list(zip(value["title"], others, strict=True))
    return value


class Titled(Raw):
    """The fields that the multi-hop sets with `[title, sentences]` passages share; the simplified ones lack most."""

    id: str | None = Field(None, alias="_id")
    question: Text
    answer: Text
    type: str | None = None
    level: str | None = None
    supporting_facts: Annotated[list[tuple[str, int]], BeforeValidator(_paired)] = []
    context: Annotated[list[tuple[str, list[str]]], BeforeValidator(_paired)] = []


class HotpotQA(RecordFormat):
    """HotpotQA v1: the full files with passages and supporting facts, and the simplified one without."""

    name = "hotpotqa"
    expects = "HotpotQA: a JSON list of records with question, answer, type and, where it is full, _id and context"
    signature = frozenset({"question", "answer", "type"})
    Raw: ClassVar[type[Titled]] = Titled

    def question(self, raw: Titled) -> Question:
        return titled_question(self, raw, [raw.answer])


def titled_question(format: RecordFormat, raw: Titled, answers: list[str], **meta: Any) -> Question:
    """The question of a record whose passages are lists of sentences."""
    titles = [title for title, _ in raw.supporting_facts]
    known = {"type": raw.type, "difficulty": raw.level, "supporting_facts": raw.supporting_facts, **meta}
    return format.make(
        raw.id or content_id(raw.question, raw.answer),
        raw.question,
        answers,
        evidence=evidence_for(raw.answer, titles),
        context=[
            Document.model_construct(title=title, text="".join(spaced(sentences))) for title, sentences in raw.context
        ],
        meta={key: value for key, value in known.items() if value},
    )


def spaced(sentences: list[str]) -> list[str]:
    """Sentences with a space between two that have none; some releases keep it, others do not."""
    return [s if number == 0 or s[:1].isspace() else f" {s}" for number, s in enumerate(sentences)]


class TwoWikiRecord(Titled):
    evidences: list[list[str]] = []
    answer_id: str | None = None


class AliasRecord(Raw):
    Q_id: str
    aliases: list[str] = []
    demonyms: list[str] = []


class TwoWikiSettings(Settings):
    aliases: str | None = None


class TwoWiki(RecordFormat):
    """2WikiMultihopQA, with the aliases of its answers where their file is given."""

    name = "2wikimultihopqa"
    expects = "2WikiMultihopQA: a JSON list of records with _id, type, question, context, evidences and answer"
    signature = frozenset({"question", "answer", "type", "evidences"})
    Raw: ClassVar[type[TwoWikiRecord]] = TwoWikiRecord
    Settings = TwoWikiSettings

    def __init__(self, level: Any = None, **settings: Any) -> None:
        super().__init__(level, **settings)
        self._aliases: dict[str, list[str]] = {}

    def read(self, source: str, size: int | None, seed: int) -> Iterator[Item]:
        path = self.settings.aliases
        self._aliases = read_aliases(Path(path)) if path else {}
        yield from super().read(source, size, seed)

    def question(self, raw: TwoWikiRecord) -> Question:
        others = self._aliases.get(raw.answer_id or "", [])
        return titled_question(self, raw, [raw.answer, *others], triples=raw.evidences)


def read_aliases(path: Path) -> dict[str, list[str]]:
    """Other names of the answers, by their id.

    Raises:
        UserError: The file is not the dataset's alias file.
    """
    found: dict[str, list[str]] = {}
    for record in json_records(path):
        try:
            if isinstance(record, Fault):
                raise UserError(str(record))
            alias = AliasRecord.model_validate(record.data)
        except ValidationError:
            raise UserError(f"{record.place}: expected an alias record with Q_id and aliases") from None
        found[alias.Q_id] = [*alias.aliases, *alias.demonyms]
    return found


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
    """MuSiQue, answerable and full. Questions that the passages do not answer are left out, and counted."""

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
