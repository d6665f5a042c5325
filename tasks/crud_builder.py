"""Builds CRUD data sets from a user's own reports, after CRUD-RAG (Lyu et al., 2024), sections 3.2 to 3.5.

An LLM names the event of every report, and reports of one event are paired. From these it writes the records of the six
tasks in the format of CRUD-RAG:

- `continuing_writing`: the beginning of a report whose rest is partly covered by other reports of the event. The report
  itself is not in the corpus.
- `questanswer_1doc`, `_2docs`, `_3docs`: a question with its answer; the LLM notes facts first.
- `hallu_modified`: a continuation that the LLM wrote from the beginning alone, and a version corrected by the report.
- `event_summary`: an event and a summary of its reports.

The LLM also filters its own records: a question must be answerable from all its reports together, but not from fewer or
none; a summary or correction must be fully supported by the reports. Other records are dropped and counted by reason.
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
from r_eval.environments.corpus.sources import SourceDocument
from r_eval.languages import Language, language_of
from r_eval.tasks.llm_client import LLMClient, objects_in, one_line, prompt
from r_eval.tasks.loaders.base import content_id
from r_eval.tasks.loaders.crud_rag import LISTS, is_error_message
from r_eval.tasks.questions import folded, place_in_order

Similarity = Callable[[str, Sequence[str]], float]
"""Similarity of an answer to the golds, 0 to 1."""
Record = dict[str, Any]

REPLY_TOKENS = 1024
COUNT = 10
"""Default number of records per task."""
FEWEST_SENTENCES = 3
LONGEST = 8000
"""Characters of a report."""
LONGEST_LINE = 400
"""Characters of an event, a question or an answer."""
NEIGHBOURS = 5
"""Candidate reports that are compared with each report's event."""
MOST_REPORTS = 5
"""Reports in one summary."""
BEGINNING = 0.4
"""Share of a report that counts as its beginning, up to the end of a sentence."""
SAME = 0.6
"""Similarity at which two answers count as the same."""
SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
FIGURES = re.compile(r"\d+(?:[.,]\d+)*")
VERDICTS = {"all": 2, "some": 1, "none": 0, "全部": 2, "部分": 1, "没有": 0}
NEGATION = re.compile(r"\bnot\b|[不非未]")
"""Such as in "not all", which is no clear verdict."""
YES = re.compile(r"\W*(?:yes\b|是(?!否))")
HEADS = {"en": "Report {}: {}", "zh": "报道{}：{}"}
TASKS = {
    "continuing_writing": "continuation",
    "questanswer_1doc": "qa-1doc",
    "questanswer_2docs": "qa-2doc",
    "questanswer_3docs": "qa-3doc",
    "hallu_modified": "hallucination",
    "event_summary": "summarization",
}
"""The published keys in build order, each with the installed task that reads it."""


@dataclasses.dataclass(eq=False)
class Report:
    """A report. `query` finds other reports of its event."""

    id: str
    title: str
    text: str
    event: str = ""
    query: str = ""


@dataclasses.dataclass
class CrudSet:
    """A data set.

    Attributes:
        reports: The usable reports.
        records: Records by published key.
        dropped: Number of dropped items by "kind: reason".
    """

    language: Language
    reports: list[Report] = dataclasses.field(default_factory=list)
    records: dict[str, list[Record]] = dataclasses.field(default_factory=dict)
    dropped: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)


class _Dropped(Exception):
    """A record is dropped; the message states the reason."""


def _require(condition: object, reason: str) -> None:
    """Drop the record, with this reason, if a condition does not hold."""
    if not condition:
        raise _Dropped(reason)


