"""What the tests of the workflows share: real episodes over the Pantry, with an LLM that a function speaks for."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import ProgramLimits, Sandbox
from r_eval.llms.base import Reply, Request
from r_eval.records import Episode, Question, Step
from r_eval.workflows.base import Limits, Workflow
from tests.workflow_contract import Talker, play_episode

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
        shown: Sequence[Question] = (),
        native: bool = True,
        environment: Environment | None = None,
        question: Question = QUESTION,
        **limits: Any,
    ) -> Played:
        llm = talker(speaker, native)
        where = environment or pantry
        playing = play_episode(workflow, llm, where, Limits(**limits), brief_sandbox, question, shown)
        return Played(asyncio.run(playing), llm.requests)

    return carry_out
