"""Demonstrations: from gold programs, in each workflow's own notation, the same for all, and never asked.

What a workflow shows is what it reads: an LLM that replies as the demonstrations do makes the calls of the gold
programs, gets the observations that are shown, and scores 1.0 on the embedded tasks within the default limits.
"""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest

from r_eval import Grid
from r_eval.analysis import metrics
from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.llms.base import Reply
from r_eval.llms.tool_calls import format_tool_call
from r_eval.plugins import names
from r_eval.runner.demonstrations import reasoning, work_out
from r_eval.runner.plan import resolve
from r_eval.tasks.base import Task, installed, open_environment
from r_eval.workflows.base import Demonstration, Workflow, make
from tests.paper import paper_tasks

WORKFLOWS = names("workflows", Workflow)
ASKING = [name for name, cls in WORKFLOWS.items() if cls.uses_llm and name != "agent"]  # which shows what it likes
SHOTS = 6
SOLVED = 14
"""Questions of a task that are shown and then asked."""


@functools.cache
def worked_out(name: str) -> tuple[Task, Environment, tuple[Demonstration, ...]]:
    """A task, its environment, and its first questions as demonstrations."""
    task = installed(name)
    environment = open_environment(task.environment)

    async def work() -> tuple[Demonstration, ...]:
        with Sandbox() as sandbox:
            return await work_out(task.questions[:SOLVED], environment, sandbox, 1000)

    return task, environment, asyncio.run(work())


@pytest.mark.parametrize(("workflow", "native"), [*((name, True) for name in ASKING), ("fc", False), ("dfsdt", False)])
@pytest.mark.parametrize("name", paper_tasks())
def test_replies_as_they_are_shown_solve_the_task(name: str, workflow: str, native: bool, play: Any) -> None:
    task, environment, demonstrations = worked_out(name)
    made, metric = make(WORKFLOWS[workflow], workflow, {}), metrics.get(task.metric)
    request = play(made, "x", shown=task.questions[:SOLVED], environment=environment).requests[0]
    shown = list(request.messages)
    starts = [
        i for i, m in enumerate(shown) if m.role == "user" and any(d.question in m.content for d in demonstrations)
    ]
    assert len(starts) == len(demonstrations) == SOLVED
    for start, end, question, demonstration in zip(
        starts, [*starts[1:], len(shown) - 1], task.questions, demonstrations, strict=False
    ):
        part = shown[start + 1 : end]
        replies = [Reply(m.content, m.tool_calls) for m in part if m.role == "assistant"]
        if not native:
            replies = [Reply("\n".join([r.text, *map(format_tool_call, r.tool_calls)])) for r in replies]
        played = play(made, replies, environment=environment, question=question, native=native)
        assert metric(played.answer, question.answers) == 1.0
        if native:
            conversation = list(played.requests[-1].messages[2:])
            assert conversation == part[: len(conversation)]
        if workflow not in ("rag", "direct"):
            assert [(c.api, c.arguments) for c in played.calls] == [(c.api, c.arguments) for c in demonstration.calls]


# Never asked


@pytest.mark.parametrize("seed", range(3))
def test_no_question_that_is_shown_is_asked_in_any_task_of_the_paper(seed: int) -> None:
    grid = Grid(
        workflows=["direct", "oracle"], llms=["openai/unused"], tasks=list(paper_tasks()), seed=seed, shots=SHOTS
    )
    for planned in resolve(grid).tasks:
        assert len(planned.demonstrations) == SHOTS
        assert not {q.id for q in planned.questions} & {q.id for q in planned.demonstrations}
        assert not {q.question.casefold() for q in planned.questions} & {
            q.question.casefold() for q in planned.demonstrations
        }


# Reasoning


@pytest.mark.parametrize(
    ("program", "calls", "thoughts"),
    [
        (
            "# Find 她.\na = find(x)\n# Her age.\n# It is a number.\nanswer = age(a)",
            ["find", "age"],
            ("Find 她.", "Her age. It is a number.", ""),
        ),
        ("a = find(x)\n# Both agree.\nanswer = len(a)", ["find"], ("", "Both agree.")),
        (
            "for n in names:\n    # One after the other.\n    find(n)\n# Count.\nanswer = 3",
            ["find"] * 3,
            ("One after the other.", "", "", "Count."),
        ),
        ("# Inner first.\nanswer = age(find(x))", ["find", "age"], ("", "Inner first.", "")),
        ("a = find('# no comment')\nanswer = a", ["find"], ("", "")),
        ("if x:\n    # Never.\n    find(x)\n# Else.\nanswer = age(y)", ["age"], ("Else.", "")),
        ("answer = (", ["find"], ("", "")),
    ],
)
def test_comments_of_a_program_are_the_thoughts_before_its_calls(
    program: str, calls: list[str], thoughts: tuple[str, ...]
) -> None:
    assert reasoning(program, calls, {"find", "age"}) == thoughts
