"""The multi-hop sets: HotpotQA, 2WikiMultihopQA, MuSiQue and KQA Pro."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from r_eval.errors import UserError
from r_eval.records import Document, Question
from r_eval.tasks.files import Part
from r_eval.tasks.loaders.base import (
    Data,
    Raw,
    Skipped,
    content_id,
    convert_records,
    evidence_for,
    form,
    question_of,
    record_form,
    text_in,
)
from r_eval.tasks.loaders.reading import records


@record_form(
    "hotpotqa",
    "HotpotQA: a JSON list of records with question, answer, type and, where it is full, _id and context",
    "question answer type",
)
def hotpotqa(raw: Raw) -> Question:
    """HotpotQA v1: the full files with passages and supporting facts, and the simplified one without."""
    return _titled(raw, [])


class TwoWikiSettings(Part):
    aliases: str | None = None


@form(
    "2wikimultihopqa",
    "2WikiMultihopQA: a JSON list of records with _id, type, question, context, evidences and answer",
    "question answer type evidences",
    settings=TwoWikiSettings,
)
def two_wiki(source: str, settings: TwoWikiSettings, data: Data) -> Iterator[Question]:
    """2WikiMultihopQA, with the aliases of its answers if their file is given."""
    aliases = read_aliases(settings.aliases) if settings.aliases else {}
    return convert_records(records(source), lambda raw: _titled(raw, aliases.get(raw.get("answer_id", ""), [])), data)


def _titled(raw: Raw, aliases: list[str]) -> Question:
    """The question of a record whose passages are lists of sentences; the simplified files lack most fields."""
    text, answer = text_in(raw, "question"), text_in(raw, "answer")
    facts = _pairs(raw.get("supporting_facts", []))
    return question_of(
        raw.get("_id", raw.get("id")) or content_id(text, answer),
        text,
        [answer, *aliases],
        evidence=evidence_for(answer, [title for title, _ in facts]),
        context=[Document(title=title, text=_joined(text)) for title, text in _pairs(raw.get("context", []))],
        meta={
            "type": raw.get("type"),
            "difficulty": raw.get("level"),
            "supporting_facts": facts,
            "triples": raw.get("evidences"),
        },
    )


def _pairs(value: Any) -> list[Any]:
    """Pairs of title and content; the Hub's releases have a list of titles and a list of contents."""
    if isinstance(value, dict):
        others = next((value[key] for key in ("sentences", "sent_id", "content") if key in value), ())
        return list(zip(value["title"], others, strict=True))
    return value or []


def _joined(sentences: list[str]) -> str:
    """Sentences separated by a space, which some releases contain and others do not."""
    return "".join(s if number == 0 or s[:1].isspace() else f" {s}" for number, s in enumerate(sentences))


def read_aliases(path: str) -> dict[str, list[str]]:
    """Other names of the answers, by their id.

    Raises:
        UserError: The file is not the dataset's alias file.
    """
    aliases: dict[str, list[str]] = {}
    for place, raw in records(path):
        try:
            aliases[raw["Q_id"]] = [*raw.get("aliases", []), *raw.get("demonyms", [])]
        except (KeyError, TypeError, AttributeError):
            raise UserError(f"{place}: expected an alias record with Q_id and aliases") from None
    return aliases


@record_form(
    "musique",
    "MuSiQue: JSON Lines of records with id, paragraphs, question, question_decomposition and answer",
    "id paragraphs question answer",
)
def musique(raw: Raw) -> Question:
    """MuSiQue, answerable and full. Unanswerable questions are skipped and counted."""
    id, text, paragraphs = text_in(raw, "id"), text_in(raw, "question"), raw.get("paragraphs", [])
    if not raw.get("answerable", True):
        raise Skipped("unanswerable")
    answer = raw.get("answer", "")
    supporting = [paragraph["title"] for paragraph in paragraphs if paragraph.get("is_supporting")]
    hops = re.match(r"(\d)hop", id)
    return question_of(
        id,
        text,
        [answer, *raw.get("answer_aliases", [])],
        evidence=evidence_for(answer, supporting),
        context=[Document(title=paragraph["title"], text=paragraph["paragraph_text"]) for paragraph in paragraphs],
        meta={
            "hops": int(hops[1]) if hops else None,
            "decomposition": raw.get("question_decomposition"),
            "supporting": supporting,
        },
    )


@record_form(
    "kqapro",
    "KQA Pro: a JSON list of records with question, choices, program, sparql and answer",
    "question choices program answer",
)
def kqapro(raw: Raw) -> Question:
    """KQA Pro; its programs call functions of a knowledge base, not query APIs, and go to `meta`."""
    text, answer, choices = text_in(raw, "question"), text_in(raw, "answer"), raw.get("choices", [])
    meta = {"choices": choices, "kopl": raw.get("program"), "sparql": raw.get("sparql")}
    return question_of(content_id(text, answer, *choices), text, [answer], meta=meta)
