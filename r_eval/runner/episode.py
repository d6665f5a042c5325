"""One episode: a workflow, an LLM and a session meet a question, and a record comes out, whatever happens."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import time

from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.llms import reasoning, tools
from r_eval.llms.answers import Answers, Memory, Spent, flaw
from r_eval.llms.base import LLM, LLMError, Reply, Request
from r_eval.records import SCHEMA, Episode, Outcome, Question, Seconds, Step, Tokens, Usage
from r_eval.runner.plan import PlannedCell
from r_eval.workflows.base import Asked, Demonstration, Ending, Limits, ended


class LimitReached(Exception):
    """A limit that holds for all workflows; `cause` names it."""

    def __init__(self, cause: str, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause


class EpisodeLLM:
    """An LLM as one episode sees it: records every reply, counts what is used, keeps the episode's limits.

    A reply from the run's journal or from the cache counts as what it was when it was made. Where the LLM takes no
    tools natively they are written into the prompt here, and calls are read out of the text, so that no workflow can
    tell.
    """

    def __init__(self, llm: LLM | None, limits: Limits, steps: list[Step], answers: Answers | None = None) -> None:
        self._llm, self._limits, self._steps = llm, limits, steps
        self._answers = answers or (Answers(llm, None, None, Spent()) if llm is not None else None)
        self.usage = Usage(cost=llm.cost(Tokens()) if llm is not None else None)
        self.seconds = Seconds()

    @property
    def kept_seconds(self) -> float:
        """Seconds of replies that were not made now."""
        return self._answers.kept_seconds if self._answers is not None else 0.0

    async def generate(self, request: Request, depth: int | None = None) -> Reply:
        """Answer a request; see `LLM.generate`.

        Raises:
            LLMError: There is no reply.
            LimitReached: The episode has used its tokens up.
        """
        llm, usage = self._llm, self.usage
        if llm is None or self._answers is None:
            raise LLMError("request", "this workflow was declared to need no LLM")
        used = usage.prompt_tokens + usage.completion_tokens
        if self._limits.tokens is not None and used >= self._limits.tokens:
            raise LimitReached("tokens", f"{used:,} of {self._limits.tokens:,} tokens are used")
        sent = tools.write(request) if request.tools and not llm.native_tools else request
        usage.calls += 1
        reply, seconds = await self._answered(self._answers, sent)
        self._count(reply)
        reply = reasoning.split(reply)
        self._steps.append(
            Step.model_construct(
                kind="thought",
                text=written(reply),
                error=flaw(reply),
                reasoning=reply.reasoning,
                seconds=seconds,
                tokens=reply.tokens,
                depth=depth,
            )
        )
        return tools.read(reply, request.tools) if request.tools else reply

    async def _answered(self, answers: Answers, request: Request) -> tuple[Reply, float]:
        """The reply and its seconds; what an attempt without a reply took is counted as well."""
        started = time.perf_counter()
        try:
            reply, seconds = await answers.answer(request)
        except BaseException as error:
            self.seconds.llm += time.perf_counter() - started
            self._count_waits(error)
            raise
        self.seconds.llm += seconds
        self._count_waits(reply)
        return reply, seconds

    def _count_waits(self, made: Reply | BaseException) -> None:
        """Add the retries and the waits of a reply; an error, or the cancellation at a deadline, may have some too."""
        self.usage.retries += getattr(made, "retries", 0)
        self.seconds.queue += getattr(made, "queue", 0.0)
        self.seconds.retry += getattr(made, "retry", 0.0)

    def note(self, text: str) -> None:
        """Record a message of the workflow's own."""
        self._steps.append(Step.model_construct(kind="observation", text=text))

    def _count(self, reply: Reply) -> None:
        usage = self.usage
        usage.prompt_tokens += reply.tokens.prompt
        usage.completion_tokens += reply.tokens.completion
        usage.cached_tokens += reply.tokens.cached
        usage.estimated = usage.estimated or reply.estimated
        cost = self._llm.cost(reply.tokens) if self._llm else None
        usage.cost = None if cost is None or usage.cost is None else usage.cost + cost


def written(reply: Reply) -> str:
    """A reply as one text, native calls in the notation of calls written as text."""
    return "\n".join(filter(None, [reply.text, *(tools.written(call) for call in reply.tool_calls)]))


