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

from r_eval import Grid, plugins, run
from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import ApiSpec
from r_eval.environments.session import Session
from r_eval.llms.base import Message, Reply, Request, ToolCall
from r_eval.llms.tool_calls import parse_action, read_reply, render_tools
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
ASKING = [name for name, cls in WORKFLOWS.items() if cls.uses_llm]
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
    return as_shown(calls, [message.content for message in results])


def in_written_calls(part: Sequence[Message], request: Request, specs: Mapping[str, ApiSpec]) -> Shown:
    """As an LLM without tools of its own sees it."""
    written = render_tools(dataclasses.replace(request, messages=tuple(part))).messages[1:]
    calls: list[ToolCall] = []
    results: list[str] = []
    for message in written[:-1]:
        if message.role == "assistant":
            calls += read_reply(Reply(message.content), request.tools).tool_calls
        else:
            results.append(message.content.removeprefix("<tool_response>\n").removesuffix("\n</tool_response>"))
    return as_shown(calls, results)


def as_shown(calls: Sequence[ToolCall], results: Sequence[str]) -> Shown:
    assert [call.error for call in calls] == [None] * len(calls)
    *made, last = calls
    assert last.name == "Finish"
    given = last.arguments
    answer = given.get("answer", given.get("final_answer"))
    return Shown(tuple((c.name, c.arguments, r) for c, r in zip(made, results, strict=False)), answer)


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
READERS: dict[str, tuple[str, Reader]] = {
    "react": ("react", in_react),
    "pal": ("pal", in_a_program),
    "fc, native": ("fc", in_calls),
    "fc, prompted": ("fc", in_written_calls),
    "dfsdt, native": ("dfsdt", in_calls),
    "dfsdt, prompted": ("dfsdt", in_written_calls),
    "rag": ("rag", in_an_answer),
    "direct": ("direct", in_an_answer),
}


@pytest.mark.parametrize("key", READERS)
@pytest.mark.parametrize("name", paper_tasks())
def test_a_workflow_shows_the_calls_that_the_gold_programs_really_make(name: str, key: str, play: Any) -> None:
    workflow, reader = READERS[key]
    environment, shown = worked_out(name)
    task = installed(name)
    played = play(
        make(WORKFLOWS[workflow], workflow, {}),
        ["nothing"],
        shown=task.demonstrations[:SHOTS],
        environment=environment,
        question=task.questions[0],
    )
    request = played.requests[0]
    for demonstration, part in zip(shown, parts(request, shown), strict=True):
        found = reader(part, request, environment.specs())
        if found.answer is not None:
            assert found.answer == demonstration.answer
        if reader is in_an_answer:
            continue
        assert [(api, arguments) for api, arguments, _ in found.calls] == [
            (call.api, call.arguments) for call in demonstration.calls
        ]
        for call, (_, _, result) in zip(demonstration.calls, found.calls, strict=True):
            real = call.observation or ""
            assert result in (None, real)


def test_every_workflow_that_asks_an_llm_has_a_reader_here() -> None:
    assert {workflow for workflow, _ in READERS.values()} == {*ASKING}


# The same for every workflow

SPEAKER = """
SEEN = []


def speak(request):
    SEEN.append(request)
    return "nothing"
"""


TASKS = ["wiki/hotpotqa", "aminer/soay-hard"]


@pytest.fixture(scope="module")
def first_requests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Request]]:
    """What an LLM is asked first in every episode of a grid, by workflow and question."""
    folder = tmp_path_factory.mktemp("grid")
    script = folder / "speaker.py"
    script.write_text(SPEAKER, encoding="utf-8")
    seen: list[Request] = plugins.from_path(f"{script}:SEEN", "llms")
    questions = [q.question for name in TASKS for q in installed(name).questions]
    found: dict[str, dict[str, Request]] = {}
    for workflow in ASKING:
        seen.clear()
        llm = {"llm": f"scripted/{script}:speak"}
        grid = Grid(workflows=[workflow], llms=[llm], tasks=TASKS, samples=2, shots=3, limits={"steps": 1})
        run(grid, folder / workflow)
        first = found[workflow] = {}
        for request in seen:
            for question in questions:
                if question in request.messages[-1].content:
                    first.setdefault(question, request)
    return found


def test_every_workflow_shows_the_same_demonstrations_in_the_same_order(
    first_requests: dict[str, dict[str, Request]],
) -> None:
    demonstrations = [d.question for name in TASKS for d in installed(name).demonstrations]
    orders: dict[str, set[tuple[str, ...]]] = {}
    for requests in first_requests.values():
        assert len(requests) == 2 * len(TASKS)
        for question, request in requests.items():
            text = "\n".join(message.content for message in request.messages)
            found = sorted((d for d in demonstrations if d in text), key=text.index)
            orders.setdefault(question, set()).add(tuple(found))
            assert question not in "\n".join(message.content for message in request.messages[:-1])
    for shown in orders.values():
        assert len(shown) == 1
        assert len(shown.pop()) == 3


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
