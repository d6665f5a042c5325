"""Episodes in this process, side by side in its event loop."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Mapping

from r_eval.environments.sandbox import Sandbox
from r_eval.llms.base import LLM, LLMError
from r_eval.llms.replay import ReplyStores
from r_eval.records import Episode, Question
from r_eval.runner.episode import run_episode
from r_eval.runner.plan import NO_LLM, Plan, PlannedCell
from r_eval.runner.watching import Watcher
from r_eval.workflows.base import Demonstration

LLM_FREE_PLACES = 2


@dataclasses.dataclass
class Local:
    """The engine of one process.

    Attributes:
        demonstrations: By the name of their task.
        replies: Where replies are kept, and where they may come from.
        connections: Requests at once, for every LLM, in place of its own number.
    """

    plan: Plan
    sandbox: Sandbox
    demonstrations: Mapping[str, tuple[Demonstration, ...]]
    replies: ReplyStores
    watcher: Watcher
    connections: int | None = None

    @contextlib.asynccontextmanager
    async def lane(self, llm: str) -> AsyncIterator[LocalLane]:
        """The lane of an LLM; where it cannot be opened, all its episodes are recorded as `llm_failure`."""
        if llm == NO_LLM:
            yield LocalLane(self, None, LLM_FREE_PLACES)
            return
        opened = self.plan.llms[llm]
        opened.connections = self.connections or opened.connections
        self.watcher.loading(llm)
        unavailable: LLMError | None = None
        try:
            await opened.open()
        except LLMError as error:
            unavailable = error
            self.watcher.failed(llm, str(error))
        try:
            yield LocalLane(self, opened, opened.connections, unavailable)
        finally:
            await opened.close()


@dataclasses.dataclass
class LocalLane:
    """An LLM that is open, or that could not be opened."""

    engine: Local
    llm: LLM | None
    places: int
    unavailable: LLMError | None = None

    async def carry_out(self, cell: PlannedCell, question: Question, epoch: int) -> Episode:
        engine = self.engine
        return await run_episode(
            cell,
            question,
            epoch,
            self.llm,
            engine.plan.limits,
            engine.demonstrations[cell.planned.task.name],
            engine.sandbox,
            self.unavailable,
            engine.replies,
            engine.plan.grid.seed,
        )