def episode_id(cell: PlannedCell, question: Question, epoch: int) -> str:
    """The same in every run of the same grid."""
    key = "\0".join([*cell.cell, question.id, str(epoch)])
    return hashlib.blake2b(key.encode(), digest_size=8).hexdigest()


async def run_episode(
    cell: PlannedCell,
    question: Question,
    epoch: int,
    llm: LLM | None,
    limits: Limits,
    demonstrations: tuple[Demonstration, ...],
    sandbox: Sandbox,
    unavailable: LLMError | None = None,
    memory: Memory | None = None,
) -> Episode:
    """Carry out one episode; nothing but a cancellation gets out.

    Args:
        llm: None for a workflow that needs none.
        unavailable: Why the LLM could not be opened, if it could not: then that is the outcome.
        memory: Where replies are kept, and where they may come from.
    """
    steps: list[Step] = []
    session = Session(cell.planned.environment, sandbox, steps.append, limits.observation)
    key = episode_id(cell, question, epoch)
    memory = memory or Memory()
    answers = memory.of_episode(llm, key, cell.fingerprint, epoch) if llm is not None else None
    speaker = EpisodeLLM(llm, limits, steps, answers)
    asked = Asked(
        text=question.question,
        instruction=cell.planned.task.instruction,
        demonstrations=demonstrations,
        context=tuple(question.context),
        solution=question if cell.workflow.uses_gold else None,
    )
    started = time.perf_counter()
    try:
        if unavailable is not None:
            raise unavailable
        async with asyncio.timeout(limits.seconds):
            ending = await cell.workflow.run(asked, session, speaker, limits)
    except Exception as error:  # noqa: BLE001  whatever a plug-in raises becomes the episode's outcome
        ending = _failed(error, limits)
    finally:
        session.close()
    total = time.perf_counter() - started + speaker.kept_seconds
    if cell.workflow.uses_tools:
        ending = _judged(ending, steps)
    unparsed = None if ending.answer else "unparsed"
    steps.append(Step.model_construct(kind="answer", text=ending.answer, observation=ending.how, error=unparsed))
    seconds = speaker.seconds.model_copy(update={"total": total, "environment": session.seconds})
    return _record(cell, question, epoch, ending, steps, speaker, seconds)


def _failed(error: Exception, limits: Limits) -> Ending:
    """How an exception ends an episode."""
    if isinstance(error, LLMError):
        if error.cause == "context":
            return ended("exhausted", "context", str(error))
        return ended("llm_failure", error.cause, str(error))
    if isinstance(error, LimitReached):
        return ended("exhausted", error.cause, str(error))
    if isinstance(error, TimeoutError):
        return ended("exhausted", "seconds", f"more than {limits.seconds:g} s")
    if isinstance(error, EnvironmentFailure):
        return ended("tool_failure", "environment", str(error))
    return ended("tool_failure", "workflow", f"{type(error).__name__}: {error}")


def _judged(ending: Ending, steps: list[Step]) -> Ending:
    """Limits reached without one call that was right are a misuse of the tools, unless the LLM never had its say."""
    right = any(s.kind == "call" and s.error is None for s in steps)
    if ending.outcome.kind != "exhausted" or right or not any(s.kind == "thought" for s in steps):
        return ending
    outcome = ending.outcome
    detail = f"no call succeeded; {outcome.detail}"
    return dataclasses.replace(ending, outcome=Outcome(kind="tool_misuse", cause=outcome.cause, detail=detail))


def _record(
    cell: PlannedCell,
    question: Question,
    epoch: int,
    ending: Ending,
    steps: list[Step],
    llm: EpisodeLLM,
    seconds: Seconds,
) -> Episode:
    task = cell.planned.task
    return Episode.model_construct(
        schema_=SCHEMA,
        episode_id=episode_id(cell, question, epoch),
        question_id=question.id,
        task=task.name,
        domain=task.domain,
        level=question.level,
        workflow=cell.cell.workflow,
        llm=cell.cell.llm,
        condition=cell.cell.condition,
        epoch=epoch,
        question=question.question,
        golds=question.answers,
        evidence=question.evidence,
        answer=ending.answer,
        outcome=ending.outcome,
        steps=steps,
        usage=llm.usage,
        seconds=seconds,
        fingerprint=cell.fingerprint,
    )
