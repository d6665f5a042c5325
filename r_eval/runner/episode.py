"""One episode: a workflow, an LLM and a session meet a question, and a record comes out, whatever happens.

The episodes of an LLM are carried out by its pool, in this process or elsewhere (`ray`).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import hashlib
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from r_eval.environments.base import EnvironmentFailure, threads
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import Unwritable, UserError
from r_eval.isolation import contained, describe, traceback_of
from r_eval.llms.base import LLM, LLMError
from r_eval.llms.replay import ReplyStores
from r_eval.records import SCHEMA, Episode, Outcome, Question, Step
from r_eval.runner.clock import Clock
from r_eval.runner.episode_llm import EpisodeLLM
from r_eval.runner.grid_entries import NO_LLM
from r_eval.runner.plan import Plan, PlannedCell
from r_eval.seeds import Seeds
from r_eval.workflows.answers import last_chance
from r_eval.workflows.base import Demonstration, LimitReached, Limits, TaskInput, Workflow, WorkflowResult, ended

PATIENCE_SECONDS = 3.0
"""How long a workflow that is cancelled may take to end."""
LLM_FREE_WORKERS = 2
"""Concurrent episodes of workflows that use no LLM."""


def episode_id(cell: PlannedCell, question: Question, epoch: int) -> str:
    """The same in every run of the same grid."""
    key = "\0".join([*cell.cell, question.id, str(epoch)])
    return hashlib.blake2b(key.encode(), digest_size=8).hexdigest()


class Cancelled(asyncio.CancelledError):
    """An episode was cancelled; its record says how far it had come."""

    def __init__(self, episode: Episode) -> None:
        super().__init__()
        self.episode = episode


@dataclasses.dataclass
class Resources:
    """What the episodes of a run share.

    Attributes:
        replies: Where replies are kept, and where they may come from; by default none is kept.
        demonstrations: Of each task, by its name.
        seed: The run's.
    """

    limits: Limits
    sandbox: Sandbox
    demonstrations: Mapping[str, tuple[Demonstration, ...]] = dataclasses.field(default_factory=dict)
    replies: ReplyStores = dataclasses.field(default_factory=ReplyStores)
    seed: int = 0


async def run_episode(
    cell: PlannedCell,
    question: Question,
    epoch: int,
    llm: LLM | None,
    resources: Resources,
    unavailable: LLMError | None = None,
) -> Episode:
    """Carry out one episode; whatever goes wrong, even a plug-in's `SystemExit`, is in its record.

    Args:
        llm: None for a workflow that needs none.
        unavailable: Why the LLM could not be opened, if it could not: then that is the outcome.

    Raises:
        Unwritable: A file of the run could not be written.
        Cancelled: Whoever waits for the episode was cancelled.
    """
    key = episode_id(cell, question, epoch)
    steps: list[Step] = []
    seeds = Seeds(resources.seed, question.id, epoch)
    limits = resources.limits
    of_episode = resources.replies.of_episode(llm, key, cell.fingerprint, epoch) if llm is not None else None
    clock = Clock(limits.seconds)
    keeps_room = limits.last_chance and cell.workflow.last_chance
    episode_llm = EpisodeLLM(llm, limits, steps, of_episode, keeps_room, seeds, clock)
    session: Session | None = None
    started, is_cancelled = time.perf_counter(), False
    try:
        if unavailable is not None:
            raise unavailable
        session = await _opened(cell, question, seeds, resources, steps, clock)
        started = time.perf_counter()  # what opening takes, such as reading a whole wiki, is not the system's time
        task_input = _task_input(cell, question, resources.demonstrations.get(cell.cell.task, ()))
        async with clock.running():
            ending = await _run_workflow(cell.workflow, task_input, session, episode_llm, limits, clock)
    except Unwritable:
        raise
    except BaseException as error:  # noqa: BLE001  whatever a plug-in raises becomes the episode's outcome
        is_cancelled = _is_being_cancelled()
        ending = _outcome_from(error, limits, clock.expired)
        if is_cancelled:
            ending = ended("cancelled", "stopped", "the run was stopped while this was under way")
    total = time.perf_counter() - started + (of_episode.replayed_seconds if of_episode is not None else 0.0)
    if session is not None and (trouble := await _closed(session)) is not None:
        ending = trouble if ending.outcome.kind == "finished" else ending
    if cell.workflow.uses_tools:
        ending = _classify(ending, steps)
    unparsed = None if ending.answer else "unparsed"
    steps.append(Step.of(kind="answer", text=ending.answer, observation=ending.how, error=unparsed))
    episode_llm.seconds.total = total
    episode_llm.seconds.environment = session.seconds if session is not None else 0.0
    episode = _record(cell, question, epoch, ending, steps, episode_llm)
    if is_cancelled:
        raise Cancelled(episode)
    return episode


def _is_being_cancelled() -> bool:
    """Whether somebody cancelled this task, which is no doing of the plug-in's."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _opened(
    cell: PlannedCell, question: Question, seeds: Seeds, resources: Resources, steps: list[Step], clock: Clock
) -> Session:
    """A session of the environment as the cell's condition has it; opened in another thread.

    Raises:
        EnvironmentFailure: The environment or the condition failed.
    """

    def opened() -> Session:
        original = cell.planned.original_questions.get(question.id, question)
        doing = "the environment"
        try:
            # what a condition replaces is as the task has it
            bare = cell.planned.environment.for_documents(() if cell.planned.passages == "none" else original.context)
            doing = f"the condition {cell.condition.name}" if cell.condition.parts else doing
            environment = cell.condition.environment(bare, question, seeds)
            doing = "the environment"
            return Session(environment, resources.sandbox, steps.append, resources.limits.observation, clock)
        except BaseException as error:
            raise EnvironmentFailure(f"{doing} failed: {describe(error)}") from error

    seconds = cell.planned.environment.timeout
    try:
        with clock.stopped():
            return await asyncio.wait_for(threads.run(opened), seconds)
    except TimeoutError:
        raise EnvironmentFailure(f"the environment was not open within {seconds:g} s") from None


