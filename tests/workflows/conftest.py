"""What the tests of the workflows share: real episodes over the Pantry, with an LLM that a function speaks for."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import ProgramLimits, Sandbox
from r_eval.folder import Cell
from r_eval.llms.base import Reply, Request
from r_eval.records import Episode, Question, Step
from r_eval.runner.demonstrations import work_out
from r_eval.runner.episode import Resources, run_episode
from r_eval.runner.plan import PlannedCell, PlannedTask
from r_eval.tasks.base import Task
from r_eval.workflows.base import Limits, Workflow
from tests.workflow_contract import Talker

LLMClient = Callable[[Request], Reply | str] | Sequence[Reply | str]

QUESTION = Question(id="q1", question="Which dish has an egg in it?", answers=["omelette"], level="KS")


def talker(speaker: LLMClient, native: bool = True) -> Talker:
    """An LLM that replies with what a function returns, or with a list of replies in order (the last one for ever)."""
    if callable(speaker):
        return Talker(speaker, native)
    replies = itertools.chain(speaker, itertools.repeat(speaker[-1] if speaker else ""))
    return Talker(lambda request: next(replies), native)


@dataclasses.dataclass
class Played:
    """An episode, and what the LLM was asked in it."""

    episode: Episode
    requests: list[Request]

    @property
    def answer(self) -> str:
        return self.episode.answer

    @property
    def outcome(self) -> tuple[str, str]:
        return self.episode.outcome.kind, self.episode.outcome.cause

    @property
    def calls(self) -> list[Step]:
        return [step for step in self.episode.steps if step.kind == "call"]

    @property
    def thoughts(self) -> list[Step]:
        return [step for step in self.episode.steps if step.kind == "thought"]

    @property
    def notes(self) -> list[str]:
        return [step.text for step in self.episode.steps if step.kind == "observation"]

    def said(self, request: int) -> list[tuple[str, str]]:
        """Role and text of the messages of one request."""
        return [(message.role, message.content) for message in self.requests[request].messages]


Play = Callable[..., Played]


@pytest.fixture(scope="session")
def brief_sandbox() -> Iterator[Sandbox]:
    """A sandbox whose programs may run for a short time only."""
    with Sandbox(limits=ProgramLimits(seconds=0.5)) as opened:
        yield opened


@pytest.fixture
def play(pantry: Environment, brief_sandbox: Sandbox) -> Play:
    """Runs one episode of a workflow."""

    def carry_out(
        workflow: Workflow,
        speaker: LLMClient,
        *,
        shown: Iterable[Question] = (),
        native: bool = True,
        environment: Environment | None = None,
        question: Question = QUESTION,
        **limits: Any,
    ) -> Played:
        llm, bounds, domain = talker(speaker, native), Limits(**limits), environment or pantry
        task = Task("pantry/test", "pantry", (question,), tuple(shown), instruction="Answer with a name.")
        planned = PlannedTask(task, domain, (question,), tuple(shown))
        cell = PlannedCell(Cell("tested", "talker", "clean", task.name), workflow, planned, {})

        async def main() -> Episode:
            examples = await work_out(planned.demonstrations, domain, brief_sandbox, bounds.observation)
            resources = Resources(bounds, brief_sandbox, {cell.cell.task: examples})
            return await run_episode(cell, question, 0, llm, resources)

        return Played(asyncio.run(main()), llm.requests)

    return carry_out
