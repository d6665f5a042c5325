"""`WorkflowContract`: every installed workflow passes it, and a workflow with a fault does not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from r_eval.llms.base import Message, Request
from r_eval.plugins import names
from r_eval.testing import WorkflowContract
from r_eval.workflows.base import Limits, LLMProtocol, SessionProtocol, TaskInput, Workflow, WorkflowResult, finished

CONTRACT = [name for name in vars(WorkflowContract) if name.startswith("test_")]


def contract_of(make: Callable[[], Workflow]) -> WorkflowContract:
    class Contract(WorkflowContract):
        def workflow(self) -> Workflow:
            return make()

    return Contract()


WORKFLOWS: dict[str, type[Workflow]] = {
    name: cls for name, cls in names("workflows", Workflow).items() if name != "agent"
}
"""Those that can be made without settings."""


@pytest.mark.parametrize("name", WORKFLOWS)
class TestInstalled(WorkflowContract):
    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.cls = WORKFLOWS[name]

    def workflow(self) -> Workflow:
        return self.cls()

    test_it_survives_whatever_an_llm_answers = None  # type: ignore[assignment]  # test_workflows has more of it


class Sound(Workflow):
    """Asks once; takes what comes."""

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        shown = "".join(f"{d.question} {d.answer}\n" for d in question.demonstrations)
        text = f"{' '.join(session.specs)}\n{question.instruction}\n{shown}{question.text}"
        reply = await llm.generate(Request((Message("user", text),)))
        await session.call("find_dish", {"name": "o"})
        return finished(reply.text.strip()[:100], "text")


class Swallowing(Sound):
    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        try:
            return await super().run(question, session, llm, limits)
        except Exception:
            return finished("", "text")


class Fragile(Sound):
    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        ending = await super().run(question, session, llm, limits)
        return finished(ending.answer.splitlines()[0], "text")


class Random(Sound):
    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        await session.call("find_dish", {"name": str(random.random())})
        return await super().run(question, session, llm, limits)


class Around(Sound):
    async def run(self, question: TaskInput, session: Any, llm: LLMProtocol, limits: Limits) -> WorkflowResult:
        session._environment.find_dish("o")
        return await super().run(question, session, llm, limits)


class Unrecorded(Sound):
    async def run(self, question: TaskInput, session: SessionProtocol, llm: Any, limits: Limits) -> WorkflowResult:
        ending = await super().run(question, session, llm, limits)
        await llm._llm.generate(Request((Message("user", "And?"),)))
        return ending


class Showless(Sound):
    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        bare = TaskInput(question.text)
        return await super().run(bare, session, llm, limits)


class Forgetful(Sound):
    def __init__(self, beam: int = 2) -> None:
        self.width = beam

    def settings(self) -> dict[str, Any]:
        return {"beam": random.random()}


@pytest.mark.parametrize("check", CONTRACT)
def test_a_sound_workflow_passes(check: str) -> None:
    getattr(contract_of(Sound), check)()


FAULTS: dict[type[Workflow], str] = {
    Swallowing: "test_failures_of_machines_get_out",
    Fragile: "test_it_survives_whatever_an_llm_answers",
    Random: "test_the_same_replies_give_the_same_steps",
    Around: "test_everything_is_recorded_and_read_back",
    Unrecorded: "test_everything_is_recorded_and_read_back",
    Showless: "test_the_llm_is_shown_the_task_and_nothing_of_the_gold",
    Forgetful: "test_its_settings_make_it_anew",
}


@pytest.mark.parametrize("cls", FAULTS, ids=lambda cls: cls.__name__)
def test_a_fault_is_found(cls: type[Workflow]) -> None:
    with pytest.raises(AssertionError):
        getattr(contract_of(cls), FAULTS[cls])()
