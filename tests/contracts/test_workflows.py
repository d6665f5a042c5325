"""What every workflow must do, whatever an LLM answers.

Every installed workflow is run through real episodes over the Pantry, with its defaults and in the `VARIANTS`. A new
one is found by its entry point and need not be named here.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from r_eval.environments.base import Environment, EnvironmentFailure, query_api
from r_eval.environments.sandbox import ProgramLimits, Sandbox
from r_eval.folder import Cell
from r_eval.llms.base import LLM, LLMError, Reply, Request, ToolCall
from r_eval.plugins import names
from r_eval.records import Document, Episode, Question, Tokens
from r_eval.runner.demonstrations import work_out
from r_eval.runner.episode import Resources, run_episode
from r_eval.runner.plan import PlannedCell, PlannedTask
from r_eval.tasks.base import Task
from r_eval.workflows.base import Limits, Workflow, make
from tests.timing import quickest

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "pal with repairs": ("pal", {"repairs": 2}),
    "rag with rewriting": ("rag", {"rewrite": True}),
    "rag with gold": ("rag", {"retrieval": "gold"}),
}


def workflows() -> dict[str, Workflow]:
    """Every installed workflow and the variants, by name; tests/workflows/test_agent.py has programs of users."""
    classes = names("workflows", Workflow)
    chosen = {**{name: (name, {}) for name in classes if name != "agent"}, **VARIANTS}
    return {name: make(classes[kind], kind, settings) for name, (kind, settings) in chosen.items()}


WORKFLOWS = workflows()
ASKING = [name for name, workflow in WORKFLOWS.items() if workflow.uses_llm]
USING_TOOLS = [name for name in ASKING if WORKFLOWS[name].uses_tools]
BLIND = [name for name in ASKING if not WORKFLOWS[name].uses_gold]
OFFERING = [name for name in USING_TOOLS if not name.startswith("rag")]
"""Those that leave the choice of a query API to the LLM."""

GOLD = "Qwyxanthium"
QUESTION = Question(
    id="q1",
    question="Which dish has an egg in it?",
    answers=[GOLD],
    level="KS",
    program=f"found = find_dish(name='o')\nanswer = '{GOLD}'",
    evidence=[f"{GOLD} is here"],
    context=[Document(title="A book", text="Omelettes are made of eggs.")],
    entities=[GOLD],
    meta={"note": GOLD},
)
DEMONSTRATION = Question(
    id="q0",
    question="What is in a pizza?",
    answers=["flour; tomato; cheese"],
    level="KS",
    program="dish = find_dish(name='pizza')[0]\nanswer = ingredients(dish=dish)",
)


class Talker(LLM):
    """An LLM that a function speaks for; keeps every request."""

    def __init__(self, speak: Callable[[Request], Reply | str], native: bool = True, seconds: float = 0.0) -> None:
        super().__init__("talker", "talker", {})
        self.speak, self.native_tools, self.seconds_a_reply = speak, native, seconds
        self.requests: list[Request] = []

    async def generate(self, request: Request) -> Reply:
        self.requests.append(request)
        if self.seconds_a_reply:
            await asyncio.sleep(self.seconds_a_reply)
        said = self.speak(request)
        if isinstance(said, Reply):
            return said
        return Reply(said, tokens=Tokens(prompt=10, completion=5))


def play(
    name: str,
    llm: Talker,
    pantry: Environment,
    sandbox: Sandbox,
    limits: Limits | None = None,
    question: Question = QUESTION,
) -> Episode:
    """One episode of a workflow with one demonstration."""
    task = Task("pantry/test", "pantry", (question,), (DEMONSTRATION,), instruction="Answer in one word.")
    planned = PlannedTask(task, pantry, (question,), (DEMONSTRATION,))
    cell = PlannedCell(Cell(name, "talker", "clean", task.name), WORKFLOWS[name], planned, {})

    bounds = limits or Limits()

    async def main() -> Episode:
        shown = await work_out(planned.demonstrations, pantry, sandbox, bounds.observation)
        return await run_episode(cell, question, 0, llm, Resources(bounds, sandbox, {cell.cell.task: shown}))

    return asyncio.run(main())


def calling(request: Request) -> Reply | str:
    """The same right call, in every notation at once, for ever."""
    text = 'I look.\nAction 1: find_dish(name="o")\n```python\nwhile True:\n    find_dish(name="o")\n```'
    if not request.tools:
        return f'{text}\n<tool_call>{{"name": "find_dish", "arguments": {{"name": "o"}}}}</tool_call>'
    call = ToolCall("a", "find_dish", {"name": "o"})
    return Reply("I look.", (call,), "tool_calls", Tokens(prompt=10, completion=5))


def repeating(request: Request) -> str:
    return "\n".join(f"{message.role}: {message.content}" for message in request.messages)[:LONG]


def loaded(episode: Episode) -> dict[str, Any]:
    """The record as it stands in a file, read back."""
    data = episode.model_dump(mode="json")
    text = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
    return Episode.model_validate_json(text).model_dump(mode="json")


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key != "seconds"}
    if isinstance(value, list):
        return [without_times(inner) for inner in value]
    return value


# Limits


@pytest.mark.parametrize("name", WORKFLOWS)
def test_it_ends_after_one_step_where_one_is_allowed(name: str, pantry: Environment, sandbox: Sandbox) -> None:
    llm = Talker(calling)
    episode = play(name, llm, pantry, sandbox, Limits(steps=1))
    assert episode.outcome.kind in ("finished", "exhausted", "gave_up", "tool_misuse")
    assert len(llm.requests) <= 200


@pytest.mark.parametrize("name", ASKING)
def test_it_asks_no_more_once_the_tokens_are_used_up(name: str, pantry: Environment, sandbox: Sandbox) -> None:
    llm = Talker(calling)
    episode = play(name, llm, pantry, sandbox, Limits(tokens=1))
    assert len(llm.requests) == 1
    assert episode.outcome.kind in ("finished", "exhausted", "gave_up", "tool_misuse")


@pytest.mark.parametrize("name", ASKING)
def test_it_ends_when_its_time_is_over(name: str, pantry: Environment, sandbox: Sandbox) -> None:
    llm = Talker(calling, seconds=0.4)
    episode = play(name, llm, pantry, sandbox, Limits(seconds=0.3))
    assert episode.outcome.kind in ("exhausted", "tool_misuse")
    assert (episode.outcome.cause, episode.usage.calls) == ("seconds", 1)
    assert episode.seconds.total >= 0.4


@pytest.mark.parametrize("name", ASKING)
def test_replies_before_the_time_is_over_are_kept(name: str, pantry: Environment, sandbox: Sandbox) -> None:
    episode = play(name, Talker(calling, seconds=0.1), pantry, sandbox, Limits(seconds=0.4))
    assert any(step.kind == "thought" for step in episode.steps)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_that_needs_no_llm_asks_none(name: str, pantry: Environment, sandbox: Sandbox) -> None:
    llm = Talker(calling)
    play(name, llm, pantry, sandbox)
    assert bool(llm.requests) == WORKFLOWS[name].uses_llm


# The record


@pytest.mark.parametrize("native", [True, False], ids=["native", "prompted"])
@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_reply_is_a_recorded_thought(name: str, native: bool, pantry: Environment, sandbox: Sandbox) -> None:
    llm = Talker(calling, native)
    episode = play(name, llm, pantry, sandbox)
    thoughts = [step for step in episode.steps if step.kind == "thought"]
    assert len(thoughts) == len(llm.requests) == episode.usage.calls
    assert episode.usage.prompt_tokens == 10 * len(thoughts)
    assert episode.usage.completion_tokens == 5 * len(thoughts)


class Counting(Environment):
    """A pantry that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @query_api
    def find_dish(self, name: str) -> list[str]:
        """Find dishes by a part of their name.

        Args:
            name: A part of the name.
        """
        self.asked.append(name)
        return [dish for dish in ("pizza", "omelette") if name in dish]

    @query_api
    def ingredients(self, dish: str) -> list[str]:
        """List what is in a dish.

        Args:
            dish: The dish's exact name.
        """
        self.asked.append(dish)
        return ["egg"]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_tool_call_is_recorded(name: str, sandbox: Sandbox) -> None:
    counting = Counting()
    episode = play(name, Talker(calling), counting, sandbox)
    calls = [step for step in episode.steps if step.kind == "call"]
    of_the_demonstration = 2
    assert [step.arguments["name"] for step in calls] == counting.asked[of_the_demonstration:]
    assert all(
        step.observation and ("omelette" in step.observation) == (step.arguments["name"] == "o") for step in calls
    )
    assert bool(calls) == (WORKFLOWS[name].uses_tools or WORKFLOWS[name].uses_gold)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_the_last_step_is_the_answer(name: str, pantry: Environment, sandbox: Sandbox) -> None:
    episode = play(name, Talker(calling), pantry, sandbox)
    assert [step.kind for step in episode.steps].index("answer") == len(episode.steps) - 1
    assert episode.steps[-1].text == episode.answer
    assert (episode.steps[-1].error == "unparsed") == (episode.answer == "")


