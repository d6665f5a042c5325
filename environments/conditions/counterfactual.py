"""The condition `counterfactual`: what a question's answer rests on is replaced, everywhere in the environment.

Whoever reads finds the new answer; whoever remembers gives the old one. Replaced are the values that the question
names as `entities`; where it names none, its gold answers and its named evidence. Each value is replaced by another of
its kind (see `alternatives`), in all texts of the environment, and back in its arguments (see `replacing`). An old
value is a name that nobody has heard of there. How values are drawn depends on what becomes the answer (`drawing`):

- What is read: values that stand in the question stay, so that the question is the same.
- One of the things that the question names, a truth value, or a number that the program computes: names, numbers and
  dates are changed until the program comes to another answer.
- What is read in the question itself, which quotes its sources: the question changes with the environment.

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
from r_eval.records import Question, Step
from r_eval.seeds import Seeds

from .alternatives import KINDS, Alternatives, replaceable
from .base import Condition, ConditionInput, Wrapped
from .drawing import CHOSEN, COMPUTED, QUOTED, READ, TRUTH, Drawing, aim_of, stands
from .replacing import Replacements, is_number, normal, tokens

ATTEMPTS = 12
"""Draws of new values for a question whose program does not come out right."""
PASSAGE = 15
"""Words of an answer; what has more, and no program that finds it, is a text that was written, and no value."""
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
        pool: Names that may stand for each other, for an environment that has neither.
        dropped: Questions that could not be asked, by reason.
    """

    name = "counterfactual"
    notes = (REPLACED,)

    seed: int = 0
    kinds: Names = KINDS
    pool: Names = ()
    dropped: Counter[str] = dataclasses.field(default_factory=Counter, init=False, repr=False)
    _alternatives: dict[str, Any] = dataclasses.field(default_factory=dict, init=False, repr=False)

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

    def environment(self, environment: Environment, about: ConditionInput, seeds: Seeds) -> Environment:
        """The environment with the question's values replaced."""
        values = about.notes.get(REPLACED)
        return Replaced(environment, Replacements(values)) if values else environment

    async def _question(self, question: Question, environment: Environment) -> Question | str:
        golds = [item for answer in question.answers for item in _items(answer)]
        if not question.program:
            if any(len(tokens(gold)) > PASSAGE for gold in golds):
                return "the answer is a whole text"
            is_named = stands(question.question, golds)
            if not any(map(replaceable, golds)):
                return "the answer is a truth value or a count, or no name, number or date, and there is no program"
            if any(is_named) or any(map(_count, golds)):
                return "the answer stands in the question or may be a count, and no program says what becomes of it"
        ran = Ran()
        if question.program:
            ran = await _run(question.program, environment)
            if not any(_same(ran.answer, gold) for gold in question.answers):
                return "the program does not give the gold answer"
        aim = aim_of(question, golds, ran.seen)
        known = self._alternatives.get(environment.version)
        if known is None:
            known = self._alternatives[environment.version] = Alternatives(environment, self.kinds, self.pool)
        draw = random.Random(Seeds(self.seed, question.id, 0).of(self.name))
        reason = "nothing that the answer rests on can be replaced, or no other value of the kind is known"
        drawn = Drawing(question, aim, golds, ran.seen, known, draw).changes()
        for changes in itertools.islice(drawn, ATTEMPTS):
            if changes is not None:
                variant = await self._variant(question, changes, environment, aim, ran)
                if variant is not None:
                    return variant
                reason = "the answer does not change as what was replaced does"
        return reason

    async def _variant(
        self, question: Question, changes: Replacements, environment: Environment, aim: str, before: Ran
    ) -> Question | None:
        """The question under these changes; None where its program does not come to an answer that fits."""
        answers = [changes.forward(answer) for answer in question.answers]
        new: dict[str, Any] = {}
        if aim == QUOTED:
            new = {key: changes.forward(getattr(question, key)) for key in ("question", "query", "program")}
        if question.program:
            found = await self._found(question, changes, environment, aim, new)
            if found is None or changes.traces(found.seen) or found.failed > before.failed:
                return None
            if aim in (CHOSEN, COMPUTED):
                if not _like(found.answer, question, aim):
                    return None
                answers = [found.answer]
            elif not any(_same(found.answer, answer) for answer in answers):
                return None
        if any(sorted(tokens(new)) == sorted(tokens(old)) for new in answers for old in question.answers):
            return None
        context = [
            document.model_copy(
                update={"title": changes.forward(document.title), "text": changes.forward(document.text)}
            )
            for document in question.context
        ]
        new["answers"], new["context"] = answers, context
        new["evidence"], new["entities"] = changes.forward(question.evidence), changes.forward(question.entities)
        new["meta"] = {**question.meta, REPLACED: changes.values, OLD_ANSWERS: question.answers}
        if "sources" in question.meta:  # what a perfect retriever gives
            new["meta"]["sources"] = changes.forward(question.meta["sources"])
        return question.model_copy(update=new)

    async def _found(
        self, question: Question, changes: Replacements, environment: Environment, aim: str, new: dict[str, Any]
    ) -> Ran | None:
        """What the program comes to; one that reads by the words around the old value, with the new ones in it.

        Such a program is put into `new`. Since it holds the new answer itself, that must stand in what it saw.
        """
        program = question.program or ""
        changed = Replaced(environment, changes)
        ran = await _run(new.get("program", program), changed)
        if aim != READ or any(_same(ran.answer, changes.forward(answer)) for answer in question.answers):
            return ran
        rewritten = changes.forward(program)
        read = question.evidence or [item for answer in question.answers for item in _items(answer)]
        if rewritten == program:
            return None
        ran = await _run(rewritten, changed)
        new["program"] = rewritten
        return ran if all(stands(ran.seen, changes.forward(read))) else None


class Replaced(Wrapped):
    """An environment in which other values stand: whoever asks for an old value asks for what nobody has heard of."""

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
        return {name: self._rewritten_spec(spec) for name, spec in self.inner.specs().items()}

    def _rewritten_spec(self, spec: ApiSpec) -> ApiSpec:
        parameters = tuple(
            dataclasses.replace(one, description=self.rewrite(one.description)) for one in spec.parameters
        )
        summary, details = self.rewrite(spec.summary), self.rewrite(spec.details)
        return dataclasses.replace(spec, summary=summary, details=details, parameters=parameters)

    @property
    def description(self) -> str:
        """What the domain is, in the new words."""
        return str(self.rewrite(self.inner.description))


def _like(answer: str, question: Question, aim: str) -> bool:
    """Whether what a program came to is an answer of the sort of the gold one."""
    if aim == COMPUTED:
        return is_number(answer)
    if all(gold.casefold() in TRUTH for gold in question.answers):
        return answer.casefold() in TRUTH
    return bool(answer) and all(stands(question.question, _items(answer)))


def _items(answer: str) -> list[str]:
    return [item.strip() for item in answer.split(";") if item.strip()]


def _same(one: str, other: str) -> bool:
    return sorted(map(str.casefold, _items(normal(one)))) == sorted(map(str.casefold, _items(normal(other))))


def _count(value: str) -> bool:
    """Whether a number is so small that it may have been counted."""
    return value.isdigit() and int(value) < 100


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
