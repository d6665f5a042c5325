"""What a failure of an LLM, a workflow or a condition makes of its episode, and of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval import run
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
        return act(self.how)

class Broken(Condition):
    name = "broken"

    def __init__(self, how: str):
        self.how = how

    def environment(self, environment, about, seeds):
        return act(self.how)
"""
RAISED = ("SystemExit", "KeyboardInterrupt", "GeneratorExit", "StopIteration", "CancelledError", "TimeoutError")
HOW = (*RAISED, "None", "text")


@pytest.mark.parametrize("kind", ["workflow", "condition"])
def test_whatever_a_workflow_or_a_condition_does_is_its_own_episodes_outcome(kind: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (tmp_path / "own.py").write_text(PLUG_INS, encoding="utf-8")
    llm = desk.llm("def reply(request):\n    return 'Action 1: Finish[Ada]'\n")
    name = {"workflow": "own.py:Failing", "condition": "own.py:Broken"}[kind]
    good = {"workflow": "react", "condition": "clean"}[kind]
    parts = {f"{kind}s": [good, *({kind: name, "name": how, "how": how} for how in HOW)]}
    done = run(desk.grid(llm, **{"workflows": ["react"], "samples": 1, **parts}), tmp_path / "out", cache=False)
    found: dict[str, Episode] = {getattr(episode, kind): episode for episode in done.episodes()}
    assert found.pop(good).outcome.kind == "finished"
    assert {how: episode.outcome.kind for how, episode in found.items()} == dict.fromkeys(HOW, "tool_failure")
    for how in RAISED:
        assert f"{how}: 内罗毕 (own.py:9, in act)" in found[how].outcome.detail
        assert "own.py" in found[how].outcome.traceback
