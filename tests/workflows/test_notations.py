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


Replies = Callable[[Solution], list[Reply]]


@dataclasses.dataclass(frozen=True)
class Notation:
    """How a workflow is told a solution.

    Attributes:
        native: Whether the LLM takes tools natively.
        calls: Whether calls are made, which must then be the gold program's.
    """

    workflow: str
    replies: Replies
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    native: bool = True
    calls: bool = True


def shown(call: Step, spec: ApiSpec) -> str:
    """A call as ReAct's demonstrations show it: `Search[Kenya]`, `searchPerson(name="...")`."""
    return format_action(call, spec)


def named(call: Step, spec: ApiSpec) -> str:
    """A call with every argument named."""
    return f"{spec.name}({', '.join(f'{k}={as_json_text(v)}' for k, v in (call.arguments or {}).items())})"


def unnamed(call: Step, spec: ApiSpec) -> str:
    """A call whose arguments stand in the order of the parameters, as far as none is left out."""
    arguments = call.arguments or {}
    first = [p.name for p in spec.parameters][: len(arguments)]
    if set(first) != set(arguments):
        return named(call, spec)
    return f"{spec.name}({', '.join(as_json_text(arguments[name]) for name in first)})"


def as_json(call: Step, spec: ApiSpec) -> str:
    """A call as a JSON object."""
    return f'{{"name": {as_json_text(spec.name)}, "arguments": {as_json_text(call.arguments)}}}'


def react(action: Callable[[Step, ApiSpec], str]) -> Replies:
    def replies(solution: Solution) -> list[Reply]:
        actions = [action(call, solution.specs[call.api or ""]) for call in solution.calls]
        lines = enumerate([*actions, f"Finish[{solution.answer}]"], 1)
        return [Reply(f"Thought {i}: I go on.\nAction {i}: {line}") for i, line in lines]

    return replies


def tool_calls(solution: Solution, finish: Mapping[str, str]) -> list[ToolCall]:
    made = [ToolCall(f"id-{i}", call.api or "", call.arguments or {}) for i, call in enumerate(solution.calls)]
    last = {key: solution.answer if value == "{}" else value for key, value in finish.items()}
    return [*made, ToolCall("last", "Finish", last)]


def native(finish: Mapping[str, str]) -> Replies:
    return lambda solution: [Reply("", (call,), "tool_calls") for call in tool_calls(solution, finish)]


def with_thoughts(solution: Solution) -> list[Reply]:
    """DFSDT's calls with a thought each, which is a node of its own."""
    return [dataclasses.replace(reply, text="I go on.") for reply in native(GIVE)(solution)]


def prompted(finish: Mapping[str, str]) -> Replies:
    return lambda solution: [Reply(format_tool_call(call)) for call in tool_calls(solution, finish)]


def parallel(solution: Solution) -> list[Reply]:
    """As many calls in one reply as are carried out."""
    *made, last = tool_calls(solution, ANSWER)
    batches = [made[i : i + CALLS_PER_TURN] for i in range(0, len(made), CALLS_PER_TURN)]
    return [Reply("", tuple(batch), "tool_calls") for batch in [*batches, [last]]]


def parallel_prompted(solution: Solution) -> list[Reply]:
    return [Reply("\n".join(map(format_tool_call, reply.tool_calls))) for reply in parallel(solution)]


def calls_then_text(solution: Solution) -> list[Reply]:
    """The calls, and the answer as a reply without one."""
    *made, _ = native(ANSWER)(solution)
    return [*made, Reply(solution.answer)]


def fenced(solution: Solution) -> list[Reply]:
    return [Reply(f"This finds it:\n```python\n{solution.question.program}\n```")]


def among_words(solution: Solution) -> list[Reply]:
    return [Reply(f"This finds it:\n\n{solution.question.program}\n\nIt looks everything up, and that is all.")]


def bare(solution: Solution) -> list[Reply]:
    return [Reply(solution.question.program or "")]


def answer_alone(solution: Solution) -> list[Reply]:
    """Twice, for a workflow that asks for queries first."""
    return [Reply(solution.answer), Reply(solution.answer)]


def nothing(solution: Solution) -> list[Reply]:
    return []


ANSWER = {"answer": "{}"}
GIVE = {"return_type": "give_answer", "final_answer": "{}"}
NOTATIONS: dict[str, Notation] = {
    "oracle": Notation("oracle", nothing),
    "react, as shown": Notation("react", react(shown)),
    "react, arguments named": Notation("react", react(named)),
    "react, arguments in order": Notation("react", react(unnamed)),
    "react, JSON": Notation("react", react(as_json)),
    "pal, fenced": Notation("pal", fenced),
    "pal, bare": Notation("pal", bare),
    "pal, among words": Notation("pal", among_words),
    "fc, native": Notation("fc", native(ANSWER)),
    "fc, native, parallel": Notation("fc", parallel),
    "fc, native, answer as text": Notation("fc", calls_then_text),
    "fc, prompted": Notation("fc", prompted(ANSWER), native=False),
    "fc, prompted, parallel": Notation("fc", parallel_prompted, native=False),
    "dfsdt, native": Notation("dfsdt", native(GIVE)),
    "dfsdt, with thoughts": Notation("dfsdt", with_thoughts),
    "dfsdt, prompted": Notation("dfsdt", prompted(GIVE), native=False),
    "rag": Notation("rag", answer_alone, calls=False),
    "rag, gold": Notation("rag", answer_alone, {"retrieval": "gold"}, calls=False),
    "direct": Notation("direct", answer_alone, calls=False),
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


@pytest.mark.parametrize("key", NOTATIONS)
@pytest.mark.parametrize("name", paper_tasks())
def test_the_gold_solution_scores_one_in_the_workflows_notation(name: str, key: str, sandbox: Sandbox) -> None:
    notation = NOTATIONS[key]
    task, environment, found = solved(name)
    workflow = make(WORKFLOWS[notation.workflow], notation.workflow, dict(notation.settings))
    cell = PlannedCell(
        Cell(notation.workflow, "knowing", "clean", name),
        workflow,
        PlannedTask(task, environment, task.questions, ()),
        {},
    )
    metric = metrics.get(task.metric)

    async def differing() -> list[tuple[str, float, bool]]:
        """The questions whose score is not 1, or whose calls are not the gold program's."""
        wrong = []
        for solution in found:
            llm = Knowing(notation.replies(solution), notation.native)
            episode = await run_episode(cell, solution.question, 0, llm, Resources(Limits(), sandbox))
            score = metric(episode.answer, solution.question.answers)
            made = [(step.api, step.arguments) for step in episode.steps if step.kind == "call"]
            same = made == [(step.api, step.arguments) for step in solution.calls] or not notation.calls
            if score < 1.0 or not same:
                wrong.append((solution.question.id, score, same))
        return wrong

    assert len(found) == SOLVED
    assert asyncio.run(differing()) == []


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_workflow_has_a_notation_here(name: str) -> None:
    assert name in {notation.workflow for notation in NOTATIONS.values()}
