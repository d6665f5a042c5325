"""An LLM that grades answers from 0 to 2 by a stated criterion, and how far it agrees with people.

It calls an LLM, so it runs only when it is asked for by name (`judge@LLM`, or `judge@LLM#criterion`; a criterion is one
of `prompts/criteria.yaml`, or a YAML file of that form with one). Replies come from the cache of replies where it has
them. The grade is halved to 0, 0.5 or 1. An empty answer is worth 0 unasked. A reply without a grade is followed by one
more request; after that the score is NaN, as where the machinery fails.

A judge is an opinion: state its `agreement` with grades that people gave (exact share, and Cohen's kappa with quadratic
weights, Cohen 1968) before its figures are used.
"""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from r_eval.analysis.metrics.registry import Batched
from r_eval.errors import UserError

if TYPE_CHECKING:
    from r_eval.tasks.speaking import Speaker

DEFAULT = "correctness"
LONGEST = 12_000
"""Characters of an answer, question or gold that the judge sees."""
SHOWN = ("question", "golds")
TOP = 2
"""The best grade."""

_LABELLED = re.compile(
    r"(?:grade|rating|verdict|result|mark|points?|分|оценка|балл(?:а|ов)?|результат)(?:\s{0,3}\(0\s?[-–]\s?2\))?[^\w\n]{0,9}(?:(?:is|of|:)\s{0,3})?[^\w\n]{0,9}([012])(?![\d/-]|\.\d)",
    re.IGNORECASE,
)
_MARKED = re.compile(r"(?:\*\*|\\boxed\{|\[\[)\s{0,3}([012])(?:\.0)?\s{0,3}(?:/\s{0,3}2)?\s{0,3}(?:\*\*|\}|\]\])")
_LINE = re.compile(r"^\W{0,5}([012])(?:\.0)?(?:\s{0,3}/\s{0,3}2)?(?:\W{0,5}$|\s{0,3}[:.)–-]\s)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is graded, and what each grade means.

    Attributes:
        asks: A question about the answer.
        two, one, zero: When the grade is given.
        shows: What the judge sees besides the answer; of `SHOWN`.
    """

    asks: str
    two: str
    one: str
    zero: str
    shows: tuple[str, ...] = SHOWN


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far grades agree with those that people gave.

    Attributes:
        n: Grades that were compared.
        unread: Answers to which the judge gave none; they are in nothing else.
        exact: Share of equal grades; NaN where n is 0.
        kappa: Cohen's, with quadratic weights; NaN where both sides gave the same grade to everything, or n is 0.
    """

    n: int
    unread: int
    exact: float
    kappa: float


class JudgeMetric(Batched):
    """An LLM's grade of the answer (0, 0.5 or 1); needs the LLM's name, as in judge@openai/gpt-4o."""

    def __init__(self, given: str | None = None, criterion: Criterion | None = None) -> None:
        self._llm, _, name = (given or "").partition("#")
        self._criterion = criterion or criterion_of(name or DEFAULT)

    def batch(
        self, predictions: Sequence[str], golds: Sequence[Sequence[str]], questions: Sequence[str] | None = None
    ) -> list[float]:
        """The scores of many answers; not to be called where an event loop runs.

        Raises:
            UserError: No LLM is named, or it cannot be used.
        """
        if not self._llm:
            raise UserError("judge needs an LLM: name it judge@LLM, as in judge@openai/gpt-4o")
        return asyncio.run(self._batch(predictions, golds, questions))

    async def _batch(
        self, predictions: Sequence[str], golds: Sequence[Sequence[str]], questions: Sequence[str] | None
    ) -> list[float]:
        from r_eval.tasks.speaking import Speaker, replies_kept

        known = questions if questions is not None else [""] * len(predictions)
        with replies_kept("judge") as memory:
            async with Speaker(self._llm, memory) as speaker:
                rows = zip(predictions, golds, known, strict=True)
                return await asyncio.gather(*(score(speaker, self._criterion, *row) for row in rows))


async def score(speaker: Speaker, criterion: Criterion, answer: str, golds: Sequence[str], question: str = "") -> float:
    """What an answer is worth, from 0 to 1; NaN where the judge's replies hold no grade."""
    if not answer.strip():
        return 0.0
    grade = await grade_by(speaker, asked(criterion, answer, golds, question), prompt_file("again.md"))
    return float("nan") if grade is None else grade / TOP


async def grade_by(speaker: Speaker, text: str, again: str) -> int | None:
    """The grade that an LLM gives, asked once more where its reply holds none; None where the second one does not."""
    for prompt in (text, f"{text}\n\n{again}"):
        grade = read_grade(await speaker.say(prompt))
        if grade is not None:
            return grade
    return None


def asked(criterion: Criterion, answer: str, golds: Sequence[str], question: str = "") -> str:
    """What the judge is told."""
    shown = [f"Answer: {answer[:LONGEST]}"]
    if "golds" in criterion.shows and golds:
        shown.insert(0, "Right answers (any one is right):\n" + "\n".join(f"- {gold[:LONGEST]}" for gold in golds))
    if "question" in criterion.shows and question:
        shown.insert(0, f"Question: {question[:LONGEST]}")
    grades = {"asks": criterion.asks, "two": criterion.two, "one": criterion.one, "zero": criterion.zero}
    return Template(prompt_file("judge.md")).substitute(shown="\n".join(shown), **grades)


def read_grade(reply: str) -> int | None:
    """The grade in a judge's reply; None where there is none, or more than one.

    Read are JSON with a "score", a number behind "score", "grade" or the like, one in bold or brackets, one that
    has a line to itself, or the only number of the reply.

    >>> [read_grade(text) for text in ('{"score": 2}', "Grade: 1, since it lacks a name", "**0**", "1 or 2", "3")]
    [2, 1, 0, None, None]
    """
    from r_eval.tasks.graphs.judging import grade_in

    reply = reply[-LONGEST:]
    found = grade_in(reply)
    if found is not None:
        return found
    for pattern in (_LABELLED, _MARKED, _LINE):
        if grades := set(pattern.findall(reply)):
            return int(grades.pop()) if len(grades) == 1 else None
    return None


def agreement(judged: Sequence[float], human: Sequence[float]) -> Agreement:
    """How far scores of a judge agree with scores that people gave; both 0, 0.5 or 1, the judge's perhaps NaN.

    >>> agreement([1, 0.5, 0, 1], [1, 0.5, 0, 0.5])
    Agreement(n=4, unread=0, exact=0.75, kappa=0.8)
    """
    import numpy as np

    ours, theirs = np.asarray(judged, dtype=float), np.asarray(human, dtype=float)
    if ours.shape != theirs.shape:
        raise ValueError(f"{ours.size} scores of the judge, {theirs.size} of people: they must be in pairs")
    read = ~np.isnan(ours)
    one, two = ours[read], theirs[read]
    unread = int(ours.size - one.size)
    if not one.size:
        return Agreement(0, unread, float("nan"), float("nan"))
    by_chance = float((one**2).mean() + (two**2).mean() - 2 * one.mean() * two.mean())
    kappa = 1 - float(((one - two) ** 2).mean()) / by_chance if by_chance else float("nan")
    return Agreement(int(one.size), unread, float((one == two).mean()), round(kappa, 12))


def criterion_of(name: str) -> Criterion:
    """A criterion by name, or the one in a YAML file.

    Raises:
        UserError: There is none of that name, or the file is not of the form.
    """
    import yaml

    from r_eval.files import read_yaml

    if not name.endswith((".yaml", ".yml")):
        if name not in criteria():
            raise UserError(f"judge: no criterion is called {name!r}; there are {', '.join(sorted(criteria()))}")
        return criteria()[name]
    try:
        return _criterion(name, read_yaml(Path(name).read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"judge: {name} cannot be read: {error}") from None


@functools.cache
def criteria() -> dict[str, Criterion]:
    """The criteria that come with R-Eval."""
    import yaml

    return {name: _criterion(name, data) for name, data in yaml.safe_load(prompt_file("criteria.yaml")).items()}


def _criterion(where: str, data: object) -> Criterion:
    texts = ("asks", "two", "one", "zero")
    known: Mapping[str, Any] = data if isinstance(data, dict) else {}
    shows = known.get("shows", list(SHOWN))
    if not all(isinstance(known.get(key), str) for key in texts) or set(known) - {*texts, "shows"}:
        raise UserError(f"judge: {where}: expected the texts {', '.join(texts)}, and perhaps a list `shows`")
    if not isinstance(shows, list) or any(item not in SHOWN for item in shows):
        raise UserError(f"judge: {where}: shows: expected a list of {' and '.join(SHOWN)}")
    return Criterion(**{key: known[key] for key in texts}, shows=tuple(shows))


@functools.cache
def prompt_file(name: str) -> str:
    """The text of a file among the prompts."""
    return files("r_eval.analysis.metrics").joinpath("prompts", name).read_text(encoding="utf-8").strip()
