"""One episode: a workflow, an LLM and a session meet a question, and a record comes out, whatever happens."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import time

from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import Unwritable
from r_eval.llms import reasoning, tools
from r_eval.llms.answers import Answers, Memory, Spent, flaw
from r_eval.llms.base import LLM, LLMError, Reply, Request
from r_eval.records import SCHEMA, Episode, Outcome, Question, Seconds, Step, Tokens, Usage
from r_eval.runner.plan import PlannedCell
from r_eval.runner.shortening import Shortener
from r_eval.seeds import Seeds
from r_eval.workflows.base import Asked, Demonstration, Ending, LimitReached, Limits, Workflow, ended
from r_eval.workflows.last_chance import last_chance


@dataclasses.dataclass(slots=True)
class Used:
    """What an episode has used of its LLM, as it is counted: `Usage`, and the LLM's part of `Seconds`."""

    cost: float | None = None
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    retries: int = 0
    estimated: bool = False
    seconds: float = 0.0
    queue: float = 0.0
    retry: float = 0.0

    def usage(self) -> Usage:
        return Usage.model_construct(
            calls=self.calls,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cached_tokens=self.cached_tokens,
            retries=self.retries,
            estimated=self.estimated,
            cost=self.cost,
        )


class EpisodeLLM:
    """An LLM as one episode sees it: records every reply, counts what is used, keeps the episode's limits.

    A reply from the run's journal or from the cache counts as what it was when it was made. Where the LLM takes no
    tools natively they are written into the prompt here, and calls are read out of the text, so that no workflow can
    tell. A request that is longer than the LLM can read is sent again with its oldest observations shortened; it is
    counted as one call.

    Attributes:
        keeps_room: Whether the limits are met early enough for one more call, a last chance, to be within them.
    """

    def __init__(
        self,
        llm: LLM | None,
        limits: Limits,
        steps: list[Step],
        answers: Answers | None = None,
        keeps_room: bool = False,
        seeds: Seeds | None = None,
    ) -> None:
        self._llm, self._limits, self._steps = llm, limits, steps
        self._answers = answers or (Answers(llm, None, None, Spent()) if llm is not None else None)
        self._shortener = Shortener(steps)
        self._latest = 0
        self._seeds = seeds if llm is not None and llm.temperature > 0 else None
        self.keeps_room = keeps_room
        self.used = Used(cost=llm.cost(Tokens()) if llm is not None else None)

    @property
    def kept_seconds(self) -> float:
        """Seconds of replies that were not made now."""
        return self._answers.kept_seconds if self._answers is not None else 0.0

    async def generate(self, request: Request, depth: int | None = None) -> Reply:
        """Answer a request; see `LLM.generate`.

        Raises:
            LLMError: There is no reply.
            LimitReached: The episode has used its tokens or its calls up.
        """
        llm = self._llm
        if llm is None or self._answers is None:
            raise LLMError("request", "this workflow was declared to need no LLM")
        self._check(request)
        self.used.calls += 1
        if self._seeds is not None:
            request = dataclasses.replace(request, seed=self._seeds.of(f"reply {self.used.calls}"))
        reply, seconds = await self._fitting(self._answers, request, llm.native_tools)
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
        if reply.finish == "content_filter":
            raise LLMError("content_filter", f"{llm.name}: the provider's content filter blocked the reply")
        return tools.read(reply, request.tools) if request.tools else reply

    def _check(self, request: Request) -> None:
        """See that the limits allow another call."""
        limits, calls = self._limits, self.used.calls
        used = self.used.prompt_tokens + self.used.completion_tokens
        room = self.keeps_room and calls > 0
        if limits.tokens is not None and used + room * self._latest >= limits.tokens:
            raise LimitReached("tokens", f"{used:,} of {limits.tokens:,} tokens are used", request.messages)
        if limits.calls is not None and calls + room >= limits.calls:
            raise LimitReached("calls", f"{calls:,} of {limits.calls:,} LLM calls are used", request.messages)

    async def _fitting(self, answers: Answers, request: Request, native_tools: bool) -> tuple[Reply, float]:
        """The reply to a request, its oldest observations shortened as far as the LLM's context demands."""
        while True:
            sent = dataclasses.replace(request, messages=self._shortener.shortened(request.messages))
            sent = tools.write(sent) if sent.tools and not native_tools else sent
            try:
                return await self._answered(answers, sent)
            except LLMError as error:
                count = self._shortener.more(request.messages) if error.cause == "context" else 0
                if not count:
                    raise
                self.note(f"The context overflowed: the oldest observations, {count} by now, are sent shortened.")

    async def _answered(self, answers: Answers, request: Request) -> tuple[Reply, float]:
        """The reply and its seconds; what an attempt without a reply took is counted as well."""
        started = time.perf_counter()
        try:
            reply, seconds = await answers.answer(request)
        except BaseException as error:
            self.used.seconds += time.perf_counter() - started
            self._count_waits(error)
            raise
        self.used.seconds += seconds
        self._count_waits(reply)
        return reply, seconds

    def _count_waits(self, made: Reply | BaseException) -> None:
        """Add the retries and the waits of a reply; an error, or the cancellation at a deadline, may have some too."""
        self.used.retries += getattr(made, "retries", 0)
        self.used.queue += getattr(made, "queue", 0.0)
        self.used.retry += getattr(made, "retry", 0.0)

    def note(self, text: str) -> None:
        """Record a message of the workflow's own."""
        self._steps.append(Step.model_construct(kind="observation", text=text))

    def fault(self, error: str) -> None:
        """Record what the workflow found wrong with the latest reply."""
        latest = next((step for step in reversed(self._steps) if step.kind == "thought"), None)
        if latest is not None:
            latest.error = error

    def _count(self, reply: Reply) -> None:
        usage = self.used
        self._latest = reply.tokens.prompt + reply.tokens.completion
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


