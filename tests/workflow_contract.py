"""What every workflow must do whatever an LLM answers, and a small domain and an LLM to play its episodes with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import pytest

from r_eval.environments.base import Environment, EnvironmentFailure, NotFound, query_api
from r_eval.environments.sandbox import ProgramLimits, Sandbox
from r_eval.folder import Cell
from r_eval.llms.base import LLM, LLMError, Reply, Request, ToolCall
from r_eval.records import INFRASTRUCTURE_FAILURES, Document, Episode, Question, Tokens
from r_eval.runner.demonstrations import work_out
from r_eval.runner.episode import Resources, run_episode
from r_eval.runner.plan import PlannedCell, PlannedTask
from r_eval.runner.store import recordable
from r_eval.tasks.base import Task
from r_eval.text import clean
from r_eval.workflows.base import Limits, Workflow
from tests.timing import quickest


class Pantry(Environment):
    """Dishes and what is in them."""

    DISHES = {"pizza": ["flour", "tomato", "cheese"], "omelette": ["egg", "butter"]}

    def __init__(self) -> None:
        self.requests: list[str] = []

    def look(self, text: str) -> None:
        """Keep what was asked for, in all sessions."""
        self.requests.append(text)

    @query_api
    def find_dish(self, name: str, limit: int = 5) -> list[str]:
        """Find dishes by a part of their name.

        Args:
            name: A part of the name.
            limit: At most so many.
        """
        self.look(name)
        return [dish for dish in self.DISHES if name.lower() in dish][:limit]

    @query_api
    def ingredients(self, dish: str) -> list[str]:
        """List what is in a dish.

        Args:
            dish: The dish's exact name.
        """
        self.look(dish)
        if dish not in self.DISHES:
            raise NotFound(f"There is no dish {dish}. Known: {', '.join(self.DISHES)}")
        return self.DISHES[dish]


class Talker(LLM):
    """Says what a function answers; keeps every request.

    Args:
        native: Whether it takes tools natively.
        delay: Seconds before each reply.
    """

    def __init__(self, speak: Callable[[Request], Reply | str], native: bool = True, delay: float = 0.0) -> None:
        super().__init__("talker", "talker", {})
        self.speak, self.native_tools, self.delay = speak, native, delay
        self.requests: list[Request] = []

    async def generate(self, request: Request) -> Reply:
        self.requests.append(request)
        if self.delay:
            await asyncio.sleep(self.delay)
        reply = self.speak(request)
        return reply if isinstance(reply, Reply) else Reply(reply, tokens=Tokens(prompt=10, completion=5))


GOLD = "Qwyxanthium"
"""Stands nowhere but in the gold."""
QUESTION = Question(
    id="asked",
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
    id="example",
    question="What is in a pizza?",
    answers=["flour; tomato; cheese"],
    level="KS",
    program="dish = find_dish(name='pizza')[0]\nanswer = ingredients(dish=dish)",
)


async def play_episode(
    workflow: Workflow,
    llm: LLM,
    environment: Environment,
    limits: Limits,
    sandbox: Sandbox,
    question: Question = QUESTION,
    shown: Sequence[Question] = (DEMONSTRATION,),
) -> Episode:
    """One episode of a workflow over an environment such as the `Pantry`, with demonstrations."""
    task = Task("pantry/test", "pantry", (question,), tuple(shown), instruction="Answer in one word.")
    planned = PlannedTask(task, environment, task.questions, task.demonstrations)
    cell = PlannedCell(Cell("tested", "talker", "clean", task.name), workflow, planned, {})
    examples = await work_out(planned.demonstrations, environment, sandbox, limits.observation)
    return await run_episode(cell, question, 0, llm, Resources(limits, sandbox, {task.name: examples}))


def played(workflow: Workflow, llm: LLM, environment: Environment, limits: Limits) -> Episode:
    """One episode, in a sandbox of its own."""
    with Sandbox(1, ProgramLimits(seconds=0.5)) as sandbox:
        return asyncio.run(play_episode(workflow, llm, environment, limits, sandbox))


def in_every_notation(request: Request) -> Reply | str:
    """The same right call, in every notation at once; natively where tools are offered."""
    text = 'I look.\nAction 1: find_dish(name="o")\n```python\nwhile True:\n    find_dish(name="o")\n```'
    if not request.tools:
        return f'{text}\n<tool_call>{{"name": "find_dish", "arguments": {{"name": "o"}}}}</tool_call>'
    call = ToolCall("a", "find_dish", {"name": "o"})
    return Reply("I look.", (call,), "tool_calls", Tokens(prompt=10, completion=5))


def _repeat_prompt(request: Request) -> str:
    return "\n".join(f"{message.role}: {message.content}" for message in request.messages)[:LONG]


LONG = 100_000
REPLIES: dict[str, Callable[[Request], Reply | str] | str] = {
    "nothing": " \n\t ",
    "noise": "#@! ¿ \0 \x1b[2J )]}>'\" ```` \\ $name %s {0} 〈〉",
    "half a pair": 'Action: find_dish(name="\\ud800") \ud800 Finish["\\ud800"]',
    "the prompt": _repeat_prompt,
    "one call for ever": in_every_notation,
    "an unknown call": 'Action: look(at="x")\n<tool_call>{"name": "look", "arguments": {}}</tool_call>',
    "a wrong call": 'Action: find_dish(x="y")\n<tool_call>{"name": "find_dish"}</tool_call>',
    "an unreadable call": "Action: \n<tool_call>find the dish</tool_call>",
    "an empty Finish": 'Action: Finish[]\n<tool_call>{"name": "Finish", "arguments": {}}</tool_call>',
    "long text": "word " * (LONG // 5),
    "an action of brackets": "Action 1: find_dish(" + "[" * LONG,
    "a program of brackets": "```python\nanswer = " + "(" * LONG + "\n```",
    "deep arguments": '{"name": "find_dish", "arguments": {"name": ' + "[" * 400 + "]" * 400 + "}}",
    "fences": "```python\n" * (LONG // 10),
    "actions": "Action: " * (LONG // 8),
    "observations": "\nObservation 1: x" * (LONG // 17),
}
"""Replies that no workflow may fall over, or think about for long."""
FAILURES = {"connection": "llm_failure", "key": "llm_failure", "context": "exhausted"}
"""Causes of an LLM's errors, and the outcomes of their episodes."""


