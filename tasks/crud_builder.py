"""CRUD data sets made of reports of one's own, after CRUD-RAG (Lyu et al., 2024), sections 3.2 to 3.5.

An LLM names the event of every report, and reports of one event are paired. Of these it makes the records of the six
tasks, in the form in which CRUD-RAG is published:

- `continuing_writing`: the beginning of a report, whose rest other reports of its event partly tell. The report itself
  is not among the documents that can be found.
- `questanswer_1doc`, `_2docs`, `_3docs`: a question with its answer; the LLM notes facts first, then asks.
- `hallu_modified`: what the LLM wrote from a beginning alone, and the same with its errors corrected by the report.
- `event_summary`: an event, and a summary of its reports.

The filters are the LLM's own work looked at again: a question must be answered from all its reports, and neither from
some of them nor without any; a summary and a correction must be supported by the reports in full. What fails is dropped
and counted by its reason.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import itertools
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from r_eval.environments.corpus.retrievers import BM25
from r_eval.environments.corpus.sources import Document
from r_eval.languages import Language, language_of
from r_eval.tasks.llm_client import LLMClient, objects_in, one_line, prompt
from r_eval.tasks.loaders.base import content_id
from r_eval.tasks.loaders.crud_rag import is_error_message
from r_eval.tasks.questions import folded, place_in_order

Similarity = Callable[[str, Sequence[str]], float]
"""How like the golds an answer is, 0 to 1."""
Record = dict[str, Any]

REPLY_TOKENS = 1024
COUNT = 10
"""Records of each task, by default."""
FEWEST_SENTENCES = 3
LONGEST = 8000
"""Characters of a report."""
LONGEST_LINE = 400
"""Characters of an event, a question or an answer."""
NEIGHBOURS = 5
"""Reports that are looked at for others of the same event."""
MOST_REPORTS = 5
"""Reports in one summary."""
BEGINNING = 0.4
"""Share of a report that is its beginning, up to the end of a sentence."""
SAME = 0.6
"""Likeness from which on two answers count as the same."""
SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
FIGURES = re.compile(r"\d+(?:[.,]\d+)*")
VERDICTS = {"all": 2, "some": 1, "none": 0, "全部": 2, "部分": 1, "没有": 0}
YES = ("yes", "是")
HEADS = {"en": "Report {}: {}", "zh": "报道{}：{}"}
TASKS = {
    "continuing_writing": "continuation",
    "questanswer_1doc": "qa-1doc",
    "questanswer_2docs": "qa-2doc",
    "questanswer_3docs": "qa-3doc",
    "hallu_modified": "hallucination",
    "event_summary": "summarization",
}
"""The published keys in the order in which they are made, each with the installed task that reads it."""
ASKED = {"continuing_writing": "beginning", "hallu_modified": "newsBeginning", "event_summary": "event"}
"""What no two records of a task share; of the others it is `questions`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """A report; equal to another of the same id. `query` finds others of its event."""

    id: str
    title: str = dataclasses.field(compare=False)
    text: str = dataclasses.field(compare=False)
    event: str = dataclasses.field(compare=False, default="")
    query: str = dataclasses.field(compare=False, default="")


@dataclasses.dataclass
class CrudSet:
    """What was made.

    Attributes:
        reports: Those that were used.
        records: By the published keys.
        dropped: How many items were dropped, by "what: reason".
    """

    language: Language
    reports: list[Report]
    records: dict[str, list[Record]] = dataclasses.field(default_factory=dict)
    dropped: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)


class _Dropped(Exception):
    """A record cannot be made; the message says why."""