@pytest.mark.parametrize("name", WORKFLOWS)
def test_the_record_is_read_back_as_it_was_written(name: str, pantry: Environment, sandbox: Sandbox) -> None:
    episode = play(name, Talker(calling), pantry, sandbox)
    assert loaded(episode) == episode.model_dump(mode="json")


@pytest.mark.parametrize("native", [True, False], ids=["native", "prompted"])
@pytest.mark.parametrize("name", WORKFLOWS)
def test_the_same_replies_give_the_same_steps(name: str, native: bool, pantry: Environment, sandbox: Sandbox) -> None:
    one, two = (play(name, Talker(calling, native), pantry, sandbox) for _ in range(2))
    assert without_times(loaded(one)) == without_times(loaded(two))


# Nothing of the gold


def written(requests: Iterable[Request]) -> str:
    return "\n".join(f"{request.messages} {request.tools} {request.stop}" for request in requests)


@pytest.mark.parametrize("native", [True, False], ids=["native", "prompted"])
@pytest.mark.parametrize("speak", [calling, repeating, lambda request: ""], ids=["calling", "repeating", "silent"])
@pytest.mark.parametrize("name", BLIND)
def test_no_request_holds_anything_of_the_gold(
    name: str, speak: Callable[[Request], Reply | str], native: bool, pantry: Environment, sandbox: Sandbox
) -> None:
    llm = Talker(speak, native)
    episode = play(name, llm, pantry, sandbox)
    assert GOLD not in written(llm.requests)
    assert GOLD not in json.dumps([step.model_dump() for step in episode.steps])
    assert GOLD not in episode.answer + episode.outcome.detail


