"""The gold answer of a text: the programs of all records that make it, run through the query APIs, must agree."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import ProgramError, Sandbox, answer_text
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.tasks.templates.programs import with_values, with_values_in
from r_eval.tasks.templates.schema import CODE, Template
from r_eval.tasks.templates.wording import OPTIONS, Phrasing, Records, Row, in_order

PROGRAMS = 100
"""Different programs that are tried for one text."""
AT_ONCE = 4
"""How many of them before their answers are compared."""
TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+")
Reason = tuple[str, str]
"""Why a question was dropped: in a few words, and an example."""
VERDICTS = ("yes", "no", "true", "false")


class Reading(NamedTuple):
    """One way in which a text comes about.

    Attributes:
        names, row: The records.
        options: The choices.
        owner: Whoever asks the text with these records; None where it is only another reading of it.
    """

    template: Template
    language: str | None
    phrasing: Phrasing
    names: Sequence[str]
    row: Row
    owner: object | None
    options: Sequence[Any] = ()

    @property
    def records(self) -> Records:
        """The records by their names."""
        return dict(zip(self.names, self.row, strict=True))

    def worded(self, text: str, seed: int) -> tuple[str, tuple[str, ...], list[str]]:
        """The text with its options in an order that the seed and the text decide, what the records put into it, and
        the options in that order.
        """
        values: list[str] = []
        found = self.phrasing.text(self.records, self.options, f"{seed}/{text}", values)
        order = in_order(self.options, f"{seed}/{text}" if self.phrasing.shuffles else None)
        return found or text, tuple(values), [str(option) for option in order]


class Solved(NamedTuple):
    """A question, and what records put into its text."""

    question: Question
    shown: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Result:
    """What a program left: its answer as text, and the values of its expressions."""

    answer: str
    extra: list[Any]
    error: ProgramError | None


class Solver:
    """Knows all readings of every text, and solves them; a program that several readings share runs once."""

    def __init__(self, environment: Environment, sandbox: Sandbox, seed: int) -> None:
        self._environment, self._sandbox, self._seed = environment, sandbox, seed
        self._readings: dict[str, list[Reading]] = {}
        self._results: dict[tuple[str, ...], asyncio.Future[_Result]] = {}

    def add(self, text: str, reading: Reading) -> None:
        """Note that these records make this text, in which what is shuffled is sorted."""
        self._readings.setdefault(text, []).append(reading)

    async def question(self, text: str, owner: object) -> tuple[Solved | None, list[Reason]]:
        """The question of a text, None where it does not hold; with why records of the owner's gave none.

        Raises:
            UserError: A program or an expression names a field that a record does not have.
            EnvironmentFailure: The environment failed.
        """
        reasons: list[Reason] = []
        readings = sorted(self._readings[text], key=lambda r: r.owner is not owner)
        codes = [_code(reading) for reading in readings]
        different = list(dict.fromkeys(codes))
        if len(different) > PROGRAMS:
            return None, [("ambiguous", f"{text} (more than {PROGRAMS} programs)")]
        results: dict[tuple[str, ...], _Result] = {}
        for start in range(0, len(different), AT_ONCE):
            block = different[start : start + AT_ONCE]
            results.update(zip(block, await asyncio.gather(*map(self._run, block)), strict=True))
            answers = list(dict.fromkeys(r.answer for r in results.values() if r.answer))
            if len(answers) > 1:
                return None, [("ambiguous", f"{text} ({' / '.join(answers[:2])})")]
        question = None
        for reading, code in zip(readings, codes, strict=True):
            if reading.owner is not owner:
                break
            reason = _reason(text, reading, results[code])
            if reason is not None:
                reasons.append((reason, error.message if (error := results[code].error) else text))
            elif question is None:
                worded, shown, options = reading.worded(text, self._seed)
                question = Solved(_question(worded, options, reading, code[0], results[code]), shown)
        return question, reasons

    async def stop(self) -> None:
        """Give up the programs under way."""
        under_way = [task for task in self._results.values() if not task.done()]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _run(self, code: tuple[str, ...]) -> _Result:
        known = self._results.get(code)
        if known is None:
            known = self._results[code] = asyncio.ensure_future(self._carried_out(code))
        return await asyncio.shield(known)

    async def _carried_out(self, code: tuple[str, ...]) -> _Result:
        session = Session(self._environment, self._sandbox)
        try:
            result = await session.run_program(code[0], expressions=code[1:])
        finally:
            session.close()
        return _Result(answer_text(result.answer).strip(), result.extra, result.error)


def _code(reading: Reading) -> tuple[str, ...]:
    """The program and its expressions, with the records' values."""
    template = reading.template
    records = {**reading.records, OPTIONS: list(reading.options)}
    texts = [("program", template.program), *((key, text) for key in CODE for text in getattr(template, key))]
    code = []
    for key, text in texts:
        fill = with_values if key == "program" else with_values_in
        try:
            code.append(fill(text.strip(), records) if any(name in text for name in records) else text.strip())
        except KeyError as error:
            raise UserError(f"templates.{template.id}: {key}: no field {error}") from None
        except (SyntaxError, ValueError):  # the sandbox may read it all the same: its Python is a newer one
            code.append(text.strip())
    return tuple(code)


def _reason(text: str, reading: Reading, result: _Result) -> str | None:
    """Why a reading gives no question, None where it does."""
    if result.error is not None:
        return f"program: {result.error.cause}"
    if not result.answer:
        return "empty answer"
    told = not (reading.template.choice or reading.template.options) and contains_phrase(result.answer, text)
    if told and not reading.phrasing.offers(reading.records, result.answer):
        return "answer in the question"
    return None


def contains_phrase(answer: str, text: str) -> bool:
    """Whether a text gives an answer away: it holds all of its values, as whole words. A yes or no never is."""
    values = [words(value) for value in answer.split(";")]
    known = f" {' '.join(words(text))} "
    if answer.strip().casefold() in VERDICTS or not any(values):
        return False
    return all(f" {' '.join(value)} " in known for value in values if value)


def words(text: str) -> list[str]:
    """The words of a text without regard to case; each Chinese or Japanese character is one."""
    return TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())


def _question(text: str, options: list[str], reading: Reading, program: str, result: _Result) -> Question:
    template = reading.template
    sizes = [len(getattr(template, key)) for key in CODE]
    ends = [sum(sizes[: n + 1]) for n in range(len(CODE))]
    found = {key: list(_flat(result.extra[e - s : e])) for key, s, e in zip(CODE, sizes, ends, strict=True)}
    further: dict[str, Any] = {"language": reading.language} if reading.language is not None else {}
    if options:
        further["options"] = options
    return Question(
        id=f"{template.id}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}",
        question=text,
        answers=list(dict.fromkeys([result.answer, *(text for text in found["aliases"] if text.strip())])),
        level=template.level,
        program=program,
        evidence=list(dict.fromkeys(found["evidence"])),
        entities=list(dict.fromkeys(text for text in found["entities"] if text.strip())),
        meta={"template": template.id, **further},
    )


def _flat(values: Any) -> Iterator[str]:
    if isinstance(values, list):
        for value in values:
            yield from _flat(value)
    else:
        yield answer_text(values)
