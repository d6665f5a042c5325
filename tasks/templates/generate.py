"""Generates questions from a template file: fills templates, runs programs in the sandbox, drops invalid questions."""

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
"""Maximum number of different programs per text."""
SEPARATOR = re.compile(r"(?<=\d)[.,](?=\d)")
VERDICTS = ("yes", "no", "true", "false")
OVERRUNS = 3
"""Programs of a template that exceed the time or the memory before it is given up."""
CODE = ("evidence", "aliases", "entities")
"""Keys of a template with expressions over its program."""


@dataclasses.dataclass
class Generated:
    """Generated questions, and the number dropped by reason.

    Attributes:
        examples: By reason, the first case: the program's error message or the question's text.
        slot_values: By question id, the values from records in its text.
    """

    questions: list[Question] = dataclasses.field(default_factory=list)
    dropped: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    examples: dict[str, str] = dataclasses.field(default_factory=dict)
    slot_values: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    def drop(self, reason: str, example: str) -> None:
        """Count a dropped question."""
        self.dropped[reason] += 1
        self.examples.setdefault(reason, example)


class Reading(NamedTuple):
    """A template, phrasing and records that produce a text.

    Attributes:
        asks: Whether this may become the question; other readings only show whether the text is ambiguous.
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
        """Why a text with an answer is no valid question; None if it is."""
        if not answer:
            return "empty answer"
        offers_answer = self.template.choice or self.template.options or self.phrasing.offers
        return "answer in the question" if not offers_answer and gives_away(text, answer) else None


async def generate(
    file: TemplateFile,
    environment: Environment,
    sandbox: Sandbox,
    count: int,
    seed: int,
    known: KnownRecords | None = None,
) -> Generated:
    """Generate questions, distributed over the templates as evenly as possible.

    A question is kept only if no other records give the same text with another answer. This covers every first record
    with its joined records, up to 20 lookalikes of sampled (and first) records of which the text shows the same, every
    phrasing, and every template of the file. A text with more than 100 different programs is dropped unchecked.

    Args:
        count: Number of questions; there may be fewer if the records do not suffice.
        seed: Determines the sampled records.
        known: The environment's records, to share them between calls.

    Raises:
        UserError: A template does not fit the environment.
        EnvironmentFailure: The environment failed.
    """
    making = _Making(environment, sandbox, seed, known or KnownRecords(environment, file.records))
    queues = []
    for template in file.templates:
        try:
            queues.append((template, await making.fill(template)))
        except UserError as error:
            raise UserError(f"templates.{template.id}: {error}") from None
    result, used_texts = making.result, set[str]()
    while queues and len(result.questions) < count:
        turn = queues[: count - len(result.questions)]
        candidates = await asyncio.gather(*(making.next(*queue, used_texts) for queue in turn))
        for queue, first in zip(turn, candidates, strict=True):
            candidate = first
            while candidate is not None and candidate[0] in used_texts:  # another template made it in this turn
                candidate = await making.next(*queue, used_texts)
            if candidate is None:
                queues.remove(queue)
                continue
            text, question, slot_values = candidate
            used_texts.add(text)
            result.questions.append(question)
            result.slot_values[question.id] = slot_values
    return result


class _Making:
    """Collects all readings of every text and runs their programs, each distinct program once."""

    def __init__(self, environment: Environment, sandbox: Sandbox, seed: int, known: KnownRecords) -> None:
        self._environment, self._sandbox, self._seed, self._known = environment, sandbox, seed, known
        self._readings: dict[str, list[Reading]] = {}
        self._results: dict[str, asyncio.Task[ProgramResult]] = {}
        self._overruns = collections.Counter[str]()
        self.result = Generated()

    async def fill(self, template: Template) -> collections.deque[str]:
        """Choose records for a template and word them; returns the texts of its questions in order.

        Raises:
            UserError: It does not fit the records.
        """
        expressions = Expressions(self._environment, self._sandbox)
        phrasings = [Phrasing(text) for text in template.phrasings]
        names, combinations, refused = await choose(template, self._known.of, expressions, self._seed, phrasings)
        self.result.dropped["where"] += refused
        rows = [one.row for one in combinations]
        columns = [await expressions.values(code, names, rows, "options") for code in template.options]
        texts: dict[str, None] = {}
        for phrasing in phrasings:
            phrasing.check(names)
        for place, (row, _, own) in enumerate(combinations):
            records = dict(zip(names, row, strict=True))
            options = _options([column[place] for column in columns])
            filled: dict[str, Phrasing] = {}
            for phrasing in phrasings:
                if (text := phrasing.text(records, options)) is not None:
                    filled.setdefault(text, phrasing)
            chosen_text = self._pick(template.id, list(filled)) if own and filled else None
            self.result.dropped["empty slot"] += own and not filled
            for text, phrasing in filled.items():
                reading = Reading(template, phrasing, records, options, text == chosen_text)
                self._readings.setdefault(text, []).append(reading)
            if chosen_text is not None:
                texts[chosen_text] = None
        self.result.dropped = +self.result.dropped
        return collections.deque(texts)

    def _pick(self, id: str, texts: list[str]) -> str:
        """Choose among wordings of the same; the choice depends on seed, template and records alone."""
        digest = hashlib.blake2b(f"{self._seed}\0{id}\0{texts[0]}".encode(), digest_size=8).digest()
        return texts[int.from_bytes(digest, "big") % len(texts)]

    async def next(
        self, template: Template, texts: collections.deque[str], used_texts: set[str]
    ) -> tuple[str, Question, list[str]] | None:
        """The next valid question of a template with its text and slot values; None at the end."""
        while texts and self._overruns[template.id] < OVERRUNS:
            text = texts.popleft()
            if text in used_texts:
                continue
            readings = sorted(self._readings[text], key=lambda one: not (one.asks and one.template is template))
            if (solution := await self._solve(text, readings)) is not None:
                return text, *solution
        return None

    async def _solve(self, text: str, readings: Sequence[Reading]) -> tuple[Question, list[str]] | None:
        """The question of a text, or None if it is invalid; the first readings are those that ask it."""
        programs = [reading.program() for reading in readings]
        different = list(dict.fromkeys(programs))
        if len(different) > PROGRAMS:
            self.result.drop("ambiguous", f"{text} (more than {PROGRAMS} programs)")
            return None
        results: dict[str, ProgramResult] = {}
        for program in different:
            results[program] = await self._result(program)
            answers = list(dict.fromkeys(answer for r in results.values() if (answer := _answer(r))))
            if len(answers) > 1:
                self.result.drop("ambiguous", f"{text} ({' / '.join(answers[:2])})")
                return None
        template = readings[0].template
        for reading, program in zip(readings, programs, strict=True):
            if not reading.asks or reading.template is not template:
                break
            result = results[program]
            if result.error is None and (reason := reading.rejection_reason(text, _answer(result))) is not None:
                self.result.drop(reason, text)
                continue
            if result.error is None:  # run again with further expressions
                code = [one.strip() for key in CODE for one in getattr(template, key)]
                inputs = {**reading.records, OPTIONS: reading.options}
                result = await self._run(template.program, inputs, code) if code else result
            if result.error is None:
                return self._question(text, reading, program, result)
            self._overruns[template.id] += result.error.cause in ("time", "memory")
            n_heads = program.count("\n") - template.program.strip().count("\n")  # lines that assign whole records
            self.result.drop(f"program: {result.error.cause}", _earlier(result.error.message, n_heads))
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
        """The question, with its options in a seeded order, and its slot values."""
        template, order = reading.template, f"{self._seed}/{text}"
        slot_values: list[str] = []
        wording = reading.phrasing.text(reading.records, reading.options, order, slot_values) or text
        values = iter(result.extra)
        extras = {key: list(_flat([next(values) for _ in getattr(template, key)])) for key in CODE}
        meta: dict[str, Any] = {"template": template.id}
        if reading.options:
            meta["options"] = list(map(str, in_order(reading.options, order if reading.phrasing.shuffles else None)))
        question = Question(
            id=f"{template.id}-{hashlib.blake2b(wording.encode(), digest_size=4).hexdigest()}",
            question=wording,
            answers=list(dict.fromkeys([_answer(result), *(text for text in extras["aliases"] if text.strip())])),
            level=template.level,
            program=program,
            evidence=list(dict.fromkeys(extras["evidence"])),
            entities=list(dict.fromkeys(text for text in extras["entities"] if text.strip())),
            meta=meta,
        )
        return question, slot_values


def _earlier(message: str, n_lines: int) -> str:
    """An error's message with its line a number of lines before."""
    return re.sub(r"^line (\d+)", lambda found: f"line {int(found[1]) - n_lines}", message)


def gives_away(text: str, answer: str) -> bool:
    """Whether a text contains all values of an answer, as whole words or parts of a number ("1" of "1,000").

    This is never so for yes and no.
    """
    text, answer = (SEPARATOR.sub(" ", one) for one in (text, answer))
    values = [value for value in answer.split(";") if words(value)]
    if answer.strip().casefold() in VERDICTS or not values:
        return False
    return all(contains_phrase(text, value) for value in values)


def _options(values: Sequence[Any]) -> list[Any]:
    """The distinct options, sorted; a list counts as several."""
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