async def build(
    documents: Iterable[Document],
    writer: LLMClient,
    similarity: Similarity,
    language: Language | None = None,
    count: int = COUNT,
    seed: int = 0,
) -> CrudSet:
    """Make the records of all six tasks.

    Args:
        documents: The reports.
        similarity: Compares an answer with the gold, in the filters of questions.
        language: Of the prompts, and the only one of the reports; absent: that of most of the reports.
        count: Records wanted of each task; fewer come where the reports or the filters do not give more.
        seed: Decides which reports are used first.

    Raises:
        UserError: The LLM failed.
    """
    read = [Report(one.id, one.title or Path(one.id).stem, one.text.strip()) for one in documents]
    chinese = sum(language_of(report.text) == "zh" for report in read)
    builder = _Builder(writer, similarity, language or ("zh" if 2 * chinese > len(read) else "en"))
    related = await builder.related(read)
    reports, made = builder.made.reports, builder.made
    pairs = [(a, b) for a, b in itertools.combinations(reports, 2) if b in related[a]]
    triples = [
        (a, b, c)
        for a, b, c in itertools.combinations(reports, 3)
        if sum((b in related[a], c in related[a], c in related[b])) >= 2
    ]
    groups = dict.fromkeys(
        tuple(sorted((report, *others[: MOST_REPORTS - 1]), key=lambda r: r.id))
        for report, others in related.items()
        if others
    )
    singles = [(report,) for report in reports]
    candidates: dict[str, tuple[Iterable[tuple[Report, ...]], Callable[..., Awaitable[Record]]]] = {
        "continuing_writing": ([(r, *others) for r, others in related.items() if others], builder.continuation),
        "questanswer_1doc": (singles, builder.question),
        "questanswer_2docs": (pairs, builder.question),
        "questanswer_3docs": (triples, builder.question),
        "hallu_modified": (singles, builder.hallucination),
        "event_summary": (groups, builder.summary),
    }
    texts: set[str] = set()
    for key, (chosen, make) in candidates.items():
        found = made.records.setdefault(key, [])
        rest = iter(sorted(chosen, key=lambda some: place_in_order("\0".join(report.id for report in some), seed)))
        while batch := list(itertools.islice(rest, count - len(found))):
            items = await asyncio.gather(*(make(*some) for some in batch), return_exceptions=True)
            for some, item in zip(batch, items, strict=True):
                if isinstance(item, _Dropped):
                    made.dropped[f"{key}: {item}"] += 1
                elif isinstance(item, BaseException):
                    raise item
                elif (text := folded(f"{key} {item[ASKED.get(key, 'questions')]}")) in texts:
                    made.dropped[f"{key}: the same as an earlier one"] += 1
                else:
                    texts.add(text)
                    ids = [report.id for report in (some[1:] if key == "continuing_writing" else some)]
                    found.append({"ID": content_id(key, *(r.id for r in some)), **item, "text_ids": ids})
    return made