async def build(
    documents: Iterable[SourceDocument],
    writer: LLMClient,
    similarity: Similarity,
    language: Language | None = None,
    count: int = COUNT,
    seed: int = 0,
) -> CrudSet:
    """Build the records of all six tasks.

    Args:
        documents: The reports.
        similarity: Compares an answer with the gold in the filters of questions.
        language: Language of the prompts and of the reports to use; default: that of most reports.
        count: Records per task; there may be fewer after filtering.
        seed: Determines the order of the reports.

    Raises:
        UserError: The LLM failed.
    """
    reports = [Report(one.id, one.title or Path(one.id).stem, one.text.strip()) for one in documents]
    chinese = sum(language_of(report.text) == "zh" for report in reports)
    language = language or ("zh" if 2 * chinese > len(reports) else "en")
    builder = _Builder(writer, similarity, count, seed, CrudSet(language))
    related = await builder.related(reports)
    continuations = [(report, *others) for report, others in related.items() if others]
    events = dict.fromkeys(_sorted(some[:MOST_REPORTS]) for some in continuations)
    await builder.fill("continuing_writing", continuations, builder.continuation)
    await builder.fill("questanswer_1doc", _connected(related, 1), builder.question)
    await builder.fill("questanswer_2docs", _connected(related, 2), builder.question)
    await builder.fill("questanswer_3docs", _connected(related, 3), builder.question)
    await builder.fill("hallu_modified", _connected(related, 1), builder.hallucination)
    await builder.fill("event_summary", events, builder.summary)
    return builder.result


def _sorted(reports: Iterable[Report]) -> tuple[Report, ...]:
    return tuple(sorted(reports, key=lambda report: report.id))


def _connected(related: dict[Report, list[Report]], size: int) -> Iterable[tuple[Report, ...]]:
    """The groups of this many reports of which one is of the same event as all others."""
    groups = ((one, *some) for one, others in related.items() for some in itertools.combinations(others, size - 1))
    return dict.fromkeys(map(_sorted, groups))


