"""Questions from a template file: filled, solved in the sandbox, and dropped where they do not hold."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import ProgramResult, Sandbox, answer_text
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.tasks.phrases import contains_phrase, words
from r_eval.tasks.templates.programs import with_values
from r_eval.tasks.templates.records import Expressions, KnownRecords, Record, choose
from r_eval.tasks.templates.render import OPTIONS, Phrasing, in_order
from r_eval.tasks.templates.schema import Template, TemplateFile

PROGRAMS = 100
"""Different programs that are tried for one text."""
AT_ONCE = 4
"""How many of them before their answers are compared."""
SEPARATOR = re.compile(r"(?<=\d)[.,](?=\d)")
VERDICTS = ("yes", "no", "true", "false")
CODE = ("evidence", "aliases", "entities")
"""Keys of a template that hold expressions over its program."""


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
    shown: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    def drop(self, reason: str, example: str) -> None:
        """Count a question that was dropped."""
        self.dropped[reason] += 1
        self.examples.setdefault(reason, example)


class Reading(NamedTuple):
    """One way in which a text comes about.

    Attributes:
        asks: Whether the template asks the text with these records, or this only tells whether it has another answer.
    """

    template: Template
    phrasing: Phrasing
    records: dict[str, Record]
    options: list[Any]
    asks: bool

    def program(self) -> str:
        """The program with the records' values.

        Raises:
            UserError: It names a field that a record does not have.
        """
        try:
            return with_values(self.template.program.strip(), {**self.records, OPTIONS: self.options})
        except UserError as error:
            raise UserError(f"templates.{self.template.id}: program: {error}") from None

    def rejection_reason(self, text: str, answer: str) -> str | None:
        """Why an answer makes no question of the text; None where it does."""
        if not answer:
            return "empty answer"
        names_it = self.template.choice or self.template.options or self.phrasing.offers(self.records, answer)
        return "answer in the question" if not names_it and gives_away(text, answer) else None


async def generate(
    file: TemplateFile,
    environment: Environment,
    sandbox: Sandbox,
    count: int,
    seed: int,
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
        known: The environment's records, where other calls are made from the same ones.

    Raises:
        UserError: A template does not fit the environment.
        EnvironmentFailure: The environment failed.
    """
    making = _Making(environment, sandbox, seed, known or KnownRecords(environment, file.records))
    waiting = []
    for template in file.templates:
        try:
            waiting.append((template, await making.fill(template)))
        except UserError as error:
            raise UserError(f"templates.{template.id}: {error}") from None
    made, asked = making.made, set[str]()
    while waiting and len(made.questions) < count:
        turn = waiting[: count - len(made.questions)]
        found = await asyncio.gather(*(making.next(*queue, asked) for queue in turn))
        for queue, first in zip(turn, found, strict=True):
            one = first
            while one is not None and one[0] in asked:  # another template made it in this turn
                one = await making.next(*queue, asked)
            if one is None:
                waiting.remove(queue)
                continue
            text, question, shown = one
            asked.add(text)
            made.questions.append(question)
            made.shown[question.id] = shown
    return made