class _Builder:
    """Makes single records.

    Every method of a task takes the reports that a record is made of, and raises `_Dropped` where it cannot be made.
    """

    def __init__(self, writer: LLMClient, similarity: Similarity, language: Language) -> None:
        self.writer, self.similarity, self.language = writer, similarity, language
        self.made = CrudSet(language, [])

    async def related(self, read: Sequence[Report]) -> dict[Report, list[Report]]:
        """The usable reports with their events, each with those that are about the same one."""
        usable: list[Report] = []
        for report in read:
            if reason := self._unusable(report, usable):
                self.made.dropped[f"reports: {reason}"] += 1
            else:
                usable.append(report)
        reports = list(await asyncio.gather(*(self._named(report) for report in usable)))
        self.made.reports = reports
        related: dict[Report, list[Report]] = {report: [] for report in reports}
        pairs = list(_neighbours([report for report in reports if report.event]))
        same = await asyncio.gather(*(self._ask("related", reports=self._shown(pair)) for pair in pairs))
        for (one, other), reply in zip(pairs, same, strict=True):
            if reply.strip().lower().startswith(YES):
                related[one].append(other)
                related[other].append(one)
        for report, others in related.items():
            if not others:
                reason = "no other report of the same event" if report.event else "no event in the reply"
                self.made.dropped[f"reports: {reason}"] += 1
        return related

    async def continuation(self, report: Report, *others: Report) -> Record:
        """The beginning of a report, whose rest the others partly tell."""
        beginning, rest = _parted(report)
        verdict = await self._supported(rest, others)
        if not verdict:
            raise _Dropped(
                "no verdict in the reply" if verdict is None else "the other reports tell nothing of the rest"
            )
        return {"event": report.event, "beginning": beginning, "continuing": rest, "held_out": report.id}

    async def question(self, *reports: Report) -> Record:
        """A question that takes all of the reports."""
        name = "question" if len(reports) == 1 else "questions"
        value = await self._object(name, number=str(len(reports)), reports=self._shown(reports))
        question, answer = _line(value.get("question")), _line(value.get("answer"))
        if not question or not answer:
            raise _Dropped("no question in the reply")
        if folded(answer) in folded(question):
            raise _Dropped("the question holds its answer")
        _check_figures(f"{question} {answer}", reports)

        async def is_answered(name: str, shown: Sequence[Report]) -> bool:
            reply = await self._ask(name, question=question, reports=self._shown(shown))
            return self.similarity(reply, [answer]) >= SAME

        if not await is_answered("answer", reports):
            raise _Dropped("its reports do not answer it")
        if await is_answered("closed", ()):
            raise _Dropped("answered without a report")
        fewer = [[r for r in reports if r is not one] for one in reports] if len(reports) > 1 else []
        if any(await asyncio.gather(*(is_answered("answer", some) for some in fewer))):
            raise _Dropped("not all of its reports are needed")
        news = {f"news{place}": report.text for place, report in enumerate(reports, 1)}
        thoughts = str(value.get("thoughts", ""))[:LONGEST]
        return {"event": reports[0].event, **news, "thoughts": thoughts, "questions": question, "answers": answer}

    async def hallucination(self, report: Report) -> Record:
        """What the LLM wrote from a beginning alone, with its errors corrected by the report."""
        beginning, real = _parted(report)
        written = (await self._ask("continue", beginning=beginning)).strip()
        _check_text(written, report.text)
        value = await self._object("correct", reports=self._shown([report]), continuation=written)
        errors, corrected = value.get("errors"), value.get("corrected")
        if not isinstance(errors, list) or not isinstance(corrected, str) or not corrected.strip():
            raise _Dropped("no correction in the reply")
        wrong = [str(error.get("wrong", "")).strip() for error in errors if isinstance(error, dict)]
        if not any(wrong) or folded(corrected) == folded(written):
            raise _Dropped("no error found")
        if not all(passage in written for passage in wrong):
            raise _Dropped("an error that is not in the continuation")
        if await self._supported(corrected, [report]) != 2:
            raise _Dropped("the correction is not supported in full")
        return {
            "headLine": report.title,
            "newsBeginning": beginning,
            "hallucinatedContinuation": written,
            "hallucinatedMod": corrected.strip(),
            "realContinuation": real,
            "generatedBy": self.writer.name,
        }

    async def summary(self, *reports: Report) -> Record:
        """An event, and a summary of its reports."""
        summary = (await self._ask("summary", reports=self._shown(reports))).strip()
        text = "\n".join(report.text for report in reports)
        _check_text(summary, text)
        if 2 * len(summary) > len(text):
            raise _Dropped("longer than half of its reports")
        _check_figures(summary, reports)
        if await self._supported(summary, reports) != 2:
            raise _Dropped("not supported in full")
        return {"event": reports[0].event, "title": reports[0].title, "text": text, "summary": summary}

    async def _named(self, report: Report) -> Report:
        """A report with its event, as far as the LLM names one."""
        value = await self._object("event", report=f"{report.title}\n{report.text}")
        event, keywords = _line(value.get("event")), value.get("keywords")
        words = keywords[:10] if isinstance(keywords, list) else []
        return dataclasses.replace(report, event=event, query=" ".join(map(str, (event, *words))))

    async def _supported(self, text: str, reports: Sequence[Report]) -> int | None:
        """Whether reports support a text: 2 in full, 1 in part, 0 not at all; None where the LLM does not say."""
        reply = (await self._ask("supported", text=text, reports=self._shown(reports))).lower()[:40]
        return next((grade for word, grade in VERDICTS.items() if word in reply), None)

    async def _object(self, name: str, **values: str) -> dict[str, Any]:
        return next(iter(objects_in(await self._ask(name, **values))), {})

    async def _ask(self, name: str, **values: str) -> str:
        return await self.writer.complete(prompt(f"crud-{name}-{self.language}", **values))

    def _shown(self, reports: Sequence[Report]) -> str:
        heads = [HEADS[self.language].format(place, report.title) for place, report in enumerate(reports, 1)]
        return "\n\n".join(f"{head}\n{report.text}" for head, report in zip(heads, reports, strict=True))

    def _unusable(self, report: Report, earlier: Sequence[Report]) -> str:
        if language_of(report.text) != self.language:
            return "in another language"
        if len(SENTENCES.split(report.text)) < FEWEST_SENTENCES:
            return "too short to be parted"
        if len(report.text) > LONGEST:
            return f"longer than {LONGEST:,} characters"
        return "the same as an earlier one" if any(report.text == other.text for other in earlier) else ""


