"""Demonstrations: from gold programs, in each workflow's own notation, the same for all, and never asked.

What a workflow shows to the LLM is read back here with the reader that the workflow reads replies with; it must be
the calls that the demonstration's program really makes, with what they really gave.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from r_eval import Grid
from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import ApiSpec
from r_eval.environments.session import Session
from r_eval.llms.base import Message, Request
from r_eval.llms.tool_calls import parse_action
from r_eval.plugins import names
from r_eval.records import Step
from r_eval.runner.demonstrations import reasoning, work_out
from r_eval.runner.plan import resolve
from r_eval.tasks.base import installed, open_environment
from r_eval.workflows.answers import action_answer
from r_eval.workflows.base import Demonstration, Workflow, make
from r_eval.workflows.pal import program_in
from tests.paper import paper_tasks

WORKFLOWS = names("workflows", Workflow)
del WORKFLOWS["agent"]  # it is handed the demonstrations, and shows what it likes
SHOTS = 6

Call = tuple[str, Mapping[str, Any], str | None]


@dataclasses.dataclass(frozen=True)
class Shown:
    """A demonstration as it stands in a request: calls with what they gave (None where the notation shows none)."""

    calls: tuple[Call, ...]
    answer: str | None


@functools.cache
def worked_out(name: str) -> tuple[Environment, tuple[Demonstration, ...]]:
    """A task's environment and the first of its demonstrations."""
    task = installed(name)
    environment = open_environment(task.environment)

    async def work() -> tuple[Demonstration, ...]:
        with Sandbox() as sandbox:
            return await work_out(task.demonstrations[:SHOTS], environment, sandbox, 1000)

    return environment, asyncio.run(work())


def parts(request: Request, shown: Sequence[Demonstration]) -> Iterator[Sequence[Message]]:
    """The messages of each demonstration, without its question."""
    messages = request.messages
    starts = [i for i, m in enumerate(messages) if m.role == "user" and any(d.question in m.content for d in shown)]
    assert len(starts) == len(shown)
    ends = [*starts[1:], len(messages) - 1]
    for start, end, demonstration in zip(starts, ends, shown, strict=True):
        assert demonstration.question in messages[start].content
        yield messages[start + 1 : end]


def in_react(part: Sequence[Message], request: Request, specs: Mapping[str, ApiSpec]) -> Shown:
    calls: list[Call] = []
    for i, (said, then) in enumerate(zip(part[:-1:2], part[1::2], strict=True), 1):
        action = parse_action(said.content, specs)
        assert action is not None
        start = f"Observation {i}: "
        assert then.content.startswith(start)
        calls.append((action.name, action.arguments, then.content.removeprefix(start)))
    last = parse_action(part[-1].content, specs)
    assert last is not None
    assert last.name == "Finish"
    return Shown(tuple(calls), action_answer(last))


def in_calls(part: Sequence[Message], request: Request, specs: Mapping[str, ApiSpec]) -> Shown:
    calls = [call for message in part for call in message.tool_calls]
    results = [message for message in part if message.role == "tool"]
    assert [call.id for call in calls] == [message.call_id for message in results]
    assert part[-1].role == "assistant"
    *made, last = calls
    assert last.name == "Finish"
    answer = last.arguments.get("answer", last.arguments.get("final_answer"))
    return Shown(tuple((c.name, c.arguments, r.content) for c, r in zip(made, results, strict=False)), answer)


def in_a_program(part: Sequence[Message], request: Request, specs: Mapping[str, ApiSpec]) -> Shown:
    """The calls of the program that is shown; what they gave is not."""
    (message,) = part
    environment = next(e for e, _ in map(worked_out, paper_tasks()) if e.specs().keys() == specs.keys())
    calls: list[Step] = []

    async def carry_out() -> None:
        with Sandbox() as sandbox:
            await Session(environment, sandbox, calls.append).run_program(program_in(message.content))

    asyncio.run(carry_out())
    return Shown(tuple((call.api or "", call.arguments or {}, None) for call in calls), None)


def in_an_answer(part: Sequence[Message], request: Request, specs: Mapping[str, ApiSpec]) -> Shown:
    (message,) = part
    return Shown((), message.content)


Reader = Callable[[Sequence[Message], Request, Mapping[str, ApiSpec]], Shown]
READERS: dict[str, Reader] = {
    "react": in_react,
    "pal": in_a_program,
    "fc": in_calls,
    "dfsdt": in_calls,
    "rag": in_an_answer,
    "direct": in_an_answer,
}


@pytest.mark.parametrize("workflow", READERS)
@pytest.mark.parametrize("name", paper_tasks())
def test_a_workflow_shows_the_calls_that_the_gold_programs_really_make(name: str, workflow: str, play: Any) -> None:
    environment, demonstrations = worked_out(name)
    task = installed(name)
    played = play(
        make(WORKFLOWS[workflow], workflow, {}),
        ["nothing"],
        shown=task.demonstrations[:SHOTS],
        environment=environment,
        question=task.questions[0],
    )
    request, reader = played.requests[0], READERS[workflow]
    for demonstration, part in zip(demonstrations, parts(request, demonstrations), strict=True):
        found = reader(part, request, environment.specs())
        assert found.answer in (None, demonstration.answer)
        if reader is not in_an_answer:
            calls = [(call.api, call.arguments, call.observation or "") for call in demonstration.calls]
            assert [(api, arguments) for api, arguments, _ in found.calls] == [call[:2] for call in calls]
            assert all(result in (None, call[2]) for (*_, result), call in zip(found.calls, calls, strict=True))


def test_every_workflow_that_asks_an_llm_has_a_reader_here() -> None:
    assert READERS.keys() == {name for name, cls in WORKFLOWS.items() if cls.uses_llm}


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
        ("answer = (", ["find"], ()),
    ],
)
def test_comments_of_a_program_are_the_thoughts_before_its_calls(
    program: str, calls: list[str], thoughts: tuple[str, ...]
) -> None:
    assert reasoning(program, calls, {"find", "age"}) == thoughts
