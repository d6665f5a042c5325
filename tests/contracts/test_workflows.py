"""What every workflow must do, whatever an LLM answers: the `WorkflowContract`.

Every installed workflow is checked with its defaults and in the `VARIANTS`. A new one is found by its entry point and
need not be named here; `agent`, which needs a program, is checked in tests/workflows/test_agent.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from r_eval.llms.base import LLMError, Reply, Request
from r_eval.plugins import names
from r_eval.records import Episode
from r_eval.workflows.base import Limits, Workflow, make
from tests.timing import quickest
from tests.workflow_contract import Pantry, Talker, WorkflowContract, in_every_notation, played

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "rag with gold": ("rag", {"retrieval": "gold"}),
}


def workflows() -> dict[str, Workflow]:
    """Every installed workflow that can be made without settings, and the variants, by name."""
    classes = names("workflows", Workflow)
    chosen = {**{name: (name, {}) for name in classes if name != "agent"}, **VARIANTS}
    return {name: make(classes[kind], kind, settings) for name, (kind, settings) in chosen.items()}


WORKFLOWS = workflows()
ASKING = [name for name, workflow in WORKFLOWS.items() if workflow.uses_llm]


@pytest.mark.parametrize("name", WORKFLOWS)
class TestInstalled(WorkflowContract):
    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.made = WORKFLOWS[name]

    def workflow(self) -> Workflow:
        return type(self.made)(**self.made.settings())

    test_it_survives_whatever_an_llm_answers = None  # type: ignore[assignment]  # below, with more answers


def test_the_oracle_answers_with_the_gold_programs_answer_and_asks_no_llm() -> None:
    llm = Talker(in_every_notation)
    episode = played(WORKFLOWS["oracle"], llm, Pantry(), Limits())
    assert (episode.answer, episode.outcome.kind, llm.requests) == ("Qwyxanthium", "finished", [])


@pytest.mark.parametrize(
    ("cause", "kind"), [("connection", "llm_failure"), ("key", "llm_failure"), ("context", "exhausted")]
)
@pytest.mark.parametrize("name", ASKING)
def test_an_error_of_the_llm_is_the_outcome(name: str, cause: str, kind: str) -> None:
    def fail(request: Request) -> str:
        error = LLMError(cause, "it went wrong")
        error.retries = 3
        raise error

    episode = played(WORKFLOWS[name], Talker(fail), Pantry(), Limits())
    assert (episode.outcome.kind, episode.outcome.cause, episode.usage.retries) == (kind, cause, 3)
    assert "it went wrong" in episode.outcome.detail


# Whatever an LLM answers


LONG = 100_000
ANSWERS: dict[str, Callable[[Request], Reply | str]] = {
    "nothing": lambda request: "",
    "noise": lambda request: "#@! ¿ \0 \x1b[2J )]}>'\" ```` \\ $name %s {0} 〈〉",
    "half a pair": lambda request: 'Action: find_dish(name="\\ud800") \ud800 Finish["\\ud800"]',
    "the prompt": lambda request: "\n".join(f"{m.role}: {m.content}" for m in request.messages)[:LONG],
    "one call for ever": in_every_notation,
    "an unknown call": lambda request: 'Action: look(at="x")\n<tool_call>{"name": "look", "arguments": {}}</tool_call>',
    "a wrong call": lambda request: 'Action: find_dish(x="y")\n<tool_call>{"name": "find_dish"}</tool_call>',
    "an unreadable call": lambda request: "Action: \n<tool_call>find the dish</tool_call>",
    "long text": lambda request: "word " * (LONG // 5),
    "an action of brackets": lambda request: "Action 1: find_dish(" + "[" * LONG,
    "a program of brackets": lambda request: "```python\nanswer = " + "(" * LONG + "\n```",
    "deep arguments": lambda request: '{"name": "find_dish", "arguments": {"name": ' + "[" * 400 + "]" * 400 + "}}",
    "fences": lambda request: "```python\n" * (LONG // 10),
    "actions": lambda request: "Action: " * (LONG // 8),
    "observations": lambda request: "\nObservation 1: x" * (LONG // 17),
}


@pytest.mark.parametrize("native", [True, False], ids=["native", "prompted"])
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", ASKING)
def test_it_survives_whatever_an_llm_answers(name: str, answer: str, native: bool) -> None:
    episodes: list[Episode] = []

    def playing() -> None:
        llm = Talker(ANSWERS[answer], native)
        episodes.append(played(WORKFLOWS[name], llm, Pantry(), Limits(steps=10, calls=60, seconds=60.0)))

    def clock() -> float:  # each call of the LLM may take a tenth of a second
        return time.process_time() - 0.1 * sum(episode.usage.calls for episode in episodes)

    assert quickest(playing, enough=2.0, clock=clock) < 2.0
    episode = episodes[-1]
    assert episode.outcome.kind in ("finished", "gave_up", "exhausted", "tool_misuse"), episode.outcome
    assert Episode.model_validate_json(episode.model_dump_json()).answer == episode.answer
