"""HotpotQA v1: the full files with passages and supporting facts, and the simplified one without."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from r_eval.records import Document, Question
from r_eval.tasks.loaders.base import Raw, RecordFormat, Text, content_id, evidence_for


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
