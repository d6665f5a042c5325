"""Every notation can express every solution: an LLM that knows the gold program scores 1.0 on the embedded tasks.

It makes the calls that the gold program makes and gives its answer, written as each workflow wants them; PAL is given
the program itself. The oracle, which runs that program without any LLM, is the measure of what can be reached.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from r_eval.analysis import metrics
from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import ApiSpec
from r_eval.environments.session import Session
from r_eval.folder import Cell
from r_eval.llms import tools
from r_eval.llms.base import LLM, Reply, Request, ToolCall
from r_eval.plugins import names
from r_eval.records import Question, Step
from r_eval.runner.episode import run_episode
from r_eval.runner.plan import PlannedCell, PlannedTask
from r_eval.tasks.base import Task, installed, open_environment, task_files
from r_eval.workflows.base import Limits, Workflow
from r_eval.workflows.react import written

WORKFLOWS = names("workflows", Workflow)

Notation = Callable[[Question, Sequence[Step], dict[str, ApiSpec]], list[Reply]]


def react(question: Question, calls: Sequence[Step], specs: dict[str, ApiSpec]) -> list[Reply]:
    actions = [written(call, specs[call.api or ""]) for call in calls] + [f"Finish[{question.answers[0]}]"]
    return [Reply(f"Thought {i}: I go on.\nAction {i}: {action}") for i, action in enumerate(actions, 1)]


def native(finish: dict[str, str]) -> Notation:
    def replies(question: Question, calls: Sequence[Step], specs: dict[str, ApiSpec]) -> list[Reply]:
        made = [ToolCall(f"id-{i}", call.api or "", call.arguments or {}) for i, call in enumerate(calls)]
        last = ToolCall("last", "Finish", {k: v.format(question.answers[0]) for k, v in finish.items()})
        return [Reply("", (call,), "tool_calls") for call in (*made, last)]

    return replies


def prompted(finish: dict[str, str]) -> Notation:
    def replies(question: Question, calls: Sequence[Step], specs: dict[str, ApiSpec]) -> list[Reply]:
        made = [reply.tool_calls[0] for reply in native(finish)(question, calls, specs)]
        return [Reply(tools.written(call)) for call in made]

    return replies


def pal(question: Question, calls: Sequence[Step], specs: dict[str, ApiSpec]) -> list[Reply]:
    return [Reply(f"```python\n{question.program}\n```")]


def oracle(question: Question, calls: Sequence[Step], specs: dict[str, ApiSpec]) -> list[Reply]:
    return []


ANSWER = {"answer": "{}"}
GIVE = {"return_type": "give_answer", "final_answer": "{}"}
NOTATIONS: dict[str, tuple[str, bool, Notation]] = {
    "oracle": ("oracle", True, oracle),
    "react": ("react", True, react),
    "pal": ("pal", True, pal),
    "fc, native": ("fc", True, native(ANSWER)),
    "fc, prompted": ("fc", False, prompted(ANSWER)),
    "dfsdt, native": ("dfsdt", True, native(GIVE)),
    "dfsdt, prompted": ("dfsdt", False, prompted(GIVE)),
}


class Knowing(LLM):
    """Plays its replies in order."""

    def __init__(self, replies: list[Reply], native_tools: bool) -> None:
        super().__init__("knowing", "knowing", {})
        self.replies, self.native_tools = iter(replies), native_tools

    async def generate(self, request: Request) -> Reply:
        return next(self.replies)


async def scored(
    task: Task, environment: Environment, notation: str, sandbox: Sandbox
) -> list[tuple[Question, float, bool]]:
    """Of every question, its score and whether the calls were those of the gold program."""
    workflow, native_tools, replies = NOTATIONS[notation]
    planned = PlannedTask(task, environment, task.questions, ())
    cell = PlannedCell(Cell(workflow, "knowing", "clean", task.name), WORKFLOWS[workflow](), planned, {})
    metric = metrics.get(task.metric)
    found = []
    for question in task.questions:
        calls: list[Step] = []
        session = Session(environment, sandbox, calls.append)
        await session.run_program(question.program or "")
        llm = Knowing(replies(question, calls, session.specs), native_tools)
        episode = await run_episode(cell, question, 0, llm, Limits(), (), sandbox)
        made = [(step.api, step.arguments) for step in episode.steps if step.kind == "call"]
        same = made == [(step.api, step.arguments) for step in calls]
        found.append((question, metric(episode.answer, question.answers), same))
    return found


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("name", task_files())
def test_the_gold_solution_scores_one_in_the_workflows_notation(name: str, notation: str, sandbox: Sandbox) -> None:
    task = installed(name)
    found = asyncio.run(scored(task, open_environment(task.environment), notation, sandbox))
    assert len(found) >= 20
    assert [question.id for question, score, _ in found if score < 1.0] == []
    assert [question.id for question, _, same in found if not same] == []