@dataclasses.dataclass
class _Builder:
    """Builds records: the method of a task takes the reports of one record, and raises `_Dropped` if it fails."""

    writer: LLMClient
    similarity: Similarity
    count: int
    seed: int
    result: CrudSet

    async def fill(
        self, key: str, groups: Iterable[tuple[Report, ...]], make: Callable[..., Awaitable[Record]]
    ) -> None:
        """Make the records of a task from groups of reports in a seeded order, until there are enough."""
        records = self.result.records.setdefault(key, [])
        texts: set[str] = set()
        rest = iter(sorted(groups, key=lambda some: place_in_order("\0".join(report.id for report in some), self.seed)))
        while batch := list(itertools.islice(rest, self.count - len(records))):
            items = await asyncio.gather(*(make(*some) for some in batch), return_exceptions=True)
            for some, item in zip(batch, items, strict=True):
                if isinstance(item, _Dropped):
                    self.result.dropped[f"{key}: {item}"] += 1
                elif isinstance(item, BaseException):
                    raise item
                elif (text := folded(item[LISTS[key].question_key])) in texts:
                    self.result.dropped[f"{key}: the same as an earlier one"] += 1
                else:
                    texts.add(text)
                    ids = [report.id for report in (some[1:] if key == "continuing_writing" else some)]
                    records.append({"ID": content_id(key, *(r.id for r in some)), **item, "text_ids": ids})

    async def related(self, reports: Sequence[Report]) -> dict[Report, list[Report]]:
        """The usable reports with their events, each with the reports of the same event."""
        usable = self.result.reports
        for report in reports:
            if reason := self._unusable(report):
                self.result.dropped[f"reports: {reason}"] += 1
            else:
                usable.append(report)
        await asyncio.gather(*map(self._name_event, usable))
        related: dict[Report, list[Report]] = {report: [] for report in usable}
        pairs = list(_neighbours([report for report in usable if report.event]))
        same = await asyncio.gather(*(self._ask("related", reports=self._format_reports(pair)) for pair in pairs))
        for (one, other), reply in zip(pairs, same, strict=True):
            if YES.match(reply.lower()):
                related[one].append(other)
                related[other].append(one)
        for report in [report for report, others in related.items() if not others]:
            reason = "no other report of the same event" if report.event else "no event in the reply"
            self.result.dropped[f"reports: {reason}"] += 1
        return related

    async def continuation(self, report: Report, *others: Report) -> Record:
        """The beginning of a report whose rest the others partly cover."""
        beginning, rest = _split_report(report)
        verdict = await self._support_grade(rest, others)
        if not verdict:
            raise _Dropped("no verdict in the reply" if verdict is None else "the other reports do not cover the rest")
        return {"event": report.event, "beginning": beginning, "continuing": rest, "held_out": report.id}

    async def question(self, *reports: Report) -> Record:
        """A question that needs all of the reports."""
        name = "question" if len(reports) == 1 else "questions"
        value = await self._object(name, number=str(len(reports)), reports=self._format_reports(reports))
        question, answer = _line(value.get("question")), _line(value.get("answer"))
        _require(question and answer, "no question in the reply")
        _require(folded(answer) not in folded(question), "the question contains its answer")
        _check_figures(f"{question} {answer}", reports)

        async def is_answered(name: str, visible: Sequence[Report]) -> bool:
            reply = await self._ask(name, question=question, reports=self._format_reports(visible))
            return self.similarity(reply, [answer]) >= SAME

        _require(await is_answered("answer", reports), "its reports do not answer it")
        _require(not await is_answered("closed", ()), "answered without a report")
        fewer = [[r for r in reports if r is not one] for one in reports] if len(reports) > 1 else []
        _require(
            not any(await asyncio.gather(*(is_answered("answer", some) for some in fewer))),
            "not all of its reports are needed",
        )
        news = {f"news{place}": report.text for place, report in enumerate(reports, 1)}
        thoughts = str(value.get("thoughts", ""))[:LONGEST]
        return {"event": reports[0].event, **news, "thoughts": thoughts, "questions": question, "answers": answer}

    async def hallucination(self, report: Report) -> Record:
        """A continuation by the LLM from a beginning alone, with its errors corrected by the report."""
        beginning, real = _split_report(report)
        continuation = (await self._ask("continue", beginning=beginning)).strip()
        _check_text(continuation, report.text)
        value = await self._object("correct", reports=self._format_reports([report]), continuation=continuation)
        errors, correction = value.get("errors"), value.get("corrected")
        if not isinstance(errors, list) or not isinstance(correction, str) or not correction.strip():
            raise _Dropped("no correction in the reply")
        passages = [str(error.get("wrong", "")).strip() for error in errors if isinstance(error, dict)]
        _require(any(passages) and folded(correction) != folded(continuation), "no error found")
        _require(all(passage in continuation for passage in passages), "an error that is not in the continuation")
        _require(await self._support_grade(correction, [report]) == 2, "the correction is not fully supported")
        return {
            "headLine": report.title,
            "newsBeginning": beginning,
            "hallucinatedContinuation": continuation,
            "hallucinatedMod": correction.strip(),
            "realContinuation": real,
            "generatedBy": self.writer.name,
        }

    async def summary(self, *reports: Report) -> Record:
        """An event and a summary of its reports."""
        summary = (await self._ask("summary", reports=self._format_reports(reports))).strip()
        text = "\n".join(report.text for report in reports)
        _check_text(summary, text)
        _require(2 * len(summary) <= len(text), "longer than half of its reports")
        _check_figures(summary, reports)
        _require(await self._support_grade(summary, reports) == 2, "not fully supported")
        return {"event": reports[0].event, "title": reports[0].title, "text": text, "summary": summary}

    async def _name_event(self, report: Report) -> None:
        """Have the LLM name the event of a report, if any."""
        value = await self._object("event", report=f"{report.title}\n{report.text}")
        report.event, keywords = _line(value.get("event")), value.get("keywords")
        words = keywords[:10] if isinstance(keywords, list) else []
        report.query = " ".join(map(str, (report.event, *words)))

    async def _support_grade(self, text: str, reports: Sequence[Report]) -> int | None:
        """How far reports support a text: 2 fully, 1 partly, 0 not at all; None without a verdict."""
        reply = (await self._ask("supported", text=text, reports=self._format_reports(reports))).lower()[:40]
        verdicts = set(re.findall(r"\b(?:all|some|none)\b|全部|部分|没有", reply))
        return VERDICTS[verdicts.pop()] if len(verdicts) == 1 and not NEGATION.search(reply) else None

    async def _object(self, name: str, **values: str) -> dict[str, Any]:
        return next(iter(objects_in(await self._ask(name, **values))), {})

    async def _ask(self, name: str, **values: str) -> str:
        return await self.writer.complete(prompt(f"crud-{name}-{self.result.language}", **values))

    def _format_reports(self, reports: Sequence[Report]) -> str:
        heads = [HEADS[self.result.language].format(place, report.title) for place, report in enumerate(reports, 1)]
        return "\n\n".join(f"{head}\n{report.text}" for head, report in zip(heads, reports, strict=True))

    def _unusable(self, report: Report) -> str:
        if language_of(report.text) != self.result.language:
            return "in another language"
        if len(SENTENCES.split(report.text)) < FEWEST_SENTENCES:
            return "too short to split"
        if len(report.text) > LONGEST:
            return f"longer than {LONGEST:,} characters"
        same = any(report.text == other.text for other in self.result.reports)
        return "the same as an earlier one" if same else ""


