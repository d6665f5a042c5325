"""The condition `counterfactual`: what a question's answer rests on is replaced, everywhere in the environment.

Whoever reads finds the new answer; whoever remembers gives the old one. Replaced are the values that the question
names as `entities`; where it names none, its gold answers and its named evidence. What stands in the question stays,
so that the question is the same. Each value is replaced by another of its kind (see `alternatives`), in all that the
environment returns, and back in all that it is asked (see `replacing`). The old value is not known there any more.

A gold program is run again in the changed environment. It must give the replaced gold. Where the gold is one of the
things that the question lets choose from, or a number that the program computes, what it rests on is replaced until the
program comes to another one.
Questions that do not come out so are dropped, and counted by reason.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from pydantic_core import to_jsonable_python

from r_eval.environments.base import Environment, EnvironmentFailure, NotFound
from r_eval.environments.sandbox import Sandbox, answer_text
from r_eval.environments.session import Session
from r_eval.records import Question, Step
from r_eval.seeds import Seeds

from .alternatives import KINDS, Alternatives, replaceable
from .base import Condition, Wrapped
from .replacing import Replacements, as_date, is_number, normal, overlap, same_kind, tokens

ATTEMPTS = 12
"""Draws of new values for a question whose program does not come out right."""
UNKNOWN = "Nothing is known of what was asked for here."
REPLACED, OLD_ANSWERS = "replaced", "old_answers"
"""Keys of a question's `meta`: the new value by the old one, and the gold answers before."""


class Counterfactual(Condition):
    """The environment with other values where the answer lies.

    Args:
        seed: Of the choice of new values.
        kinds: Kinds of records from which names are drawn, where the environment has no triples.
        pool: Names that may stand for each other, for an environment that has neither.

    Raises:
        ValueError: A setting is not of its type.

    Attributes:
        dropped: Questions that could not be asked, by reason.
    """

    name: ClassVar[str] = "counterfactual"

    def __init__(self, *, seed: int = 0, kinds: Sequence[str] = KINDS, pool: Sequence[str] = ()) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ValueError(f"seed must be a whole number, not {seed!r}")
        self.seed, self.kinds, self.pool = seed, _texts("kinds", kinds), _texts("pool", pool)
        self.dropped: Counter[str] = Counter()
        self._alternatives: dict[str, Alternatives] = {}

    def identity(self) -> dict[str, Any]:
        """The settings as plain data."""
        return {"seed": self.seed, "kinds": list(self.kinds), "pool": list(self.pool)}

    def question(self, question: Question, environment: Environment) -> Question | None:
        """The question with its new golds; None, and counted in `dropped`, where there are none."""
        with ThreadPoolExecutor(1) as thread:  # the caller may itself run in an event loop
            try:
                found = thread.submit(asyncio.run, self._question(question, environment)).result()
            except EnvironmentFailure:
                found = "the environment failed while the program ran"
        if isinstance(found, str):
            self.dropped[found] += 1
            return None
        return found

    def environment(self, environment: Environment, question: Question, seeds: Seeds) -> Environment:
        """The environment with the question's values replaced."""
        values = question.meta.get(REPLACED)
        return Replaced(environment, Replacements(values)) if values else environment

    async def _question(self, question: Question, environment: Environment) -> Question | str:
        golds = [item for answer in question.answers for item in _items(answer)]
        if not any(map(replaceable, golds)):
            return "the answer is a truth value or a count, or no name, number or date"
        told = _stands(question.question, golds)
        if not question.program and (any(told) or any(map(_count, golds))):
            return "the answer stands in the question or may be a count, and no program says what becomes of it"
        seen = ""
        if question.program:
            answer, seen = await _run(question.program, environment)
            if not any(_same(answer, gold) for gold in question.answers):
                return "the program does not give the gold answer"
        computed = bool(question.program) and all(map(is_number, golds)) and not any(_stands(seen, golds))
        values = _values_of(question, without=golds if computed else ())
        if not values:
            return "nothing that the answer rests on can be replaced"
        draw = random.Random(Seeds(self.seed, question.id, 0).of(self.name))
        taken = "\n".join([question.question, seen, *(document.text for document in question.context)])
        reason = "no other value of the kind is known"
        for _ in range(ATTEMPTS):
            changes = self._draw(
                values, _mixed(values, draw) if computed or all(told) else values, taken, environment, draw
            )
            if changes is None:
                continue
            asked = await self._asked(question, changes, environment, all(told), computed)
            if asked is not None:
                return asked
            reason = "the answer does not change as what was replaced does"
        return reason

    async def _asked(
        self, question: Question, changes: Replacements, environment: Environment, choice: bool, computed: bool
    ) -> Question | None:
        """The question under these changes; None where its program does not come to an answer that fits."""
        answers = [changes.forward(answer) for answer in question.answers]
        if question.program:
            answer, seen = await _run(question.program, Replaced(environment, changes))
            if changes.traces(seen):
                return None
            chosen = choice and answer and all(_stands(question.question, _items(answer)))
            if chosen or (computed and is_number(answer)):
                answers = [answer]
            elif not any(_same(answer, new) for new in answers):
                return None
        if any(_same(new, old) for new in answers for old in question.answers):
            return None
        meta = {**question.meta, REPLACED: changes.values, OLD_ANSWERS: question.answers}
        context = [
            document.model_copy(
                update={"title": changes.forward(document.title), "text": changes.forward(document.text)}
            )
            for document in question.context
        ]
        evidence, entities = changes.forward(question.evidence), changes.forward(question.entities)
        new = {"answers": answers, "evidence": evidence, "entities": entities, "context": context, "meta": meta}
        return question.model_copy(update=new)

    def _draw(
        self, values: Sequence[str], like: Sequence[str], taken: str, environment: Environment, draw: random.Random
    ) -> Replacements | None:
        """New values, each drawn as an alternative to what stands at its place in `like`; None where one lacks."""
        known = self._alternatives.get(environment.version)
        if known is None:
            known = self._alternatives[environment.version] = Alternatives(environment, self.kinds, self.pool)
        old = [tokens(value) for value in values]
        told = _line(tokens(taken))
        chosen: dict[str, str] = {}
        words: set[str] = set()
        for value, model in zip(values, like, strict=True):
            for other in known.of(model, draw):
                new = tokens(other)
                line = _line(new)
                if not new or line in told or line in words or not same_kind(value, other):
                    continue
                if any(overlap(one, new) for one in old):
                    continue
                chosen[value] = other
                words.add(line)
                break
            else:
                return None
        return Replacements(chosen)


