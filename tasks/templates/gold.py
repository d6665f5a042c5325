"""The gold answer of a text: the programs of all records that make it, run through the query APIs, must agree."""

from __future__ import annotations

import asyncio
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
from r_eval.tasks.templates.programs import Records, with_values, with_values_in
from r_eval.tasks.templates.render import OPTIONS, Phrasing, in_order
from r_eval.tasks.templates.schema import CODE, Template

PROGRAMS = 100
"""Different programs that are tried for one text."""
AT_ONCE = 4
"""How many of them before their answers are compared."""
SEPARATOR = re.compile(r"(?<=\d)[.,](?=\d)")
VERDICTS = ("yes", "no", "true", "false")

Code = tuple[str, ...]
"""A program and the expressions over it, with the records' values in them."""
Reason = tuple[str, str]
"""Why a question was dropped: in a few words, and an example."""
Outcome = tuple[Question | None, tuple[str, ...], list[Reason]]
"""A question, what records put into its text, and why records gave none."""


class Reading(NamedTuple):
    """One way in which a text comes about.

    Attributes:
        names, row: The records.
        owner: Whoever asks the text with these records; None where it is only another reading of it.
        options: The choices.
    """

    template: Template
    language: str | None
    phrasing: Phrasing
    names: Sequence[str]
    row: tuple[dict[str, Any], ...]
    owner: object | None
    options: Sequence[Any] = ()

    @property
    def records(self) -> Records:
        """The records by their names."""
        return dict(zip(self.names, self.row, strict=True))

    def code(self) -> Code:
        """The program and its expressions, with the records' values.

        Raises:
            UserError: One names a field that a record does not have.
        """
        values = {**self.records, OPTIONS: list(self.options)}
        texts = [("program", self.template.program), *((key, t) for key in CODE for t in getattr(self.template, key))]
        code = []
        for key, text in texts:
            fill = with_values if key == "program" else with_values_in
            try:
                code.append(fill(text.strip(), values) if any(name in text for name in values) else text.strip())
            except UserError as error:
                raise UserError(f"templates.{self.template.id}: {key}: {error}") from None
            except (SyntaxError, ValueError):  # the sandbox may read it all the same: its Python is a newer one
                code.append(text.strip())
        return tuple(code)

    def rejection_reason(self, text: str, answer: str) -> str | None:
        """Why an answer makes no question of the text; None where it does."""
        if not answer:
            return "empty answer"
        names_it = self.template.choice or self.template.options or self.phrasing.offers(self.records, answer)
        return "answer in the question" if not names_it and gives_away(text, answer) else None


def gives_away(text: str, answer: str) -> bool:
    """Whether a text holds all values of an answer, as whole words or parts of a number ("1" of "1,000").

    A yes or no is never given away.
    """
    text, answer = (SEPARATOR.sub(" ", one) for one in (text, answer))
    values = [value for value in answer.split(";") if words(value)]
    if answer.strip().casefold() in VERDICTS or not values:
        return False
    return all(contains_phrase(text, value) for value in values)


class Solver:
    """Knows all readings of every text, and solves them; a program that several readings share runs once."""

    def __init__(self, environment: Environment, sandbox: Sandbox, seed: int) -> None:
        self._environment, self._sandbox, self.seed = environment, sandbox, seed
        self._readings: dict[str, list[Reading]] = {}
        self._results: dict[Code, asyncio.Future[ProgramResult]] = {}

    def add(self, text: str, reading: Reading) -> None:
        """Note that these records make this text, in which what is shuffled is sorted."""
        self._readings.setdefault(text, []).append(reading)

    async def question(self, text: str, owner: object) -> Outcome:
        """The question of a text, None where it does not hold.

        Raises:
            UserError: A program or an expression names a field that a record does not have.
            EnvironmentFailure: The environment failed.
        """
        readings = sorted(self._readings[text], key=lambda r: r.owner is not owner)
        codes = [reading.code() for reading in readings]
        different = list(dict.fromkeys(codes))
        if len(different) > PROGRAMS:
            return None, (), [("ambiguous", f"{text} (more than {PROGRAMS} programs)")]
        results: dict[Code, ProgramResult] = {}
        for start in range(0, len(different), AT_ONCE):
            block = different[start : start + AT_ONCE]
            results.update(zip(block, await asyncio.gather(*map(self._run, block)), strict=True))
            answers = list(dict.fromkeys(answer for r in results.values() if (answer := _answer(r))))
            if len(answers) > 1:
                return None, (), [("ambiguous", f"{text} ({' / '.join(answers[:2])})")]
        reasons: list[Reason] = []
        found: tuple[Question | None, tuple[str, ...]] = (None, ())
        for reading, code in zip(readings, codes, strict=True):
            if reading.owner is not owner:
                break
            result = results[code]
            if result.error is not None:
                reasons.append((f"program: {result.error.cause}", result.error.message))
            elif (reason := reading.rejection_reason(text, _answer(result))) is not None:
                reasons.append((reason, text))
            elif found[0] is None:
                found = self._question(text, reading, code[0], result)
        return *found, reasons

    async def stop(self) -> None:
        """Give up unfinished programs."""
        unfinished = [task for task in self._results.values() if not task.done()]
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)

    async def _run(self, code: Code) -> ProgramResult:
        async def run() -> ProgramResult:
            session = Session(self._environment, self._sandbox)
            try:
                return await session.run_program(code[0], expressions=code[1:])
            finally:
                session.close()

        if code not in self._results:
            self._results[code] = asyncio.ensure_future(run())
        return await asyncio.shield(self._results[code])

    def _question(
        self, text: str, reading: Reading, program: str, result: ProgramResult
    ) -> tuple[Question, tuple[str, ...]]:
        """The question, its options in an order that the seed and the text decide; and what records put into it."""
        template, order = reading.template, f"{self.seed}/{text}"
        shown: list[str] = []
        worded = reading.phrasing.text(reading.records, reading.options, order, shown) or text
        values = iter(result.extra)
        found = {key: list(_flat([next(values) for _ in getattr(template, key)])) for key in CODE}
        meta: dict[str, Any] = {"template": template.id}
        if reading.language is not None:
            meta["language"] = reading.language
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
        return question, tuple(shown)


def _answer(result: ProgramResult) -> str:
    return answer_text(result.answer).strip()


def _flat(values: Any) -> Iterator[str]:
    if isinstance(values, list):
        for value in values:
            yield from _flat(value)
    else:
        yield answer_text(values)