def _parted(report: Report) -> tuple[str, str]:
    """A report's beginning and its rest."""
    ends = [match.end() for match in SENTENCES.finditer(report.text) if match.end() < len(report.text)]
    at = next((end for end in ends if end >= BEGINNING * len(report.text)), ends[-1])
    return report.text[:at].strip(), report.text[at:].strip()


def _neighbours(reports: Sequence[Report]) -> Iterator[tuple[Report, Report]]:
    """Pairs of reports of which one is found by the other's event, each pair once."""
    index = BM25.of(f"{report.title}\n{report.text}" for report in reports) if reports else None
    seen: set[frozenset[int]] = set()
    for place, report in enumerate(reports):
        hits = index.search(report.query, NEIGHBOURS + 1) if index else []
        for other in [hit.chunk for hit in hits if hit.chunk != place][:NEIGHBOURS]:
            if (pair := frozenset((place, other))) not in seen:
                seen.add(pair)
                yield report, reports[other]


def _line(value: Any) -> str:
    return one_line(value, LONGEST_LINE) or "" if isinstance(value, str) else ""


def _check_text(text: str, report: str) -> None:
    if not text or is_error_message(text):
        raise _Dropped("no text in the reply")
    if folded(text) in folded(report):
        raise _Dropped("copied from the report")


def _check_figures(text: str, reports: Sequence[Report]) -> None:
    known = {figure for report in reports for figure in FIGURES.findall(f"{report.title} {report.text}")}
    if not known.issuperset(FIGURES.findall(text)):
        raise _Dropped("a figure that the reports do not have")


def write(made: CrudSet, out: Path, llm: str) -> list[Path]:
    """Write a set as `crud.json`, its documents, and a grid over its tasks that runs at once.

    The documents of the continuations lack the reports that are to be continued.
    """
    out.mkdir(parents=True, exist_ok=True)
    held_out = {record.pop("held_out") for record in made.records["continuing_writing"]}
    files = {"documents.jsonl": set[str](), "documents-continuation.jsonl": held_out}
    for name, without in files.items():
        rows = [{"id": r.id, "title": r.title, "text": r.text} for r in made.reports if r.id not in without]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (out / name).write_text(lines, encoding="utf-8")
    records = json.dumps(made.records, ensure_ascii=False, indent=1)
    (out / "crud.json").write_text(records + "\n", encoding="utf-8")
    suffix = "-en" if made.language == "en" else ""
    tasks = []
    for key, task in TASKS.items():
        documents = "./documents-continuation.jsonl" if key == "continuing_writing" else "./documents.jsonl"
        if made.records[key]:
            environment = {"environment": "corpus", "documents": documents}
            tasks.append({"task": f"crud/{task}{suffix}", "data": "crud.json", "environment": environment})
    grid = {"name": "crud", "llms": [llm], "workflows": [{"workflow": "rag", "top_k": 8}], "shots": 0, "tasks": tasks}
    (out / "grid.yaml").write_text(yaml.safe_dump(grid, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return [out / name for name in ("crud.json", *files, "grid.yaml")]