async def _closed(session: Session) -> WorkflowResult | None:
    """Close a session; what went wrong with it, if anything did."""
    try:
        await asyncio.wait_for(threads.run(session.close), session.timeout)
    except TimeoutError:
        return ended("tool_failure", "environment", f"the environment was not closed within {session.timeout:g} s")
    except BaseException as error:  # noqa: BLE001  it is a plug-in's
        if _is_being_cancelled():
            return None
        text = f"the environment failed when it was closed: {describe(error)}"
        return _with_traceback(ended("tool_failure", "environment", text), error)
    return None


def _task_input(cell: PlannedCell, question: Question, demonstrations: tuple[Demonstration, ...]) -> TaskInput:
    """What the workflow is told of a question."""
    task, planned, workflow = cell.planned.task, cell.planned, cell.workflow
    is_retrieved = workflow.retrieves and (planned.takes_documents or workflow.uses_gold)
    return TaskInput(
        text=question.question,
        instruction=task.instruction,
        demonstrations=demonstrations,
        context=tuple(question.context) if planned.passages == "prompt" and not is_retrieved else (),
        query=question.query,
        long=task.long,
        solution=question if workflow.uses_gold else None,
    )


async def _by_itself(work: Awaitable[Any], clock: Clock) -> Any:
    """What a workflow returns or raises, in a task of its own: one that cancels its task ends its episode alone.

    One that swallows its cancellation, as `except:` in a loop does, is left behind; see `EpisodeLLM.generate`.
    """
    task = asyncio.ensure_future(contained(work))
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        clock.is_over = True
        task.cancel()
        await asyncio.wait([task], timeout=PATIENCE_SECONDS)
        if not task.done():
            asyncio._unregister_task(task)  # of asyncio's documented "Extending": its loop's end does not wait for it
            # held for ever, even at the end of the process: collecting it would run it on, perhaps without end
            threading.Thread(target=lambda task: threading.Event().wait(), args=(task,), daemon=True).start()
        raise
    ending, error = task.result()
    if error is not None:
        raise error
    return ending


