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
from r_eval.llms.base import LLM, LLMError
from r_eval.llms.replay import ReplyStores
from r_eval.records import SCHEMA, Episode, Outcome, Question, Seconds, Step, Usage
from r_eval.runner.clock import Clock
from r_eval.runner.episode_llm import EpisodeLLM
from r_eval.runner.plan import PlannedCell
from r_eval.seeds import Seeds
from r_eval.workflows.base import Asked, Demonstration, Ending, LimitReached, Limits, Workflow, ended
from r_eval.workflows.last_chance import last_chance


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
    replies: ReplyStores | None = None,
    seed: int = 0,
) -> Episode:
    """Carry out one episode; whatever goes wrong in it stands in its record.

    Args:
        llm: None for a workflow that needs none.
        unavailable: Why the LLM could not be opened, if it could not: then that is the outcome.
        replies: Where replies are kept, and where they may come from.
        seed: The run's.

    Raises:
        Unwritable: A file of the run could not be written.
        Cancelled: Whoever waits for the episode was cancelled.
    """
    steps: list[Step] = []
    seeds = Seeds(seed, question.id, epoch)
    question, environment, unable = _under(cell, question, seeds)
    session = Session(environment, sandbox, steps.append, limits.observation)
    key = episode_id(cell, question, epoch)
    replies = replies or ReplyStores()
    of_episode = replies.of_episode(llm, key, cell.fingerprint, epoch) if llm is not None else None
    keeps_room = limits.last_chance and cell.workflow.last_chance
    clock = Clock(limits.seconds, lambda: session.seconds)
    speaker = EpisodeLLM(llm, limits, steps, of_episode, keeps_room, seeds, clock)
    asked = _asked(cell, question, demonstrations)
    started, cancelled = time.perf_counter(), False
    try:
        if unavailable is not None:
            raise unavailable
        if unable is not None:
            raise unable
        async with clock.running():
            ending = await _led(cell.workflow, asked, session, speaker, limits)
    except Unwritable:
        raise
    except Exception as error:  # noqa: BLE001  whatever a plug-in raises becomes the episode's outcome
        ending = _failed(error, limits, clock.expired)
    except asyncio.CancelledError:
        ending, cancelled = ended("cancelled", "stopped", "the run was stopped while this was under way"), True
    finally:
        session.close()
    total = time.perf_counter() - started + (of_episode.replayed_seconds if of_episode is not None else 0.0)
    if cell.workflow.uses_tools:
        ending = _judged(ending, steps)
    unparsed = None if ending.answer else "unparsed"
    steps.append(Step.model_construct(kind="answer", text=ending.answer, observation=ending.how, error=unparsed))
    seconds = _seconds(total, speaker, session)
    episode = _record(cell, question, epoch, key, ending, steps, speaker.totals.usage(), seconds)
    if cancelled:
        raise Cancelled(episode)
    return episode


def _seconds(total: float, speaker: EpisodeLLM, session: Session) -> Seconds:
    """Where the time of an episode went."""
    used = speaker.totals
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


def _failed(error: Exception, limits: Limits, expired: bool) -> Ending:
    """How an exception ends an episode."""
    if isinstance(error, LLMError):
        return ended(error.outcome, error.cause, str(error))
    if isinstance(error, LimitReached):
        return ended("exhausted", error.cause, str(error))
    if isinstance(error, TimeoutError) and expired:
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
