"""Questions from a template file: filled, solved in the sandbox, and dropped where they do not hold."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.tasks.templates.choosing import Chooser, Chosen
from r_eval.tasks.templates.conditions import Conditions
from r_eval.tasks.templates.known import KnownRecords
from r_eval.tasks.templates.schema import Template, TemplateFile
from r_eval.tasks.templates.solving import Reading, Reason, Solved, Solver
from r_eval.tasks.templates.wording import Phrasing

AHEAD = 8
"""Questions that are worked on at the same time; what comes of them does not depend on it."""


@dataclasses.dataclass
class Generated:
    """Questions made, and how many were dropped for which reason.

    Attributes:
        examples: By reason, the first case: what a program's failure says, or the question's text.
        shown: By a question's id, what records put into its text.
    """

    questions: list[Question] = dataclasses.field(default_factory=list)
    dropped: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    examples: dict[str, str] = dataclasses.field(default_factory=dict)
    shown: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    def drop(self, reason: str, example: str) -> None:
        """Count a question that was dropped."""
        self.dropped[reason] += 1
        self.examples.setdefault(reason, example)


async def generate(
    file: TemplateFile,
    environment: Environment,
    sandbox: Sandbox,
    count: int,
    seed: int,
    languages: Sequence[str] = (),
    ahead: int = AHEAD,
    known: KnownRecords | None = None,
) -> Generated:
    """Make questions, as evenly over the templates as they allow.

    A question is kept only if no other records make the same text with another answer. These are tried: every first
    record with all that is joined to it; in place of a record that was sampled beside it (and of the first one), up to
    20 others of which the text shows the same; every phrasing, and every template of the file. A text that more than
    100 different programs belong to is dropped without trying them.

    Args:
        count: How many are wanted; fewer come where the records do not give more.
        seed: Decides which records are taken.
        languages: In place of the file's own.
        ahead: Questions that are worked on at the same time; the same ones come whatever it is.
        known: The environment's records, where other calls are made from the same ones.

    Raises:
        UserError: A template does not fit the environment, or none is in any of the languages.
    """
    made = Generated()
    solver = Solver(environment, sandbox, seed)
    known, conditions = known or KnownRecords(environment), Conditions(environment, sandbox)
    shares = await _shares(file, known, conditions, seed, list(languages), made, solver)
    waiting = list(shares)
    asked: set[str] = set()
    try:
        while waiting and len(made.questions) < count:
            wanted = count - len(made.questions)
            for share in waiting[:wanted]:
                share.begin(min(wanted, max(1, ahead // len(waiting))), asked)
            for share in waiting[:wanted]:
                question = await share.next(asked, made)
                if question is None:
                    waiting.remove(share)
                else:
                    made.questions.append(question)
    finally:
        for share in shares:
            await share.stop()
        await solver.stop()
    return made


async def _shares(
    file: TemplateFile,
    known: KnownRecords,
    conditions: Conditions,
    seed: int,
    languages: list[str],
    made: Generated,
    solver: Solver,
) -> list[_Share]:
    """One share for each template and language, its records chosen."""
    shares = []
    for template in file.templates:
        try:
            written = _wanted(template, file, languages)
            phrasings = {one: [Phrasing(text, writing) for text in template.phrasings(one)] for one, writing in written}
        except UserError as error:
            raise UserError(f"templates.{template.id}: question: {error}") from None
        if not phrasings:
            continue
        try:
            chooser = Chooser(template, known.of, conditions, seed, [p for texts in phrasings.values() for p in texts])
            chosen, refused = await chooser.choose()
            options = await _options(template, conditions, chooser.names, chosen)
        except UserError as error:
            raise UserError(f"templates.{template.id}: {error}") from None
        if template.where is not None:
            made.dropped["where"] += refused
        for language, texts in phrasings.items():
            share = _Share(template, language, texts, seed, solver)
            try:
                empty = share.fill(chooser.names, chosen, options)
            except UserError as error:
                raise UserError(f"templates.{template.id}: question: {error}") from None
            if empty:
                made.dropped["empty slot"] += empty
            shares.append(share)
    if not shares:
        known_ones = sorted({language for template in file.templates for language in template.languages})
        wanted, there = ", ".join(languages or file.languages), ", ".join(known_ones) or "en"
        raise UserError(f"no template is written in {wanted}; known: {there}")
    return shares


async def _options(
    template: Template, conditions: Conditions, names: Sequence[str], chosen: Sequence[Chosen]
) -> list[list[Any]]:
    """The choices of each set of records, each once and sorted; an expression that gives a list gives several."""
    columns = [await conditions.values(one, names, [c.row for c in chosen]) for one in template.options]
    found = []
    for place in range(len(chosen)):
        values = [column[place] for column in columns]
        flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
        found.append(sorted({str(one): one for one in flat}.values(), key=str))
    return found


def _wanted(template: Template, file: TemplateFile, languages: list[str]) -> list[tuple[str | None, str | None]]:
    """The languages to make questions in, and whose way of writing each follows.

    A question that names no language is in the file's first one, or in English.
    """
    first = file.languages[0] if file.languages else None
    if not template.languages:
        asked = languages or [first or "en"]
        return [(None, first)] if (first or "en") in asked else []
    wanted = languages or file.languages or template.languages[:1]
    return [(language, language) for language in dict.fromkeys(wanted) if language in template.languages]


class _Share:
    """The questions of one template in one language, made one at a time."""

    def __init__(
        self, template: Template, language: str | None, phrasings: list[Phrasing], seed: int, solver: Solver
    ) -> None:
        self.template, self.language, self.phrasings = template, language, phrasings
        self._seed, self._solver = seed, solver
        self._texts: Iterator[str] = iter(())
        self._begun: collections.deque[tuple[str, asyncio.Task[tuple[Solved | None, list[Reason]]]]]
        self._begun = collections.deque()

    def fill(self, names: Sequence[str], chosen: Sequence[Chosen], options: Sequence[list[Any]]) -> int:
        """Word every set of records; returns how many fill no phrasing.

        Raises:
            UserError: A record has no such field, or a value does not fit its format.
        """
        empty = 0
        texts: dict[str, None] = {}
        for phrasing in self.phrasings:
            phrasing.check(names)
        for (row, _, own), choices in zip(chosen, options, strict=True):
            filled: dict[str, Phrasing] = {}
            records = dict(zip(names, row, strict=True))
            for phrasing in self.phrasings:
                if (text := phrasing.text(records, choices)) is not None:
                    filled.setdefault(text, phrasing)
            asked = self._pick(list(filled)) if own and filled else None
            empty += own and not filled
            for text, phrasing in filled.items():
                owner = self if text == asked else None
                self._solver.add(text, Reading(self.template, self.language, phrasing, names, row, owner, choices))
            if asked is not None:
                texts[asked] = None
        self._texts = iter(texts)
        return empty

    def _pick(self, texts: list[str]) -> str:
        """One of several wordings of the same; which one depends on the seed, the template and the records alone."""
        if len(texts) == 1:
            return texts[0]
        digest = hashlib.blake2b(f"{self._seed}\0{self.template.id}\0{texts[0]}".encode(), digest_size=8).digest()
        return texts[int.from_bytes(digest, "big") % len(texts)]

    def begin(self, number: int, asked: set[str]) -> None:
        """Have the next questions under way."""
        while len(self._begun) < number:
            text = next((t for t in self._texts if t not in asked), None)
            if text is None:
                return
            self._begun.append((text, asyncio.ensure_future(self._solver.question(text, self))))

    async def next(self, asked: set[str], made: Generated) -> Question | None:
        """The next question that holds; None when the records are used up."""
        while True:
            self.begin(1, asked)
            if not self._begun:
                return None
            text, task = self._begun[0]
            solved, reasons = await task
            self._begun.popleft()
            if text in asked:  # another template made it meanwhile
                continue
            for reason, example in reasons:
                made.drop(reason, example)
            if solved is not None:
                asked.add(text)
                made.shown[solved.question.id] = solved.shown
                return solved.question

    async def stop(self) -> None:
        """Give up what is under way."""
        for _, task in self._begun:
            task.cancel()
        await asyncio.gather(*(task for _, task in self._begun), return_exceptions=True)
