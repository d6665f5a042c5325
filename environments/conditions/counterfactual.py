"""The condition `counterfactual`: what a question's answer rests on is replaced, everywhere in the environment.

Whoever reads finds the new answer; whoever remembers gives the old one. Replaced are the values that the question
names as `entities`; where it names none, its gold answers and its named evidence. Each value is replaced by another of
its kind (see `drawing`), in all texts of the environment, and back in its arguments (see
`replacing`). The environment does not know the old values. Values in the question stay, so that the
question is the same, unless it quotes what it asks about: then it changes with the environment.

A gold program is run again in the changed environment. It must give the new gold, without a call failing that did not
fail before. Questions that do not come out so are dropped, and counted by reason.
"""

from __future__ import annotations

import asyncio
import atexit
import dataclasses
import functools
import itertools
import random
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from r_eval.environments.base import (
    Environment,
    EnvironmentFailure,
    NotFound,
    TemporaryFailure,
    ToolError,
    is_large,
    threads,
)
from r_eval.environments.observation import Observation
from r_eval.environments.sandbox import Sandbox, answer_text
from r_eval.environments.schema import ApiSpec
from r_eval.environments.session import Session
from r_eval.records import Document, Question, Step
from r_eval.seeds import Seeds

from .base import Condition, Wrapped
from .drawing import KINDS, OPEN, QUOTED, READ, Alternatives, Drawing, aim_of, are_truth, contains_each, replaceable
from .replacing import Replacements, is_number, normal, tokens

ATTEMPTS = 12
"""Draws of new values for a question whose program does not come out right."""
PASSAGE = 15
"""Words of an answer; what has more, and no program that finds it, is a text that was written, and no value."""
COUNT = 100
"""A smaller number may have been counted."""
Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]
REPLACED, OLD_ANSWERS = "replaced", "old_answers"
"""Keys of a question's `meta`: the new value by the old one, and the gold answers before."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ran:
    """What a program came to: its answer, "" where it failed, all that it saw, and how many of its calls failed."""

    answer: str = ""
    seen: str = ""
    failed: int = 0


@dataclass(config={"strict": True}, kw_only=True)
class Counterfactual(Condition):
    """The environment with other values where the answer lies.

    Attributes:
        seed: Of the choice of new values.
        kinds: Kinds of records from which names are drawn, where the environment has no triples.
        dropped: Questions that could not be asked, by reason.
    """

    name = "counterfactual"
    notes = (REPLACED,)

    seed: int = 0
    kinds: Names = KINDS
    dropped: Counter[str] = dataclasses.field(default_factory=Counter, init=False, repr=False)
    _known: dict[str, Any] = dataclasses.field(default_factory=dict, init=False, repr=False)

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

    def environment(self, environment: Environment, notes: Mapping[str, Any], seeds: Seeds) -> Environment:
        """The environment with the question's values replaced."""
        values = notes.get(REPLACED)
        return Replaced(environment, Replacements(values)) if values else environment

    async def _question(self, question: Question, environment: Environment) -> Question | str:
        golds = [item for answer in question.answers for item in _items(answer)]
        before = Ran()
        if question.program:
            before = await _run(question.program, environment)
            if not any(_same(before.answer, gold) for gold in question.answers):
                return "the program does not give the gold answer"
        elif any(len(tokens(gold)) > PASSAGE for gold in golds):
            return "the answer is a whole text"
        elif not any(map(replaceable, golds)):
            return "the answer is a truth value or a count, or no name, number or date, and there is no program"
        elif any(contains_each(question.question, golds)) or any(
            gold.isdigit() and int(gold) < COUNT for gold in golds
        ):
            return "the answer appears in the question or may be a count, and there is no program"
        if environment.version not in self._known:
            self._known[environment.version] = Alternatives(environment, self.kinds)
        aim = aim_of(question, golds, before.seen)
        draw = random.Random(Seeds(self.seed, question.id, 0).of(self.name))
        drawing = Drawing(question, aim, golds, before.seen, self._known[environment.version], draw)
        reason = "nothing that the answer rests on can be replaced, or no other value of the kind is known"
        for changes in itertools.islice(drawing.changes(), ATTEMPTS):
            if changes is not None:
                variant = await _variant(question, changes, environment, aim, before)
                if variant is not None:
                    return variant
                reason = "the answer does not change as what was replaced does"
        return reason