@pytest.mark.parametrize("name", ASKING)
def test_question_demonstration_and_instruction_reach_the_llm(name: str, pantry: Environment, sandbox: Sandbox) -> None:
    llm = Talker(calling)
    play(name, llm, pantry, sandbox)
    asked = written(llm.requests)
    assert QUESTION.question in asked
    assert DEMONSTRATION.question in asked
    assert "Answer in one word." in asked


@pytest.mark.parametrize("name", OFFERING)
def test_every_query_api_is_offered(name: str, pantry: Environment, sandbox: Sandbox) -> None:
    llm = Talker(calling)
    play(name, llm, pantry, sandbox)
    assert all(api in written(llm.requests[:1]) for api in ("find_dish", "ingredients"))


def test_the_oracle_answers_with_the_gold_programs_answer(pantry: Environment, sandbox: Sandbox) -> None:
    episode = play("oracle", Talker(calling), pantry, sandbox)
    assert (episode.answer, episode.outcome.kind) == (GOLD, "finished")


# Whatever an LLM answers

LONG = 100_000
ANSWERS: dict[str, Callable[[Request], Reply | str]] = {
    "nothing": lambda request: "",
    "spaces": lambda request: " \n\t ",
    "noise": lambda request: "#@! ¿ \0 \x1b[2J )]}>'\" ```` \\ $name %s {0} 〈〉",
    "half a pair": lambda request: 'Action: find_dish(name="\\ud800") \ud800 Finish["\\ud800"]',
    "the prompt": repeating,
    "one call for ever": calling,
    "an unknown call": lambda request: 'Action: look(at="x")\n<tool_call>{"name": "look", "arguments": {}}</tool_call>',
    "a wrong call": lambda request: 'Action: find_dish(x="y")\n<tool_call>{"name": "find_dish"}</tool_call>',
    "a call that cannot be read": lambda request: "Action: \n<tool_call>find the dish</tool_call>",
    "long text": lambda request: "word " * (LONG // 5),
    "one long word": lambda request: "a" * LONG,
    "brackets": lambda request: "[" * LONG,
    "an action of brackets": lambda request: "Action 1: find_dish(" + "[" * LONG,
    "a program of brackets": lambda request: "```python\nanswer = " + "(" * LONG + "\n```",
    "a call of brackets": lambda request: '<tool_call>{"name": "find_dish", "arguments": {"name": ' + "[" * LONG,
    "deep arguments": lambda request: '{"name": "find_dish", "arguments": {"name": ' + "[" * 400 + "]" * 400 + "}}",
    "braces and quotes": lambda request: "{'\"" * (LONG // 3),
    "fences": lambda request: "```python\n" * (LONG // 10),
    "lines": lambda request: "\n" * LONG,
    "actions": lambda request: "Action: " * (LONG // 8),
    "observations": lambda request: "\nObservation 1: x" * (LONG // 17),
}
LIMITS = Limits(steps=10, calls=60, seconds=60.0)


@pytest.fixture(scope="module")
def quick_sandbox() -> Iterable[Sandbox]:
    with Sandbox(limits=ProgramLimits(seconds=0.5)) as opened:
        yield opened


@pytest.mark.parametrize("native", [True, False], ids=["native", "prompted"])
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", ASKING)
def test_it_survives_whatever_an_llm_answers(
    name: str, answer: str, native: bool, pantry: Environment, quick_sandbox: Sandbox
) -> None:
    episodes: list[Episode] = []

    def playing() -> None:
        episodes.append(play(name, Talker(ANSWERS[answer], native), pantry, quick_sandbox, LIMITS))

    def clock() -> float:  # each call of the LLM may take a tenth of a second
        return time.process_time() - 0.1 * sum(episode.usage.calls for episode in episodes)

    assert quickest(playing, enough=2.0, clock=clock) < 2.0
    episode = episodes[-1]
    assert episode.outcome.kind in ("finished", "gave_up", "exhausted", "tool_misuse"), episode.outcome
    assert loaded(episode)["question_id"] == QUESTION.id


# Failures


@pytest.mark.parametrize("cause", ["connection", "timeout", "rate_limit", "server", "request", "key", "reply"])
@pytest.mark.parametrize("name", ASKING)
def test_an_llm_that_fails_is_an_llm_failure(name: str, cause: str, pantry: Environment, sandbox: Sandbox) -> None:
    def fail(request: Request) -> str:
        error = LLMError(cause, "it went wrong")
        error.retries = 3
        raise error

    episode = play(name, Talker(fail), pantry, sandbox)
    assert (episode.outcome.kind, episode.outcome.cause) == ("llm_failure", cause)
    assert "it went wrong" in episode.outcome.detail
    assert episode.usage.retries == 3


@pytest.mark.parametrize("name", ASKING)
def test_a_request_that_is_too_long_is_the_systems_own_end(name: str, pantry: Environment, sandbox: Sandbox) -> None:
    def too_long(request: Request) -> str:
        raise LLMError("context", "the request exceeds the context")

    episode = play(name, Talker(too_long), pantry, sandbox)
    assert (episode.outcome.kind, episode.outcome.cause) == ("exhausted", "context")


@pytest.mark.parametrize("name", USING_TOOLS)
def test_a_context_that_overflows_after_a_right_call_is_exhausted(
    name: str, pantry: Environment, sandbox: Sandbox
) -> None:
    answered: list[Request] = []

    def soon_too_long(request: Request) -> Reply | str:
        answered.append(request)
        if len(answered) > 1:
            raise LLMError("context", "the request exceeds the context")
        return calling(request)

    episode = play(name, Talker(soon_too_long), pantry, sandbox)
    if episode.usage.calls > 1:
        assert (episode.outcome.kind, episode.outcome.cause) == ("exhausted", "context")


class Broken(Counting):
    """A pantry whose machinery fails, except while the demonstration is worked out."""

    @query_api
    def find_dish(self, name: str) -> list[str]:
        """Find dishes by a part of their name.

        Args:
            name: A part of the name.
        """
        if name == "pizza":
            return [name]
        raise EnvironmentFailure("the disk is gone")


@pytest.mark.parametrize("name", [n for n, w in WORKFLOWS.items() if w.uses_tools])
def test_an_environment_that_fails_is_a_tool_failure(name: str, sandbox: Sandbox) -> None:
    episode = play(name, Talker(calling), Broken(), sandbox)
    assert (episode.outcome.kind, episode.outcome.cause) == ("tool_failure", "environment")
    assert "the disk is gone" in episode.outcome.detail
    assert [step.error for step in episode.steps if step.kind == "call"] == ["environment"]


@pytest.mark.parametrize("name", ASKING)
def test_whatever_else_is_raised_becomes_the_episodes_outcome(name: str, pantry: Environment, sandbox: Sandbox) -> None:
    def crash(request: Request) -> str:
        raise ZeroDivisionError("by zero")

    assert play(name, Talker(crash), pantry, sandbox).outcome.kind in ("llm_failure", "tool_failure")
