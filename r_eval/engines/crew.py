"""The workers of one LLM, as a lane: an episode goes to the worker with most room; where one dies, its episodes go to
others, and another worker takes its place.

No more episodes are under way than there are places, in all and in each worker, and nothing else is held: an episode
is asked for when a place is free, and handed on when it is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Callable
from typing import Protocol

from r_eval.engines.cluster import WorkerDied
from r_eval.engines.local import Local, LocalLane
from r_eval.engines.messages import Done, Readiness
from r_eval.errors import UserError
from r_eval.folder import Cell
from r_eval.llms.base import LLM, LLMError
from r_eval.llms.replay import LLMUsage
from r_eval.records import Episode, Question
from r_eval.runner.plan import PlannedCell

logger = logging.getLogger("r_eval")

ATTEMPTS = 3
"""Workers that one episode may take with it, and that may die in one place before any has finished an episode."""

GOING_SECONDS = 5.0
"""How long a worker that is closed may take to say its last."""


class Hand(Protocol):
    """A worker from afar; see `cluster.Hired`."""

    async def open(self) -> Readiness: ...

    async def carry_out(self, cell: Cell, question_id: str, epoch: int) -> Done: ...

    async def closed(self) -> None: ...

    async def close(self) -> None: ...

    def end(self) -> None: ...


@dataclasses.dataclass(eq=False)
class Place:
    """One worker that is ready.

    Attributes:
        gone: Set once it is dead, or closed, and all that it said has been heard.
    """

    hand: Hand
    places: int
    under_way: int = 0
    finished: int = 0
    dead: bool = False
    gone: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    @property
    def room(self) -> int:
        return 0 if self.dead else self.places - self.under_way


class Crew:
    """A lane; use it as an async context manager.

    Args:
        local: Holds what the run remembers, and records episodes that no worker can carry out.
        shares: The places of each worker.
        hire: Starts a worker; is given its number, and its places.
    """

    def __init__(self, local: Local, llm: LLM | None, shares: list[int], hire: Callable[[int, int], Hand]) -> None:
        self._local, self._llm, self._hire, self._shares = local, llm, hire, shares
        self.places = sum(shares)
        self._ready: list[Place] = []
        self._changed = asyncio.Condition()
        self._tending: list[asyncio.Task[None]] = []
        self._tended, self._given_up = len(shares), 0
        self._trouble: LLMError | None = None
        self._fatal: Exception | None = None

    async def __aenter__(self) -> Crew:
        self._tending = [asyncio.create_task(self._tend(k, places)) for k, places in enumerate(self._shares)]
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        ready = list(self._ready)
        try:
            if kind is None:
                await asyncio.gather(*(place.hand.close() for place in ready), return_exceptions=True)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.gather(*(place.gone.wait() for place in ready)), GOING_SECONDS)
        finally:
            for task in self._tending:
                task.cancel()
            await asyncio.gather(*self._tending, return_exceptions=True)

    async def carry_out(self, cell: PlannedCell, question: Question, epoch: int) -> Episode:
        """Run one episode on some machine.

        Raises:
            UserError: The grid cannot be run on the machines.
        """
        for _ in range(ATTEMPTS):
            place = await self._free()
            if place is None:
                return await self._unable(cell, question, epoch)
            done = await self._by(place, cell, question, epoch)
            if done is not None:
                return done.episode
        trouble = LLMError("worker", f"the worker process died each of {ATTEMPTS} times that this episode was begun")
        return await self._unable(cell, question, epoch, trouble)

    async def _free(self) -> Place | None:
        """Take a place in the worker with most room; None where there will never be one."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._hopeless() or any(p.room > 0 for p in self._ready))
            if self._fatal is not None:
                raise self._fatal
            if self._hopeless():
                return None
            place = max(self._ready, key=lambda p: p.room)
            place.under_way += 1
            return place

    def _hopeless(self) -> bool:
        return self._fatal is not None or not self._tended

    async def _by(self, place: Place, cell: PlannedCell, question: Question, epoch: int) -> Done | None:
        """What came of an episode in a worker; None where the worker died over it."""
        try:
            done = await place.hand.carry_out(cell.cell, question.id, epoch)
        except WorkerDied:
            place.dead = True
            place.hand.end()
            await place.gone.wait()
            return None
        finally:
            async with self._changed:
                place.under_way -= 1
                self._changed.notify()
        place.finished += 1
        if self._llm is not None:
            self._local.replies.usage.setdefault(self._llm.name, LLMUsage()).include(done.usage)
        return done

    async def _unable(
        self, cell: PlannedCell, question: Question, epoch: int, trouble: LLMError | None = None
    ) -> Episode:
        """The record of an episode that cannot be carried out."""
        why = trouble or self._trouble or LLMError("worker", "no worker is left")
        return await LocalLane(self._local, self._llm, 1, why).carry_out(cell, question, epoch)

    async def _tend(self, number: int, places: int) -> None:
        """See to it that there is a worker in a place, as long as that makes sense."""
        deaths = 0
        try:
            while deaths < ATTEMPTS:
                hand = self._hire(number, places)
                place = Place(hand, places)
                try:
                    if not await self._opened(place):
                        break
                    await place.hand.closed()
                    return
                except WorkerDied as error:
                    deaths = 1 if place.finished else deaths + 1
                    self._trouble = self._trouble or LLMError("worker", f"its worker died: {error}")
                    logger.warning("a worker died; its %d episodes run again (%s)", place.under_way, error)
                finally:
                    self._leave(place)
            self._give_up()
        except Exception as error:  # noqa: BLE001  whatever it is, it is raised where an episode waits
            self._fatal = error
        finally:
            self._tended -= 1
            await self._wake()

    def _give_up(self) -> None:
        """There will be no worker in a place any more."""
        self._given_up += 1
        if self._llm is not None and self._given_up == len(self._shares):
            self._local.watcher.failed(self._llm.name, str(self._trouble))

    async def _opened(self, place: Place) -> bool:
        """Make a worker ready, and let it have episodes; False where it cannot be."""
        ready = await place.hand.open()
        if ready.trouble == "user":
            raise UserError(ready.text)
        if ready.trouble == "llm":
            self._trouble = self._trouble or LLMError(ready.cause, ready.text)
            return False
        self._ready.append(place)
        await self._wake()
        return True

    def _leave(self, place: Place) -> None:
        """A worker's end, for whatever reason."""
        place.dead = True
        place.hand.end()
        if place in self._ready:
            self._ready.remove(place)
        place.gone.set()

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()