class Cancelled(asyncio.CancelledError):
    """An episode was cancelled; its record says how far it had come."""

    def __init__(self, episode: Episode) -> None:
        super().__init__()
        self.episode = episode


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
    seed: int = 0,
) -> Episode:
    """Carry out one episode; whatever goes wrong in it stands in its record.

    Args:
        llm: None for a workflow that needs none.
        unavailable: Why the LLM could not be opened, if it could not: then that is the outcome.
        memory: Where replies are kept, and where they may come from.
        seed: The run's.

    Raises:
        Unwritable: The journal or the cache could not be written.
        Cancelled: Whoever waits for the episode was cancelled.
    """
    steps: list[Step] = []
    seeds = Seeds(seed, question.id, epoch)
    question, environment, unable = _under(cell, question, seeds)
    session = Session(environment, sandbox, steps.append, limits.observation)
    key = episode_id(cell, question, epoch)
    memory = memory or Memory()
    answers = memory.of_episode(llm, key, cell.fingerprint, epoch) if llm is not None else None
    keeps_room = limits.last_chance and cell.workflow.last_chance
    speaker = EpisodeLLM(llm, limits, steps, answers, keeps_room, seeds)
    asked = _asked(cell, question, demonstrations)
    started, cancelled = time.perf_counter(), False
    try:
        if unavailable is not None:
            raise unavailable
        if unable is not None:
            raise unable
        async with asyncio.timeout(limits.seconds):
            ending = await _led(cell.workflow, asked, session, speaker, limits)
    except Unwritable:
        raise
    except Exception as error:  # noqa: BLE001  whatever a plug-in raises becomes the episode's outcome
        ending = _failed(error, limits)
    except asyncio.CancelledError:
        ending, cancelled = ended("cancelled", "stopped", "the run was stopped while this was under way"), True
    finally:
        session.close()
    total = time.perf_counter() - started + speaker.kept_seconds
    if cell.workflow.uses_tools:
        ending = _judged(ending, steps)
    unparsed = None if ending.answer else "unparsed"
    steps.append(Step.model_construct(kind="answer", text=ending.answer, observation=ending.how, error=unparsed))
    seconds = _seconds(total, speaker, session)
    episode = _record(cell, question, epoch, key, ending, steps, speaker.used.usage(), seconds)
    if cancelled:
        raise Cancelled(episode)
    return episode


def _seconds(total: float, speaker: EpisodeLLM, session: Session) -> Seconds:
    """Where the time of an episode went."""
    used = speaker.used
    return Seconds.model_construct(
        total=total, llm=used.seconds, environment=session.seconds, queue=used.queue, retry=used.retry
    )


def _asked(cell: PlannedCell, question: Question, demonstrations: tuple[Demonstration, ...]) -> Asked:
    """What the workflow is told of a question."""
    task = cell.planned.task
    return Asked(
        text=question.question,
        instruction=task.instruction,
        demonstrations=demonstrations,
        context=tuple(question.context),
        query=question.query,
        long=task.long,
        solution=question if cell.workflow.uses_gold else None,
    )


def _under(
    cell: PlannedCell, question: Question, seeds: Seeds
) -> tuple[Question, Environment, EnvironmentFailure | None]:
    """The question and the environment as the cell's condition has them, or why it could not make them."""
    given = cell.planned.given.get(question.id, question)
    question = cell.planned.by_id.get(question.id, question)
    bare = cell.planned.environment
    try:
        bare = bare.for_question(given)  # what a condition replaces in it is as the task has it
    except Exception as error:  # noqa: BLE001  environments may be anybody's
        return question, bare, EnvironmentFailure(f"the environment failed: {type(error).__name__}: {error}")
    try:
        return question, cell.condition.environment(bare, question, seeds), None
    except Exception as error:  # noqa: BLE001  conditions may be anybody's
        said = f"the condition {cell.condition.name} failed: {type(error).__name__}: {error}"
        return question, bare, EnvironmentFailure(said)


async def _led(workflow: Workflow, asked: Asked, session: Session, llm: EpisodeLLM, limits: Limits) -> Ending:
    """How a workflow ends, a last chance included."""
    try:
        return await workflow.run(asked, session, llm, limits)
    except LimitReached as reached:
        if not (llm.keeps_room and reached.messages):
            raise
        llm.keeps_room = False
        try:
            return await last_chance(reached, type(workflow), session.specs, asked.instruction, llm)
        except LimitReached:
            raise reached from None


def _failed(error: Exception, limits: Limits) -> Ending:
    """How an exception ends an episode."""
    if isinstance(error, LLMError):
        if error.cause == "context":
            return ended("exhausted", "context", str(error))
        if error.cause == "content_filter":
            return ended("gave_up", "content_filter", str(error))
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
    key: str,
    ending: Ending,
    steps: list[Step],
    usage: Usage,
    seconds: Seconds,
) -> Episode:
    task = cell.planned.task
    return Episode.model_construct(
        schema_=SCHEMA,
        episode_id=key,
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
        usage=usage,
        seconds=seconds,
        fingerprint=cell.fingerprint,
    )
