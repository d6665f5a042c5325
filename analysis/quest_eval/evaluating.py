"""Asks an LLM for the questions and the answers, and scores many texts at once.

A reference is asked about once, however many texts are held against it: what came of it is kept in the process, and
every reply of the LLM in the cache of replies, under the model, its settings and the whole prompt, so that a changed
reference, prompt or model is asked about anew. A reply that cannot be read, or lacks an answer, is asked for once more.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from r_eval.analysis.quest_eval.answering import asked_for_answers, read_answers
from r_eval.analysis.quest_eval.prompting import prompt
from r_eval.analysis.quest_eval.questions import asked_for_questions, read_questions
from r_eval.analysis.quest_eval.scores import Pair, QuestScore, score
from r_eval.analysis.quest_eval.sheets import Sheet
from r_eval.analysis.quest_eval.unanswerable import UNANSWERABLE
from r_eval.errors import UserError
from r_eval.languages import Language, language_of

KEPT = 4_096
"""Sheets, and scores, that are kept of one LLM in a process."""

Key = TypeVar("Key")
Value = TypeVar("Value")
Say = Callable[[str], Awaitable[str]]
"""Sends a prompt to an LLM and returns its reply; raises UserError where the LLM fails."""


class Row(NamedTuple):
    """A generated text and the reference that it is held against.

    Attributes:
        sheet: The questions, where they are known already, as from a published cache.
    """

    answer: str
    reference: str
    sheet: Sheet | None = None


@dataclass(slots=True)
class Evaluated:
    """The scores of some rows, in their order.

    Attributes:
        error: What the LLM said where it failed; the last of it.
    """

    scores: list[QuestScore] = field(default_factory=list)
    error: str = ""

    def counts(self) -> dict[str, int]:
        """What stands behind the scores: texts, questions, and those of both that count nowhere, by cause."""
        of = self.scores
        why = Counter(found.why for found in of)
        return {
            "texts": len(of),
            "scored": sum(found.scored for found in of),
            **{word: why[word] for word in ("unread", "unusable", "no_reference", "failed")},
            "n_questions": sum(found.n_questions for found in of),
            "n_gt_unanswerable": sum(found.n_gt_unanswerable for found in of),
            "n_gm_unanswerable": sum(found.n_gm_unanswerable for found in of),
            "n_misaligned": sum(found.n_misaligned for found in of),
            "n_dropped": sum(found.n_dropped for found in of),
        }


def evaluate(llm: str, rows: Sequence[Row]) -> Evaluated:
    """The score of every row by the questions and answers of an LLM; not to be called where an event loop runs.

    A row that the LLM failed on has no score, and is counted.

    Args:
        llm: Its name; or a YAML file that has it as `llm`, beside its settings, as an entry of a grid does.

    Raises:
        UserError: There is no such LLM, or it cannot be used.
    """
    name, settings = _named(llm)
    kept = _kept(name, json.dumps(settings, sort_keys=True, default=str))
    if all(row in kept.scores for row in rows):
        return Evaluated([kept.scores[row] for row in rows])
    return asyncio.run(_evaluate(name, settings, rows, kept))


def _named(llm: str) -> tuple[str, dict[str, Any]]:
    """An LLM's name and settings."""
    if not llm.endswith((".yaml", ".yml")):
        return llm, {}
    import yaml

    from r_eval.files import read_yaml

    try:
        entry = read_yaml(Path(llm).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"quest_eval: {llm} cannot be read: {error}") from None
    if not isinstance(entry, dict) or not isinstance(entry.get("llm"), str):
        raise UserError(f"quest_eval: {llm}: expected an LLM as a grid has it, as in llm: openai/gpt-4o")
    return entry.pop("llm"), entry


async def _evaluate(name: str, settings: dict[str, Any], rows: Sequence[Row], kept: _Kept) -> Evaluated:
    from r_eval.tasks.speaking import Speaker, replies_kept

    found = Evaluated()
    with replies_kept("quest_eval") as memory:
        async with Speaker(name, memory, settings) as speaker:
            asking = Asking(speaker.say, kept)
            distinct = list(dict.fromkeys(rows))
            scores = dict(zip(distinct, await asyncio.gather(*map(asking.row, distinct)), strict=True))
    found.scores = [scores[row] for row in rows]
    found.error = asking.error
    return found


@dataclass(slots=True)
class _Kept:
    """What is kept of one LLM."""

    sheets: dict[str, Sheet] = field(default_factory=dict)
    scores: dict[Row, QuestScore] = field(default_factory=dict)


@functools.cache
def _kept(name: str, settings: str) -> _Kept:
    return _Kept()


class Asking:
    """An LLM's questions and answers, for as long as an event loop runs."""

    def __init__(self, say: Say, kept: _Kept | None = None) -> None:
        self._say, self._known = say, kept or _Kept()
        self._sheets: dict[str, asyncio.Task[Sheet]] = {}
        self.error = ""

    async def row(self, row: Row) -> QuestScore:
        """The score of one row; one without a score where the LLM failed."""
        if row in self._known.scores:
            return self._known.scores[row]
        if not row.reference.strip() and row.sheet is None:
            return _keep(self._known.scores, row, QuestScore(why="no_reference"))
        try:
            sheet = row.sheet or await self.sheet(row.reference)
            given = await self._given(row, sheet)
        except UserError as error:
            self.error = str(error)
            return QuestScore(why="failed")
        return _keep(self._known.scores, row, score(list(map(Pair, sheet.answers, given))))

    async def sheet(self, reference: str) -> Sheet:
        """The questions about a reference and its own answers; without any where none could be read.

        Raises:
            UserError: The LLM failed.
        """
        if reference in self._known.sheets:
            return self._known.sheets[reference]
        if reference not in self._sheets:
            self._sheets[reference] = asyncio.create_task(self._write(reference))
        return _keep(self._known.sheets, reference, await self._sheets[reference])

    async def answers(self, text: str, questions: Sequence[str], language: Language) -> list[str | None]:
        """A text's answer to each question.

        Raises:
            UserError: The LLM failed.
        """
        asked = asked_for_answers(text, questions, language)
        found = read_answers(await self._say(asked), questions)
        if None in found:
            more = read_answers(await self._say(_again(asked, language)), questions)
            found = [one if one is not None else other for one, other in zip(found, more, strict=True)]
        return found

    async def _write(self, reference: str) -> Sheet:
        language = language_of(reference)
        asked = asked_for_questions(reference)
        written = read_questions(await self._say(asked)) or read_questions(await self._say(_again(asked, language)))
        if written is None:
            return Sheet((), ())
        answers = await self.answers(reference, written.questions, language)
        return Sheet(written.questions, tuple(answers), written.key_info)

    async def _given(self, row: Row, sheet: Sheet) -> Sequence[str | None]:
        """What the text answers; an empty one answers nothing, and where no question counts none is asked."""
        if not row.answer.strip() or not sheet.usable:
            return [UNANSWERABLE] * len(sheet.questions)
        return await self.answers(row.answer, sheet.questions, language_of(row.reference or sheet.questions[0]))


def _again(asked: str, language: Language) -> str:
    return f"{asked}\n\n{prompt('again', language)}"


def _keep(kept: dict[Key, Value], key: Key, value: Value) -> Value:
    """The value, kept from now on; the oldest makes room."""
    kept[key] = value
    while len(kept) > KEPT:
        del kept[next(iter(kept))]
    return value