class Replaced(Wrapped):
    """An environment in which other values stand."""

    def __init__(self, inner: Environment, changes: Replacements) -> None:
        super().__init__(inner)
        self.changes = changes

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """Carry out a query API: asked for a new value it looks for the old one; an old value it does not know.

        Raises:
            NotFound, EnvironmentFailure: As the environment inside does, in words without the old values.
        """
        if self.changes.traces(arguments):
            raise NotFound(UNKNOWN)
        try:
            value = await self.inner.call(api, self.changes.back(arguments))
        except NotFound as nothing:
            raise NotFound(self.changes.forward(str(nothing))) from None
        return self.changes.forward(to_jsonable_python(value))

    @property
    def description(self) -> str:
        """What the domain is, without the old values."""
        return str(self.changes.forward(self.inner.description))

    def found(self, api: str, value: Any) -> list[str]:
        """The ids of what a search found, as they are without the replacement."""
        return self.inner.found(api, self.changes.back(value))


def _texts(setting: str, values: Sequence[str]) -> tuple[str, ...]:
    if isinstance(values, str) or not all(isinstance(value, str) and value.strip() for value in values):
        raise ValueError(f"{setting} must be a list of texts, not {values!r}")
    return tuple(values)


def _mixed(values: Sequence[str], draw: random.Random) -> list[str]:
    """The values with numbers and dates in each other's places, so that a comparison may come out another way."""
    mixed = list(values)
    for test in (is_number, lambda value: as_date(value) is not None):
        places = [place for place, value in enumerate(values) if test(value)]
        for place, other in zip(places, draw.sample(places, len(places)), strict=True):
            mixed[place] = values[other]
    return mixed


def _values_of(question: Question, without: Sequence[str] = ()) -> list[str]:
    """The values to replace: each once, and none that stands in the question."""
    named = question.entities or [*(item for answer in question.answers for item in _items(answer)), *question.evidence]
    values = list(
        dict.fromkeys(normal(value).strip() for value in named if replaceable(value.strip()) and value not in without)
    )
    return [value for value, told in zip(values, _stands(question.question, values), strict=True) if not told]


def _stands(text: str, values: Sequence[str]) -> list[bool]:
    """Of each value, whether it stands in a text."""
    told = _line(tokens(text))
    return [_line(tokens(value)) in told for value in values]


def _line(words: Sequence[str]) -> str:
    """Words in one text, in which those in a row are found as part of it."""
    return f" {' '.join(words)} "


def _items(answer: str) -> list[str]:
    return [item.strip() for item in answer.split(";") if item.strip()]


def _same(one: str, other: str) -> bool:
    return sorted(map(str.casefold, _items(normal(one)))) == sorted(map(str.casefold, _items(normal(other))))


def _count(value: str) -> bool:
    """Whether a number is so small that it may have been counted."""
    return value.isdigit() and int(value) < 100


async def _run(program: str, environment: Environment) -> tuple[str, str]:
    """A program's answer, "" where it fails, and all that it saw.

    Raises:
        EnvironmentFailure: The environment itself failed.
    """
    steps: list[Step] = []
    session = Session(environment, _sandbox(), steps.append)
    try:
        result = await session.run_program(program)
    finally:
        session.close()
    return answer_text(result.answer).strip(), "\n".join(step.observation or "" for step in steps)


@functools.cache
def _sandbox() -> Sandbox:
    """The process's own, for gold programs; its workers end with the process."""
    sandbox = Sandbox(workers=1)
    atexit.register(sandbox.__exit__, None, None, None)
    return sandbox