class WorkflowContract:
    """What every workflow must do, whatever an LLM answers. Subclass it under a name that begins with `Test`."""

    def workflow(self) -> Workflow:
        """The workflow under test, made anew."""
        raise NotImplementedError(f"{type(self).__name__} needs a method `workflow`")

    def speak(self, request: Request) -> Reply | str:
        """A reply with a right call; override it for a workflow that reads a notation of its own."""
        return in_every_notation(request)

    def test_its_settings_make_it_anew(self) -> None:
        workflow = self.workflow()
        again = type(workflow)(**workflow.settings())
        assert again.identity() == workflow.identity(), "another workflow: it would not go on with its own run"

    def test_it_ends_within_every_limit(self) -> None:
        limits = {Limits(steps=1, calls=200): 200, Limits(tokens=1): 1, Limits(calls=2): 2, Limits(seconds=0.3): 1}
        for limit, most in limits.items():
            llm = Talker(self.speak, delay=0.4 if limit.seconds < 1 else 0.0)
            outcome = self._played(llm, limit).outcome
            assert len(llm.requests) <= most, f"LimitReached must get out of `run`: {limit}"
            assert outcome.kind not in INFRASTRUCTURE_FAILURES, f"{limit}: {outcome}"

    def test_everything_is_recorded_and_read_back(self) -> None:
        for native in (True, False):
            pantry, llm = Pantry(), Talker(self.speak, native)
            episode = self._played(llm, environment=pantry)
            kinds = [step.kind for step in episode.steps]
            assert kinds.count("thought") == len(llm.requests) == episode.usage.calls, "replies are missing"
            calls = [step for step in episode.steps if step.kind == "call" and step.error is None]
            assert len(calls) == len(pantry.requests) - 2, "some calls do not go through the session"
            assert kinds.index("answer") == len(kinds) - 1, "the answer is not the last step"
            assert episode.steps[-1].text == episode.answer
            assert Episode.model_validate_json(recordable(episode)[1]).answer == clean(episode.answer)

    def test_the_same_replies_give_the_same_steps(self) -> None:
        one, two = ([step.model_dump(exclude={"seconds"}) for step in self._played().steps] for _ in range(2))
        assert one == two

    def test_the_llm_is_shown_the_task_and_nothing_of_the_gold(self) -> None:
        for speak in (self.speak, _repeat_prompt):
            llm = Talker(speak)
            episode = self._played(llm)
            needed = (QUESTION.question, "Answer in one word.", DEMONSTRATION.question)
            is_complete = any(all(text in str(request) for text in needed) for request in llm.requests)
            assert is_complete, "question, instruction and demonstrations are for every workflow"
            if not self.workflow().uses_gold:
                assert GOLD not in str(llm.requests) + str(episode.steps) + episode.answer

    @pytest.mark.parametrize("native", [True, False], ids=["native", "prompted"])
    @pytest.mark.parametrize("answer", REPLIES)
    def test_it_survives_whatever_an_llm_answers(self, answer: str, native: bool) -> None:
        reply, episodes = REPLIES[answer], list[Episode]()

        def playing() -> None:
            llm = Talker(reply if callable(reply) else lambda request: reply, native)
            episodes.append(self._played(llm, Limits(steps=10, calls=60, seconds=60.0)))

        def clock() -> float:  # each call of the LLM may take a tenth of a second
            return time.process_time() - 0.1 * sum(episode.usage.calls for episode in episodes)

        assert quickest(playing, enough=2.0, clock=clock) < 2.0
        episode = episodes[-1]
        assert episode.outcome.kind in ("finished", "gave_up", "exhausted", "tool_misuse"), episode.outcome
        assert Episode.model_validate_json(episode.model_dump_json()).answer == episode.answer

    @pytest.mark.parametrize("cause", FAILURES)
    def test_an_error_of_the_llm_is_the_outcome(self, cause: str) -> None:
        def fail(request: Request) -> str:
            error = LLMError(cause, "it went wrong")
            error.retries = 3
            raise error

        episode = self._played(Talker(fail))
        outcome = episode.outcome
        assert (outcome.kind, outcome.cause, episode.usage.retries) == (FAILURES[cause], cause, 3), "a lost LLMError"
        assert "it went wrong" in outcome.detail

    def test_a_failure_of_the_environment_gets_out(self) -> None:
        class Broken(Pantry):
            def look(self, text: str) -> None:
                super().look(text)
                if len(self.requests) > 2:  # the demonstration's calls
                    raise EnvironmentFailure("the disk is gone")

        broken = Broken()
        episode = self._played(environment=broken)
        if len(broken.requests) > 2:
            assert episode.outcome.kind == "tool_failure", "EnvironmentFailure must get out of `run`"

    def _played(
        self, llm: Talker | None = None, limits: Limits | None = None, environment: Environment | None = None
    ) -> Episode:
        return played(self.workflow(), llm or Talker(self.speak), environment or Pantry(), limits or Limits(calls=12))