class _Making:
    """Knows all readings of every text, and solves them; a program that several readings share runs once."""

    def __init__(self, environment: Environment, sandbox: Sandbox, seed: int, known: KnownRecords) -> None:
        self._environment, self._sandbox, self._seed, self._known = environment, sandbox, seed, known
        self._readings: dict[str, list[Reading]] = {}
        self._results: dict[str, asyncio.Task[ProgramResult]] = {}
        self.made = Generated()

    async def fill(self, template: Template) -> collections.deque[str]:
        """Choose records for a template and word them; the texts that it asks, in their order.

        Raises:
            UserError: It does not fit the records.
        """
        expressions = Expressions(self._environment, self._sandbox)
        phrasings = [Phrasing(text) for text in template.phrasings]
        names, chosen, refused = await choose(template, self._known.of, expressions, self._seed, phrasings)
        self.made.dropped["where"] += refused
        rows = [one.row for one in chosen]
        columns = [await expressions.values(code, names, rows, "options") for code in template.options]
        texts: dict[str, None] = {}
        for phrasing in phrasings:
            phrasing.check(names)
        for place, (row, _, own) in enumerate(chosen):
            records = dict(zip(names, row, strict=True))
            options = _options([column[place] for column in columns])
            filled: dict[str, Phrasing] = {}
            for phrasing in phrasings:
                if (text := phrasing.text(records, options)) is not None:
                    filled.setdefault(text, phrasing)
            asked = self._pick(template.id, list(filled)) if own and filled else None
            self.made.dropped["empty slot"] += own and not filled
            for text, phrasing in filled.items():
                reading = Reading(template, phrasing, records, options, text == asked)
                self._readings.setdefault(text, []).append(reading)
            if asked is not None:
                texts[asked] = None
        self.made.dropped = +self.made.dropped
        return collections.deque(texts)

    def _pick(self, id: str, texts: list[str]) -> str:
        """One of several wordings of the same; which one depends on the seed, the template and the records alone."""
        digest = hashlib.blake2b(f"{self._seed}\0{id}\0{texts[0]}".encode(), digest_size=8).digest()
        return texts[int.from_bytes(digest, "big") % len(texts)]

    async def next(
        self, template: Template, texts: collections.deque[str], asked: set[str]
    ) -> tuple[str, Question, list[str]] | None:
        """The next text of a template whose question holds, with what records put into it; None at the end."""
        while texts:
            text = texts.popleft()
            if text in asked:
                continue
            readings = sorted(self._readings[text], key=lambda one: not (one.asks and one.template is template))
            if (found := await self._solved(text, readings)) is not None:
                return text, *found
        return None

    async def _solved(self, text: str, readings: Sequence[Reading]) -> tuple[Question, list[str]] | None:
        """The question of a text, None where it does not hold; the first of its readings ask it."""
        programs = [reading.program() for reading in readings]
        different = list(dict.fromkeys(programs))
        if len(different) > PROGRAMS:
            self.made.drop("ambiguous", f"{text} (more than {PROGRAMS} programs)")
            return None
        results: dict[str, ProgramResult] = {}
        for start in range(0, len(different), AT_ONCE):
            block = different[start : start + AT_ONCE]
            results.update(zip(block, await asyncio.gather(*map(self._result, block)), strict=True))
            answers = list(dict.fromkeys(answer for r in results.values() if (answer := _answer(r))))
            if len(answers) > 1:
                self.made.drop("ambiguous", f"{text} ({' / '.join(answers[:2])})")
                return None
        template = readings[0].template
        for reading, program in zip(readings, programs, strict=True):
            if not reading.asks or reading.template is not template:
                break
            result = results[program]
            if result.error is None and (reason := reading.rejection_reason(text, _answer(result))) is not None:
                self.made.drop(reason, text)
                continue
            if result.error is None:  # once more, with what is worked out after it
                code = [one.strip() for key in CODE for one in getattr(template, key)]
                inputs = {**reading.records, OPTIONS: reading.options}
                result = await self._run(template.program, inputs, code) if code else result
            if result.error is None:
                return self._question(text, reading, program, result)
            self.made.drop(f"program: {result.error.cause}", result.error.message)
        return None

    async def _result(self, program: str) -> ProgramResult:
        if program not in self._results:
            self._results[program] = asyncio.ensure_future(self._run(program, {}, []))
        return await self._results[program]

    async def _run(self, program: str, inputs: dict[str, Any], expressions: Sequence[str]) -> ProgramResult:
        session = Session(self._environment, self._sandbox)
        try:
            return await session.run_program(program, inputs, expressions)
        finally:
            session.close()

    def _question(self, text: str, reading: Reading, program: str, result: ProgramResult) -> tuple[Question, list[str]]:
        """The question, its options in an order that the seed and the text decide; and what records put into it."""
        template, order = reading.template, f"{self._seed}/{text}"
        shown: list[str] = []
        worded = reading.phrasing.text(reading.records, reading.options, order, shown) or text
        values = iter(result.extra)
        found = {key: list(_flat([next(values) for _ in getattr(template, key)])) for key in CODE}
        meta: dict[str, Any] = {"template": template.id}
        if reading.options:
            meta["options"] = list(map(str, in_order(reading.options, order if reading.phrasing.shuffles else None)))
        question = Question(
            id=f"{template.id}-{hashlib.blake2b(worded.encode(), digest_size=4).hexdigest()}",
            question=worded,
            answers=list(dict.fromkeys([_answer(result), *(text for text in found["aliases"] if text.strip())])),
            level=template.level,
            program=program,
            evidence=list(dict.fromkeys(found["evidence"])),
            entities=list(dict.fromkeys(text for text in found["entities"] if text.strip())),
            meta=meta,
        )
        return question, shown


def gives_away(text: str, answer: str) -> bool:
    """Whether a text holds all values of an answer, as whole words or parts of a number ("1" of "1,000").

    A yes or no is never given away.
    """
    text, answer = (SEPARATOR.sub(" ", one) for one in (text, answer))
    values = [value for value in answer.split(";") if words(value)]
    if answer.strip().casefold() in VERDICTS or not values:
        return False
    return all(contains_phrase(text, value) for value in values)


def _options(values: Sequence[Any]) -> list[Any]:
    """The choices, each once and sorted; an expression that gives a list gives several."""
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return sorted({str(one): one for one in flat}.values(), key=str)


def _answer(result: ProgramResult) -> str:
    return answer_text(result.answer).strip()


def _flat(values: Any) -> Iterator[str]:
    if isinstance(values, list):
        for value in values:
            yield from _flat(value)
    else:
        yield answer_text(values)