def _split_report(report: Report) -> tuple[str, str]:
    """Split a report into its beginning and the rest."""
    ends = [match.end() for match in SENTENCES.finditer(report.text) if match.end() < len(report.text)]
    at = next((end for end in ends if end >= BEGINNING * len(report.text)), ends[-1])
    return report.text[:at].strip(), report.text[at:].strip()


def _neighbours(reports: Sequence[Report]) -> Iterator[tuple[Report, Report]]:
    """Distinct pairs of reports of which one retrieves the other by its event."""
    index = BM25.of(f"{report.title}\n{report.text}" for report in reports) if reports else None
    pairs: dict[tuple[int, int], None] = {}
    for place, report in enumerate(reports):
        hits = index.search(report.query, NEIGHBOURS + 1) if index else []
        others = [hit.chunk for hit in hits if hit.chunk != place][:NEIGHBOURS]
        pairs.update(dict.fromkeys((min(place, other), max(place, other)) for other in others))
    return ((reports[one], reports[other]) for one, other in pairs)


def _line(value: Any) -> str:
    return one_line(value, LONGEST_LINE) or "" if isinstance(value, str) else ""


def _check_text(text: str, report: str) -> None:
    _require(text and not is_error_message(text), "no text in the reply")
    _require(folded(text) not in folded(report), "copied from the report")


def _check_figures(text: str, reports: Sequence[Report]) -> None:
    figures = {figure for report in reports for figure in FIGURES.findall(f"{report.title} {report.text}")}
    _require(figures.issuperset(FIGURES.findall(text)), "a figure that the reports do not have")


def write(crud_set: CrudSet, out: Path, llm: str) -> list[Path]:
    """Write a data set as `crud.json` with its documents and a grid over its tasks.

    The documents for `continuing_writing` omit the reports to continue.
    """
    out.mkdir(parents=True, exist_ok=True)
    held_out = {record.pop("held_out") for record in crud_set.records["continuing_writing"]}
    files = {"documents.jsonl": set[str](), "documents-continuation.jsonl": held_out}
    for name, without in files.items():
        rows = [{"id": r.id, "title": r.title, "text": r.text} for r in crud_set.reports if r.id not in without]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (out / name).write_text(lines, encoding="utf-8")
    records = json.dumps(crud_set.records, ensure_ascii=False, indent=1)
    (out / "crud.json").write_text(records + "\n", encoding="utf-8")
    suffix = "-en" if crud_set.language == "en" else ""
    tasks = []
    for key, task in TASKS.items():
        name = "documents-continuation.jsonl" if key == "continuing_writing" else "documents.jsonl"
        environment = {"environment": "corpus", "documents": f"./{name}"}
        if crud_set.records[key]:
            tasks.append({"task": f"crud/{task}{suffix}", "data": "crud.json", "environment": environment})
    grid = {"name": "crud", "llms": [llm], "workflows": [{"workflow": "rag", "top_k": 8}], "shots": 0, "tasks": tasks}
    (out / "grid.yaml").write_text(yaml.safe_dump(grid, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return [out / name for name in ("crud.json", *files, "grid.yaml")]
