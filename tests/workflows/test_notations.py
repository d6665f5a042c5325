"""Every notation can express every solution: an LLM that knows the gold program scores 1.0 on the embedded tasks.

It makes the calls that the gold program makes and gives its answer, written as each workflow wants them; PAL is given
the program itself. The oracle, which runs that program without any LLM, is the measure of what can be reached. Of the
bounds that make no calls only the answer is looked at.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from r_eval.analysis import metrics
from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import ApiSpec
from r_eval.environments.session import Session
from r_eval.folder import Cell
from r_eval.llms.base import LLM, Reply, Request, ToolCall
from r_eval.llms.tool_calls import format_tool_call
from r_eval.plugins import names
from r_eval.records import Question, Step
from r_eval.runner.episode import Resources, run_episode
from r_eval.runner.plan import PlannedCell, PlannedTask
from r_eval.tasks.base import Task, installed, open_environment
from r_eval.workflows.base import CALLS_PER_TURN, Limits, Workflow, make
from r_eval.workflows.react import format_action
from tests.paper import paper_tasks

WORKFLOWS = names("workflows", Workflow)
del WORKFLOWS["agent"]  # a program writes what it likes


def as_json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclasses.dataclass(frozen=True)
class Solution:
    """What the gold program does with a question: its calls, as the environment knows them."""

    question: Question
    calls: tuple[Step, ...]
    specs: dict[str, ApiSpec]

    @property
    def answer(self) -> str:
        return self.question.answers[0]


def as_arguments(arguments: Mapping[str, Any] | None) -> str:
    return ", ".join(f"{name}={as_json_text(value)}" for name, value in (arguments or {}).items())


ACTIONS: dict[str, Callable[[Step, ApiSpec], str]] = {
    "as in demonstrations": format_action,
    "named arguments": lambda call, spec: f"{spec.name}({as_arguments(call.arguments)})",
    "JSON": lambda call, spec: as_json_text({"name": spec.name, "arguments": call.arguments}),
}


def react(action: Callable[[Step, ApiSpec], str], solution: Solution) -> list[Reply]:
    actions = [action(call, solution.specs[call.api or ""]) for call in solution.calls]
    lines = enumerate([*actions, f"Finish[{solution.answer}]"], 1)
    return [Reply(f"Thought {i}: I go on.\nAction {i}: {line}") for i, line in lines]


def tool_calls(solution: Solution, batch: int, answer_key: str = "answer", thought: str = "") -> list[Reply]:
    """The calls, so many in one reply, and Finish."""
    made = [ToolCall(f"id-{i}", call.api or "", call.arguments or {}) for i, call in enumerate(solution.calls)]
    batches = [made[i : i + batch] for i in range(0, len(made), batch)]
    finish = ToolCall("last", "Finish", {"return_type": "give_answer", answer_key: solution.answer})
    return [Reply(thought, tuple(calls), "tool_calls") for calls in [*batches, [finish]]]


def as_text(replies: list[Reply]) -> list[Reply]:
    """Native calls as text."""
    return [Reply("\n".join(map(format_tool_call, reply.tool_calls))) for reply in replies]


PROGRAM = "This finds it:\n\n{}\n\nIt looks everything up, and that is all."
NOTATIONS: dict[tuple[str, str], Callable[[Solution], list[Reply]]] = {
    ("oracle", ""): lambda solution: [],
    **{("react", name): functools.partial(react, action) for name, action in ACTIONS.items()},
    ("pal", "fenced"): lambda s: [Reply(PROGRAM.format(f"```python\n{s.question.program}\n```"))],
    ("pal", "among words"): lambda s: [Reply(PROGRAM.format(s.question.program))],
    ("fc", "native"): lambda s: tool_calls(s, 1),
    ("fc", "native, parallel"): lambda s: tool_calls(s, CALLS_PER_TURN),
    ("fc", "native, answer as text"): lambda s: [*tool_calls(s, 1)[:-1], Reply(s.answer)],
    ("fc", "prompted, parallel"): lambda s: as_text(tool_calls(s, CALLS_PER_TURN)),
    ("dfsdt", "native, with thoughts"): lambda s: tool_calls(s, 1, "final_answer", "I go on."),
    ("dfsdt", "prompted"): lambda s: as_text(tool_calls(s, 1, "final_answer")),
    # twice, since the LLM may be asked for queries first
    ("rag", ""): lambda s: [Reply(s.answer)] * 2,
    ("direct", ""): lambda s: [Reply(s.answer)],
}


class Knowing(LLM):
    """Plays its replies in order."""

    def __init__(self, replies: list[Reply], native_tools: bool) -> None:
        super().__init__("knowing", "knowing", {})
        self.replies, self.native_tools = iter(replies), native_tools

    async def generate(self, request: Request) -> Reply:
        return next(self.replies)


SOLVED = 20
"""Questions of a task that are solved in every notation."""


async def solutions(task: Task, environment: Environment, sandbox: Sandbox) -> list[Solution]:
    """The calls of every gold program of a task."""
    found = []
    for question in task.questions[:SOLVED]:
        calls: list[Step] = []
        session = Session(environment, sandbox, calls.append)
        await session.run_program(question.program or "")
        found.append(Solution(question, tuple(calls), session.specs))
    return found


@functools.cache
def solved(name: str) -> tuple[Task, Environment, list[Solution]]:
    """A task with its solutions, worked out once for all notations."""
    task = installed(name)
    environment = open_environment(task.environment)
    with Sandbox() as sandbox:
        return task, environment, asyncio.run(solutions(task, environment, sandbox))


@pytest.mark.parametrize("key", NOTATIONS, ids=" ".join)
@pytest.mark.parametrize("name", paper_tasks())
def test_the_gold_solution_scores_one_in_the_workflows_notation(
    name: str, key: tuple[str, str], sandbox: Sandbox
) -> None:
    task, environment, found = solved(name)
    workflow = make(WORKFLOWS[key[0]], key[0], {})
    planned = PlannedTask(task, environment, task.questions, ())
    cell = PlannedCell(Cell(key[0], "knowing", "clean", name), workflow, planned, {})
    metric = metrics.get(task.metric)

    async def differences() -> list[tuple[str, float]]:
        """The questions whose score is not 1, or whose calls are not the gold program's."""
        wrong = []
        for solution in found:
            llm = Knowing(NOTATIONS[key](solution), not key[1].startswith("prompted"))
            episode = await run_episode(cell, solution.question, 0, llm, Resources(Limits(), sandbox))
            score = metric(episode.answer, solution.question.answers)
            made = [(step.api, step.arguments) for step in episode.steps if step.kind == "call"]
            same = made == [(step.api, step.arguments) for step in solution.calls] or key[0] in ("rag", "direct")
            if score < 1.0 or not same:
                wrong.append((solution.question.id, score))
        return wrong

    assert len(found) == SOLVED
    assert asyncio.run(differences()) == []


def test_every_workflow_has_a_notation_here() -> None:
    assert {workflow for workflow, _ in NOTATIONS} == set(WORKFLOWS)