async def _run_workflow(
    workflow: Workflow, task_input: TaskInput, session: Session, llm: EpisodeLLM, limits: Limits, clock: Clock
) -> WorkflowResult:
    """How a workflow ends, a last chance included; of the exceptions of a `TaskGroup`, the first counts.

    Raises:
        TypeError: A workflow of the user's own returned something else.
    """
    try:
        ending = await _by_itself(workflow.run(task_input, session, llm, limits), clock)
        if not (isinstance(ending, WorkflowResult) and isinstance(ending.outcome, Outcome)):
            raise TypeError(
                f"{type(workflow).__name__}.run returned no WorkflowResult with an Outcome: {ending!r:.200}"
            )
        return ending
    except LimitReached as reached:
        if not (llm.keeps_room and reached.messages):
            raise
        llm.keeps_room = False
        try:
            return await last_chance(reached, type(workflow), session.specs, task_input.instruction, llm)
        except LimitReached:
            raise reached from None


def _outcome_from(error: BaseException, limits: Limits, expired: bool) -> WorkflowResult:
    """How an exception ends an episode."""
    if isinstance(error, LLMError):
        return ended(error.outcome, error.cause, str(error))
    if isinstance(error, LimitReached):
        return ended("exhausted", error.cause, str(error))
    if isinstance(error, TimeoutError) and expired:
        return ended("exhausted", "seconds", f"more than {limits.seconds:g} s")
    if isinstance(error, EnvironmentFailure):
        return _with_traceback(ended("tool_failure", "environment", str(error)), error.__cause__ or error)
    return _with_traceback(ended("tool_failure", "workflow", describe(error)), error)


def _with_traceback(ending: WorkflowResult, error: BaseException) -> WorkflowResult:
    outcome = ending.outcome.model_copy(update={"traceback": traceback_of(error)})
    return dataclasses.replace(ending, outcome=outcome)


def _classify(ending: WorkflowResult, steps: list[Step]) -> WorkflowResult:
    """Limits reached without one call that was right are a misuse of the tools, unless the LLM never had its say."""
    right = any(s.kind == "call" and s.error is None for s in steps)
    if ending.outcome.kind != "exhausted" or right or not any(s.kind == "thought" for s in steps):
        return ending
    outcome = ending.outcome
    detail = f"no call succeeded; {outcome.detail}"
    return dataclasses.replace(ending, outcome=Outcome(kind="tool_misuse", cause=outcome.cause, detail=detail))


def _record(
    cell: PlannedCell, question: Question, epoch: int, ending: WorkflowResult, steps: list[Step], llm: EpisodeLLM
) -> Episode:
    return Episode.of(
        schema_=SCHEMA,
        episode_id=episode_id(cell, question, epoch),
        question_id=question.id,
        **cell.cell._asdict(),
        domain=cell.planned.task.domain,
        level=question.level,
        epoch=epoch,
        question=question.question,
        golds=question.answers,
        evidence=question.evidence,
        answer=ending.answer,
        outcome=ending.outcome,
        messages=llm.sent.messages,
        steps=steps,
        usage=llm.usage,
        seconds=llm.seconds,
        fingerprint=cell.fingerprint,
    )


@dataclasses.dataclass(frozen=True)
class EpisodePool:
    """Carries out the episodes of one LLM, at most `size` at once."""

    size: int
    run_episode: Callable[[PlannedCell, Question, int], Awaitable[Episode]]


@contextlib.asynccontextmanager
async def local_pool(plan: Plan, resources: Resources, llm: str) -> AsyncIterator[EpisodePool]:
    """The pool of an LLM of the plan in this process; the LLM is open for the time of the block.

    Raises:
        LLMError: The LLM cannot be opened.
    """
    opened: LLM | None = plan.llms[llm] if llm != NO_LLM else None
    try:
        if opened is not None:
            try:
                await opened.open()
            except (LLMError, UserError):
                raise
            except Exception as error:
                raise LLMError("request", f"{opened.name} cannot be opened: {describe(error)}") from error
        size = opened.connections if opened is not None else LLM_FREE_WORKERS
        yield EpisodePool(size, functools.partial(run_episode, llm=opened, resources=resources))
    finally:
        if opened is not None:
            await opened.close()
