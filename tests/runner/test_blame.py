"""What a failure of an LLM, a workflow or a condition makes of its episode, and of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r_eval import UserError, run
from r_eval.records import Episode
from tests.runner.desks import Desk

FAILING = """
from r_eval.llms.base import LLMError

async def reply(request):
    with open({asked!r}, "a", encoding="utf-8") as log:
        log.write("asked\\n")
    raise LLMError({cause!r}, "the server says no")
"""


@pytest.mark.parametrize(
    ("cause", "kind", "calls"),
    [
        *((cause, "llm_failure", 1) for cause in ("key", "model", "quota")),  # it can never answer: stopped at once
        ("content_filter", "gave_up", 6),
        ("server", "llm_failure", 6),
    ],
)
def test_a_failure_of_an_llm(cause: str, kind: str, calls: int, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    done = run(desk.grid(desk.llm(FAILING, connections=1, cause=cause)), out=tmp_path / "out", cache=False)
    assert [(e.outcome.kind, e.outcome.cause) for e in done.episodes()] == [(kind, cause)] * calls
    assert len(desk.log()) == calls


PLUG_INS = """
import asyncio, builtins
from r_eval.llms.base import Message, Request
from r_eval.environments.conditions.base import Condition
from r_eval.workflows.base import Workflow, WorkflowResult

def act(how):
    if how in ("None", "text"):
        return {"None": None, "text": "Nairobi"}[how]
    raise {"CancelledError": asyncio.CancelledError, **vars(builtins)}[how]("内罗毕")

class Failing(Workflow):
    def __init__(self, how: str):
        self.how = how

    async def run(self, question, session, llm, limits):
        if self.how == "cancels itself":
            asyncio.current_task().cancel()
            await asyncio.sleep(0)
        for _ in range(9 if self.how == "swallows its cancellation" else 0):
            try:
                await llm.generate(Request((Message("user", "?"),)))
                await asyncio.sleep(60)
            except BaseException:
                pass
        return act(self.how)

class Broken(Condition):
    name = "broken"

    def __init__(self, how: str):
        self.how = how

    def question(self, question, environment):
        return act("KeyError") if self.how == "question" else question

    def environment(self, environment, notes, seeds):
        return act(self.how)
"""
RAISED = ("SystemExit", "KeyboardInterrupt", "GeneratorExit", "StopIteration", "CancelledError", "TimeoutError")
HOW = (*RAISED, "None", "text")


@pytest.mark.parametrize("kind", ["workflow", "condition"])
def test_whatever_a_workflow_or_a_condition_does_is_its_own_episodes_outcome(kind: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (tmp_path / "own.py").write_text(PLUG_INS, encoding="utf-8")
    llm = desk.llm("def reply(request):\n    return 'Action 1: Finish[Ada]'\n", connections=1)
    name = {"workflow": "own.py:Failing", "condition": "own.py:Broken"}[kind]
    good = {"workflow": "react", "condition": "clean"}[kind]
    how = HOW if kind == "condition" else (*HOW, "cancels itself")
    parts = {f"{kind}s": [*({kind: name, "name": one, "how": one} for one in how), good]}
    grid = desk.grid(llm, **{"workflows": ["react"], "samples": 1, **parts})
    done = run(grid, tmp_path / "out", cache=False)
    found: dict[str, Episode] = {getattr(episode, kind): episode for episode in done.episodes()}
    assert found.pop(good).outcome.kind == "finished"
    assert {one: episode.outcome.kind for one, episode in found.items()} == dict.fromkeys(how, "tool_failure")
    for one in RAISED:
        before = f"the condition {one} failed: " if kind == "condition" else ""
        assert found[one].outcome.detail == f"{before}{one}: 内罗毕 (own.py:10, in act)"
        assert "own.py" in found[one].outcome.traceback


GROUPED = """
import asyncio
from r_eval.llms.base import Message, Request
from r_eval.workflows.base import Workflow, finished

class Grouped(Workflow):
    async def run(self, question, session, llm, limits):
        async with asyncio.TaskGroup() as group:
            for number in range(4):
                group.create_task(self.part(number, question, llm))

    async def part(self, number, question, llm):
        reply = await llm.generate(Request((Message("user", f"{question.text} {number}"),)))
        return {}[reply.text]
"""
PARTS: dict[str, tuple[dict[str, Any], str, tuple[str, str]]] = {
    "its LLM's failure": ({}, FAILING, ("llm_failure", "server")),
    "a limit": ({"limits": {"calls": 1, "last_chance": False}}, FAILING, ("exhausted", "calls")),
    "its own fault": ({}, "def reply(request):\n    return '内罗毕'\n", ("tool_failure", "workflow")),
}


@pytest.mark.parametrize("what", PARTS)
def test_what_ends_a_part_of_a_workflow_is_the_outcome(desk: Desk, what: str) -> None:
    keys, code, expected = PARTS[what]
    (desk.path / "own.py").write_text(GROUPED, encoding="utf-8")
    grid = desk.grid(desk.llm(code, cause="server"), workflows=["own.py:Grouped"], samples=1, **keys)
    (episode,) = run(grid, desk.path / "out", cache=False).episodes()
    assert (episode.outcome.kind, episode.outcome.cause) == expected
    assert what != "its own fault" or episode.outcome.detail == "KeyError: '内罗毕' (own.py:14, in part)"


def test_a_workflow_that_swallows_its_cancellation_is_left_behind_and_asks_for_nothing_more(desk: Desk) -> None:
    (desk.path / "own.py").write_text(PLUG_INS, encoding="utf-8")
    workflows = [{"workflow": "own.py:Failing", "how": "swallows its cancellation"}, "direct"]
    llm = desk.llm("async def reply(request):\n    open({asked!r}, 'a').write('asked\\n')\n    return 'Ada'\n")
    grid = desk.grid(llm, workflows=workflows, samples=1, limits={"seconds": 0.5})
    done = run(grid, desk.path / "out", cache=False)
    ends = [(episode.outcome.kind, episode.outcome.cause) for episode in done.episodes()]
    assert (ends, len(desk.log())) == ([("tool_misuse", "seconds"), ("finished", "")], 2)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"conditions": [{"condition": "own.py:Broken", "how": "question"}]},
            r"condition 'own.py:Broken': question '\S+': KeyError: '内罗毕' \(own.py:10, in act\)",
        ),
        ({"workflows": ["exits.py:Mine"]}, r"importing it fails: SystemExit: 3 \(exits.py:1"),
        ({"workflows": ["opens.py:Mine"]}, r"workflow 'opens.py:Mine': FileNotFoundError: .*\(opens.py:6"),
    ],
)
def test_a_plug_in_that_fails_before_the_run_gets_one_sentence(
    parts: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(PLUG_INS, encoding="utf-8")
    (tmp_path / "exits.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    opens = "from r_eval.workflows.base import Workflow\n\n\nclass Mine(Workflow):\n    def __init__(self):\n"
    (tmp_path / "opens.py").write_text(f"{opens}        open('nothing.txt')\n", encoding="utf-8")
    desk = Desk(tmp_path)
    with pytest.raises(UserError, match=message):
        run(desk.grid(desk.llm(FAILING, cause="key"), **parts), tmp_path / "out")
    assert not (tmp_path / "out").exists()