async def _variant(
    question: Question, changes: Replacements, environment: Environment, aim: str, before: Ran
) -> Question | None:
    """The question under these changes; None where its program does not come to an answer that fits."""
    fields = ("answers", "evidence", "entities", *(("question", "query", "program") if aim == QUOTED else ()))
    new = {name: changes.forward(getattr(question, name)) for name in fields}
    if question.program:
        changed = Replaced(environment, changes)
        ran = await _run(new.get("program", question.program), changed)
        if aim == READ and not _gives(ran, new):
            # A program may read by the words around the old value, and then has to have the new ones in it. Since it
            # holds the new answer itself, that must appear in what it saw.
            new["program"] = changes.forward(question.program)
            ran = await _run(new["program"], changed)
            read = new["evidence"] or [item for answer in new["answers"] for item in _items(answer)]
            if not all(contains_each(ran.seen, read)):
                return None
        if changes.traces(ran.seen) or ran.failed > before.failed:
            return None
        if not (_like(ran.answer, question) if aim == OPEN else _gives(ran, new)):
            return None
        if aim == OPEN:
            new["answers"] = [ran.answer]
    if any(sorted(tokens(one)) == sorted(tokens(old)) for one in new["answers"] for old in question.answers):
        return None
    context = [one.model_dump() for one in question.context]
    new["context"] = [Document(**{name: changes.forward(text) for name, text in one.items()}) for one in context]
    sources = {key: changes.forward(question.meta[key]) for key in ("sources",) if key in question.meta}
    new["meta"] = {**question.meta, **sources, REPLACED: changes.values, OLD_ANSWERS: question.answers}
    return question.model_copy(update=new)


class Replaced(Wrapped):
    """An environment with replaced values: a call that names an old value asks for something unknown."""

    def __init__(self, inner: Environment, changes: Replacements) -> None:
        super().__init__(inner)
        self.changes = changes

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        """Carry out a query API in the words of the environment inside, and say the result in the new ones.

        Raises:
            ToolError: As the environment inside does, in the new words.
        """
        try:
            seen: Observation[Any] = await super().call(api, arguments)
        except ToolError as error:
            kind = next(kind for kind in (NotFound, TemporaryFailure, ToolError) if isinstance(error, kind))
            raise kind(self.rewrite(str(error))) from None
        if is_large(seen.value) or is_large(seen.text):
            return await threads.run(self._rewritten_observation, seen)
        return self._rewritten_observation(seen)

    def _rewritten_observation(self, seen: Observation[Any]) -> Observation[Any]:
        return Observation(self.rewrite(seen.value), self.rewrite(seen.text), seen.retrieved_ids)

    def rewrite_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments with the old values in place of the new ones."""
        return {name: self.changes.back(value) for name, value in arguments.items()}

    def rewrite(self, data: Any) -> Any:
        """Plain data with the new values in place of the old ones."""
        return self.changes.forward(data)

    def specs(self) -> dict[str, ApiSpec]:
        """The query APIs, whose descriptions say the new values."""
        say, found = self.rewrite, {}
        for name, spec in self.inner.specs().items():
            parameters = tuple(dataclasses.replace(one, description=say(one.description)) for one in spec.parameters)
            texts = {"summary": say(spec.summary), "details": say(spec.details)}
            found[name] = dataclasses.replace(spec, **texts, parameters=parameters)
        return found

    @property
    def description(self) -> str:
        """What the domain is, in the new words."""
        return str(self.rewrite(self.inner.description))


def _like(answer: str, question: Question) -> bool:
    """Whether what a program came to is an answer of the sort of the gold one."""
    if are_truth(question.answers):
        return are_truth([answer])
    if all(map(is_number, question.answers)):
        return is_number(answer)
    return bool(answer) and all(contains_each(question.question, _items(answer)))


def _gives(ran: Ran, new: dict[str, Any]) -> bool:
    return any(_same(ran.answer, answer) for answer in new["answers"])


def _items(answer: str) -> list[str]:
    return [item.strip() for item in answer.split(";") if item.strip()]


def _same(one: str, other: str) -> bool:
    return sorted(map(str.casefold, _items(normal(one)))) == sorted(map(str.casefold, _items(normal(other))))


async def _run(program: str, environment: Environment) -> Ran:
    """What a program comes to.

    Raises:
        EnvironmentFailure: The environment itself failed.
    """
    steps: list[Step] = []
    session = Session(environment, _sandbox(), steps.append)
    try:
        result = await session.run_program(program)
    finally:
        session.close()
    failed = sum(step.error is not None for step in steps)
    return Ran(answer_text(result.answer).strip(), "\n".join(step.observation or "" for step in steps), failed)


@functools.cache
def _sandbox() -> Sandbox:
    """The process's own, for gold programs; its workers end with the process."""
    sandbox = Sandbox(workers=1)
    atexit.register(sandbox.__exit__, None, None, None)
    return sandbox
