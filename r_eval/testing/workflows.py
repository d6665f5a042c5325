"""What every workflow must do, whatever an LLM answers, as tests that pytest runs over yours.

    from r_eval.testing.workflows import WorkflowContract

    class TestReflect(WorkflowContract):
        def workflow(self):
            return Reflect()

Real episodes are carried out over a small environment, with an LLM that a function speaks for. What differs for your
workflow on purpose, say by overriding its test.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.sandbox import ProgramLimits, Sandbox
from r_eval.folder import Cell
from r_eval.llms.base import LLMError, Request
from r_eval.records import INFRASTRUCTURE_FAILURES, Document, Episode, Question
from r_eval.runner.demonstrations import work_out
from r_eval.runner.episode import run_episode
from r_eval.runner.plan import PlannedCell, PlannedTask
from r_eval.tasks.base import Task
from r_eval.testing.speaking import REPLIES, Pantry, Said, Talker, every_notation, repeat
from r_eval.workflows.base import Limits, Workflow

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
    id="shown",
    question="What is in a pizza?",
    answers=["flour; tomato; cheese"],
    level="KS",
    program="dish = find_dish(name='pizza')[0]\nanswer = ingredients(dish=dish)",
)
FEW = Limits(seconds=60.0, calls=12)
CAUSES = ("connection", "timeout", "rate_limit", "server", "request", "key", "reply")


class WorkflowContract:
    """Subclass it in a test file, under a name that begins with `Test`."""

    def workflow(self) -> Workflow:
        """The workflow under test, made anew."""
        raise NotImplementedError(f"{type(self).__name__} needs a method `workflow`")

    def speak(self, request: Request) -> Said:
        """A reply with a right call; override it for a workflow that reads a notation of its own."""
        return every_notation(request)

    # What it says of itself

    def test_what_decides_its_behaviour_is_plain_data_and_always_the_same(self) -> None:
        one, two = (json.dumps(self.workflow().identity(), sort_keys=True) for _ in range(2))
        assert one == two, "two workflows with the same settings would not go on with each other's run"

    def test_it_can_be_made_anew_from_its_settings(self) -> None:
        workflow = self.workflow()
        again = type(workflow)(**workflow.settings())
        assert again.identity() == workflow.identity(), "a setting is not kept under its name"

    # Limits

    def test_it_ends_where_one_step_is_allowed(self) -> None:
        episode = self._played(limits=Limits(steps=1, calls=200))
        assert episode.outcome.kind not in INFRASTRUCTURE_FAILURES, episode.outcome

    def test_it_asks_no_more_once_the_tokens_are_used_up(self) -> None:
        llm = self._asked()
        episode = self._played(llm, Limits(tokens=1))
        assert len(llm.requests) == 1, f"{len(llm.requests)} calls, though the first took all tokens"
        assert episode.outcome.kind not in INFRASTRUCTURE_FAILURES, "LimitReached must get out of `run`"

    def test_it_makes_no_more_llm_calls_than_allowed(self) -> None:
        llm = self._asked()
        episode = self._played(llm, Limits(calls=2))
        assert len(llm.requests) <= 2
        assert episode.outcome.kind not in INFRASTRUCTURE_FAILURES, "LimitReached must get out of `run`"

    def test_it_ends_when_its_time_is_over(self) -> None:
        llm = self._asked(delay=0.4)
        episode = self._played(llm, Limits(seconds=0.3))
        assert len(llm.requests) == 1, "LimitReached must get out of `run`"
        assert episode.outcome.kind in ("exhausted", "tool_misuse")
        assert episode.outcome.cause == "seconds"

    # The record

    def test_every_reply_of_the_llm_is_recorded(self) -> None:
        for native in (True, False):
            llm = self._asked(native=native)
            episode = self._played(llm)
            thoughts = [step for step in episode.steps if step.kind == "thought"]
            assert len(thoughts) == len(llm.requests) == episode.usage.calls

    def test_every_call_is_recorded_and_no_other_way_leads_to_the_environment(self) -> None:
        pantry = Pantry()
        episode = self._played(environment=pantry)
        calls = [step for step in episode.steps if step.kind == "call" and step.error is None]
        of_the_demonstration = 2
        assert len(calls) == len(pantry.asked) - of_the_demonstration, "some calls do not go through the session"

    def test_the_last_step_is_the_answer(self) -> None:
        episode = self._played()
        assert [step.kind for step in episode.steps].index("answer") == len(episode.steps) - 1
        assert episode.steps[-1].text == episode.answer
        assert (episode.steps[-1].error == "unparsed") == (episode.answer == "")

    def test_the_record_is_read_back_as_it_was_written(self) -> None:
        episode = self._played()
        assert isinstance(episode.answer, str), f"the answer must be a text, not {episode.answer!r}"
        assert plain(Episode.model_validate_json(json.dumps(plain(episode)))) == plain(episode)

    def test_the_same_replies_give_the_same_steps(self) -> None:
        for native in (True, False):
            one, two = (self._played(self._asked(native=native)) for _ in range(2))
            assert without_times(plain(one)) == without_times(plain(two))

    # What the LLM sees

    def test_nothing_of_the_gold_reaches_the_llm_or_the_record(self) -> None:
        self._skip(self.workflow().uses_gold, "a bound, which is given the gold")
        for speak in (self.speak, repeat, lambda request: ""):
            for native in (True, False):
                llm = Talker(speak, native)
                episode = self._played(llm, FEW)
                steps = json.dumps([step.model_dump() for step in episode.steps])
                assert GOLD not in written(llm.requests)
                assert GOLD not in steps + episode.answer + episode.outcome.detail

    def test_question_instruction_and_demonstrations_reach_the_llm(self) -> None:
        llm = self._asked()
        self._played(llm)
        first = written(llm.requests[:1])
        assert QUESTION.question in first
        assert "Answer in one word." in first, "Asked.instruction is how the task wants its answers"
        assert DEMONSTRATION.question in first, "every workflow is shown the same demonstrations"

    def test_every_query_api_is_offered(self) -> None:
        self._skip(not self.workflow().uses_tools, "a workflow without tools")
        llm = self._asked()
        self._played(llm)
        assert all(api in written(llm.requests[:1]) for api in ("find_dish", "ingredients"))

    # Whatever happens

    def test_it_survives_whatever_an_llm_answers(self) -> None:
        self._skip_without_llm()
        failed = []
        for answer, speak in REPLIES.items():
            for native in (True, False):
                episode = self._played(Talker(speak, native), FEW)
                plain(Episode.model_validate_json(json.dumps(plain(episode))))
                if episode.outcome.kind in INFRASTRUCTURE_FAILURES:
                    failed.append((answer, episode.outcome.detail))
        assert failed == []

    def test_an_llm_that_fails_is_an_llm_failure(self) -> None:
        for cause in CAUSES:
            episode = self._played(self._failing(cause))
            assert (episode.outcome.kind, episode.outcome.cause) == ("llm_failure", cause), "LLMError must get out"

    def test_a_request_that_is_too_long_is_the_systems_own_end(self) -> None:
        episode = self._played(self._failing("context"))
        assert (episode.outcome.kind, episode.outcome.cause) == ("exhausted", "context")

    def test_an_environment_that_fails_is_a_tool_failure(self) -> None:
        class Broken(Pantry):
            def look(self, text: str) -> None:
                super().look(text)
                if len(self.asked) > 2:  # the demonstration's
                    raise EnvironmentFailure("the disk is gone")

        broken = Broken()
        episode = self._played(environment=broken)
        self._skip(len(broken.asked) <= 2, "it made no call")
        assert (episode.outcome.kind, episode.outcome.cause) == ("tool_failure", "environment"), (
            "EnvironmentFailure must get out of `run`"
        )

    # How

    def _asked(self, native: bool = True, delay: float = 0.0) -> Talker:
        self._skip_without_llm()
        return Talker(self.speak, native, delay)

    def _failing(self, cause: str) -> Talker:
        def fail(request: Request) -> str:
            raise LLMError(cause, "it went wrong")

        self._skip_without_llm()
        return Talker(fail)

    def _skip_without_llm(self) -> None:
        self._skip(not self.workflow().uses_llm, "a workflow without an LLM")

    def _skip(self, skipped: bool, why: str) -> None:
        import pytest

        if skipped:
            pytest.skip(why)

    def _played(
        self, llm: Talker | None = None, limits: Limits | None = None, environment: Environment | None = None
    ) -> Episode:
        """One episode with one demonstration."""
        return played(self.workflow(), llm or Talker(self.speak), environment or Pantry(), limits or Limits())


def played(workflow: Workflow, llm: Talker, environment: Environment, limits: Limits) -> Episode:
    """One episode of a workflow over an environment, with one demonstration."""
    task = Task("pantry/test", "pantry", (QUESTION,), (DEMONSTRATION,), instruction="Answer in one word.")
    planned = PlannedTask(task, environment, task.questions, task.demonstrations)
    cell = PlannedCell(Cell("tested", "talker", "clean", task.name), workflow, planned, {})

    async def main() -> Episode:
        with Sandbox(workers=1, limits=ProgramLimits(seconds=0.5)) as sandbox:
            shown = await work_out(planned.shown, environment, sandbox, limits.observation)
            return await run_episode(cell, QUESTION, 0, llm, limits, shown, sandbox)

    return asyncio.run(main())


def written(requests: Iterable[Request]) -> str:
    """Everything that an LLM is told in some requests."""
    return "\n".join(f"{request.messages} {request.tools} {request.stop}" for request in requests)


def plain(episode: Episode) -> dict[str, Any]:
    """A record as it stands in a file."""
    text = json.dumps(episode.model_dump(mode="json"), ensure_ascii=False).encode("utf-8", "replace")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def without_times(value: Any) -> Any:
    """A record without what differs from one time to the next."""
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key != "seconds"}
    if isinstance(value, list):
        return [without_times(inner) for inner in value]
    return value
