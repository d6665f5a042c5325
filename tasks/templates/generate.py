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
from r_eval.tasks.templates.gold import Outcome, Reading, Solver
from r_eval.tasks.templates.records import Chooser, Combination, Expressions, KnownRecords
from r_eval.tasks.templates.render import Phrasing
from r_eval.tasks.templates.schema import Template, TemplateFile

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
    record with all that is joined to it; in place of a record that was sampled with it (and of the first one), up to
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
    known, expressions = known or KnownRecords(environment, file.records), Expressions(environment, sandbox)
    queues: list[_Queue] = []
    for template in file.templates:
        try:
            queues += await _queues(template, _languages(template, file, languages), known, expressions, made, solver)
        except UserError as error:
            raise UserError(f"templates.{template.id}: {error}") from None
    if not queues:
        written = ", ".join(sorted({one for template in file.templates for one in template.languages})) or "en"
        raise UserError(f"no template is written in {', '.join(languages or file.languages)}; known: {written}")
    waiting = list(queues)
    asked: set[str] = set()
    try:
        while waiting and len(made.questions) < count:
            wanted = count - len(made.questions)
            for queue in waiting[:wanted]:
                queue.begin(min(wanted, max(1, ahead // len(waiting))), asked)
            for queue in waiting[:wanted]:
                question = await queue.next(asked, made)
                if question is None:
                    waiting.remove(queue)
                else:
                    made.questions.append(question)
    finally:
        for queue in queues:
            await queue.stop()
        await solver.stop()
    return made


def _languages(template: Template, file: TemplateFile, wanted: Sequence[str]) -> list[tuple[str | None, str | None]]:
    """The languages to make questions in, and whose way of writing numbers and dates each follows.

    A question that names no language is in the file's first one, or in English.
    """
    first = file.languages[0] if file.languages else None
    if not template.languages:
        return [(None, first)] if (first or "en") in (wanted or [first or "en"]) else []
    chosen = wanted or file.languages or template.languages[:1]
    return [(language, language) for language in dict.fromkeys(chosen) if language in template.languages]


async def _queues(
    template: Template,
    languages: Sequence[tuple[str | None, str | None]],
    known: KnownRecords,
    expressions: Expressions,
    made: Generated,
    solver: Solver,
) -> list[_Queue]:
    """A queue of texts for each language of a template, its records chosen."""
    if not languages:
        return []
    try:
        phrasings = {one: [Phrasing(text, writing) for text in template.phrasings(one)] for one, writing in languages}
    except UserError as error:
        raise UserError(f"question: {error}") from None
    every = [phrasing for texts in phrasings.values() for phrasing in texts]
    chooser = Chooser(template, known.of, expressions, solver.seed, every)
    chosen, refused = await chooser.choose()
    options = await _options(template, expressions, chooser.names, chosen)
    if template.where is not None:
        made.dropped["where"] += refused
    queues = []
    for language, texts in phrasings.items():
        queue = _Queue(template, language, texts, solver)
        try:
            empty = queue.fill(chooser.names, chosen, options)
        except UserError as error:
            raise UserError(f"question: {error}") from None
        if empty:
            made.dropped["empty slot"] += empty
        queues.append(queue)
    return queues


async def _options(
    template: Template, expressions: Expressions, names: Sequence[str], chosen: Sequence[Combination]
) -> list[list[Any]]:
    """The choices of each set of records, each once and sorted; an expression that gives a list gives several."""
    rows = [one.row for one in chosen]
    columns = [await expressions.values(code, names, rows, "options") for code in template.options]
    found = []
    for place in range(len(chosen)):
        values = [column[place] for column in columns]
        flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
        found.append(sorted({str(one): one for one in flat}.values(), key=str))
    return found


class _Queue:
    """The questions of one template in one language, made one at a time."""

    def __init__(self, template: Template, language: str | None, phrasings: list[Phrasing], solver: Solver) -> None:
        self.template, self.language, self.phrasings, self._solver = template, language, phrasings, solver
        self._texts: Iterator[str] = iter(())
        self._begun: collections.deque[tuple[str, asyncio.Task[Outcome]]] = collections.deque()

    def fill(self, names: Sequence[str], chosen: Sequence[Combination], options: Sequence[list[Any]]) -> int:
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
        key = f"{self._solver.seed}\0{self.template.id}\0{texts[0]}"
        return texts[int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big") % len(texts)]

    def begin(self, number: int, asked: set[str]) -> None:
        """Start work on the next questions."""
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
            question, shown, reasons = await task
            self._begun.popleft()
            if text in asked:  # another template made it meanwhile
                continue
            for reason, example in reasons:
                made.drop(reason, example)
            if question is not None:
                asked.add(text)
                made.shown[question.id] = shown
                return question

    async def stop(self) -> None:
        """Give up unfinished questions."""
        for _, task in self._begun:
            task.cancel()
        await asyncio.gather(*(task for _, task in self._begun), return_exceptions=True)
