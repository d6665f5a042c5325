"""The lane of many workers, with workers in this process: who gets what, what is remembered, and what a death costs."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from r_eval import Grid, UserError
from r_eval.engines.cluster import WorkerDied
from r_eval.engines.crew import Crew
from r_eval.engines.local import Local
from r_eval.engines.messages import Done, Order, Readiness
from r_eval.engines.worker import Worker, compare, shared
from r_eval.environments.sandbox import Sandbox
from r_eval.folder import Cell
from r_eval.llms.replay import ReplyStores
from r_eval.llms.reply_store import ReplyStore
from r_eval.records import Episode
from r_eval.runner.plan import resolve
from r_eval.runner.watching import Silent
from tests.engines.desks import LOGGING, THOUGHTFUL, Desk, timeless

REACT = {"workflows": ["react"], "limits": {"steps": 4}}


class Near:
    """A worker in this process, which can be killed.

    Args:
        dies_after: Seconds after which it dies, from the beginning of its first episode.
    """

    def __init__(self, order: Order, dies_after: float | None = None, stillborn: bool = False) -> None:
        self.worker = Worker(order)
        self.dies_after, self.stillborn = dies_after, stillborn
        self.most = self.now = 0
        self._death = asyncio.Event()

    async def _unless_dead(self, call: asyncio.Future[object] | asyncio.Task[object]) -> object:
        death = asyncio.ensure_future(self._death.wait())
        await asyncio.wait([call, death], return_when=asyncio.FIRST_COMPLETED)
        death.cancel()
        if self._death.is_set():
            call.cancel()
            raise WorkerDied("killed")
        return call.result()

    async def open(self) -> Readiness:
        if self.stillborn:
            raise WorkerDied("out of memory")
        return await self.worker.open()

    async def carry_out(self, cell: Cell, question_id: str, epoch: int) -> Done:
        if self.dies_after is not None:
            asyncio.get_running_loop().call_later(self.dies_after, self._death.set)
            self.dies_after = None
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            call = asyncio.ensure_future(self.worker.carry_out(cell, question_id, epoch))
            done = await self._unless_dead(call)
            assert isinstance(done, Done)
            return done
        finally:
            self.now -= 1

    async def closed(self) -> None:
        await self._unless_dead(asyncio.ensure_future(self.worker.closed()))

    async def close(self) -> None:
        await self.worker.close()

    def end(self) -> None:
        self._death.set()


@dataclasses.dataclass
class Shop:
    """A plan, what a run remembers, and the workers that were hired."""

    grid: Grid
    local: Local
    order: Order
    hired: list[Near] = dataclasses.field(default_factory=list)

    def crew(self, shares: list[int], how: Callable[[int], dict[str, object]] = lambda n: {}) -> Crew:
        def hire(number: int, places: int) -> Near:
            near = Near(dataclasses.replace(self.order, places=places), **how(len(self.hired)))  # type: ignore[arg-type]
            self.hired.append(near)
            return near

        return Crew(self.local, self.local.plan.llms["one"], shares, hire)

    async def run(self, crew: Crew) -> list[Episode]:
        """All episodes, as many at once as the crew takes."""
        jobs = iter([(c, q) for c in self.local.plan.cells for q in c.planned.asked])
        found: list[Episode] = []

        async def work() -> None:
            for cell, question in jobs:
                found.append(await crew.carry_out(cell, question, 0))

        async with crew:
            await asyncio.gather(*(work() for _ in range(crew.places)))
        return sorted(found, key=lambda e: e.episode_id)

    async def alone(self) -> list[Episode]:
        """All episodes as this process carries them out."""
        async with dataclasses.replace(self.local, replies=ReplyStores()).lane("one") as lane:
            plan = self.local.plan
            found = [await lane.carry_out(c, q, 0) for c in plan.cells for q in c.planned.asked]
        return sorted(found, key=lambda e: e.episode_id)


@contextlib.contextmanager
def shop(grid: Grid, folder: Path, cache: bool = False) -> Iterator[Shop]:
    plan = resolve(grid)
    with Sandbox() as sandbox, contextlib.closing(ReplyStore(folder / "replies")) as store:
        shown = {p.task.name: () for p in plan.tasks}
        local = Local(plan, sandbox, shown, ReplyStores(store, "run", cache, cache), Silent())
        parts = {c.cell: c.parts for c in plan.cells}
        yield Shop(grid, local, Order(grid, None, "one", 1, 1, parts, shown, "run", cache, cache, str(Path.cwd()), {}))


def same(found: list[Episode], expected: list[Episode]) -> bool:
    return timeless([e.model_dump() for e in found]) == timeless([e.model_dump() for e in expected])


async def test_workers_make_the_records_that_one_process_makes(desk: Desk, tmp_path: Path) -> None:
    with shop(desk.grid(desk.llm(THOUGHTFUL), **REACT, samples=12), tmp_path) as s:
        assert same(await s.run(s.crew([3, 2])), await s.alone())


async def test_no_worker_has_more_under_way_than_its_places(desk: Desk, tmp_path: Path) -> None:
    with shop(desk.grid(desk.llm(LOGGING, seconds=0.01), samples=30), tmp_path) as s:
        await s.run(s.crew([3, 2]))
        assert [near.most for near in s.hired] == [3, 2]


async def test_what_workers_asked_is_counted_once(desk: Desk, tmp_path: Path) -> None:
    with shop(desk.grid(desk.llm(LOGGING, seconds=0)), tmp_path) as s:
        await s.run(s.crew([2]))
        assert s.local.replies.usage["one"].calls == 6


async def test_an_episode_whose_worker_dies_runs_again_elsewhere(desk: Desk, tmp_path: Path) -> None:
    with shop(desk.grid(desk.llm(THOUGHTFUL), **REACT, samples=12), tmp_path) as s:
        found = await s.run(s.crew([2, 2], lambda n: {"dies_after": 0.05} if n == 0 else {}))
        assert len(s.hired) == 3
        assert same(found, await s.alone())


async def test_what_a_dead_worker_was_told_is_not_asked_again(desk: Desk, tmp_path: Path) -> None:
    told = """
async def reply(request):
    import asyncio
    with open({asked!r}, "a", encoding="utf-8") as file:
        file.write("asked\\n")
    await asyncio.sleep(0.02)
    return 'Action 1: searchPerson(name="Anil Mishra")'
"""
    with shop(desk.grid(desk.llm(told), **REACT, samples=1), tmp_path) as s:
        [episode] = await s.run(s.crew([1], lambda n: {"dies_after": 0.03} if n == 0 else {}))
        # The third call may have been under way when the worker died.
        assert episode.usage.calls <= len(desk.log()) <= episode.usage.calls + 1


async def test_an_episode_that_kills_every_worker_is_recorded_as_a_failure(desk: Desk, tmp_path: Path) -> None:
    with shop(desk.grid(desk.llm(LOGGING, seconds=0.05), samples=1), tmp_path) as s:

        class Deadly(Near):
            async def carry_out(self, cell: Cell, question_id: str, epoch: int) -> Done:
                self.end()
                return await super().carry_out(cell, question_id, epoch)

        llm = s.local.plan.llms["one"]
        [episode] = await s.run(Crew(s.local, llm, [1], lambda number, places: Deadly(s.order)))
        assert (episode.outcome.kind, episode.outcome.cause) == ("llm_failure", "worker")


async def test_workers_that_cannot_be_born_leave_a_record_of_why(desk: Desk, tmp_path: Path) -> None:
    with shop(desk.grid(desk.llm(LOGGING, seconds=0), samples=2), tmp_path) as s:
        found = await s.run(s.crew([1, 1], lambda n: {"stillborn": True}))
        assert {e.outcome.kind for e in found} == {"llm_failure"}
        assert "out of memory" in found[0].outcome.detail


async def test_a_worker_that_cannot_open_the_llm_is_left_out_where_another_can(desk: Desk, tmp_path: Path) -> None:
    with shop(desk.grid(desk.llm(LOGGING, seconds=0), samples=4), tmp_path) as s:

        class Cut(Near):
            async def open(self) -> Readiness:
                return Readiness("llm", "connection", "no way to the server")

        near = iter([Cut(s.order), Near(s.order)])
        found = await s.run(Crew(s.local, s.local.plan.llms["one"], [1, 1], lambda number, places: next(near)))
        assert {e.outcome.kind for e in found} == {"finished"}


async def test_where_no_worker_can_open_the_llm_the_episodes_say_why(desk: Desk, tmp_path: Path) -> None:
    llm = {"llm": "openai/m", "name": "one", "base_url": "http://127.0.0.1:9/v1", "connections": 2}
    with shop(desk.grid(llm, samples=2), tmp_path) as s:
        found = await s.run(s.crew([1, 1]))
        assert {(e.outcome.kind, e.outcome.cause) for e in found} == {("llm_failure", "connection")}
        assert same(found, await s.alone())


async def test_a_cached_reply_is_not_asked_for_again(desk: Desk, tmp_path: Path) -> None:
    with shop(desk.grid(desk.llm(LOGGING, seconds=0)), tmp_path, cache=True) as s:
        first = await s.run(s.crew([2]))
        s.order = dataclasses.replace(s.order, run="a later run")
        assert same(await s.run(s.crew([2])), first)
        assert (s.local.replies.usage["one"].calls, s.local.replies.usage["one"].cached) == (6, 6)


async def test_a_grid_that_means_something_else_on_a_machine_ends_the_run(desk: Desk, tmp_path: Path) -> None:
    with shop(desk.grid(desk.llm(LOGGING, seconds=0)), tmp_path) as s:
        s.order = dataclasses.replace(s.order, cells={c: {**p, "task": "else"} for c, p in s.order.cells.items()})
        with pytest.raises(UserError, match=r"on the machine .*other task \(cell direct\+one"):
            await s.run(s.crew([1]))


def test_a_cell_that_is_missing_on_a_machine_is_told(desk: Desk) -> None:
    with pytest.raises(UserError, match="other task"):
        compare({}, {Cell("direct", "one", "clean", "t"): {"task": "x"}})


def test_limits_a_minute_are_divided_among_the_workers() -> None:
    llm = {"llm": "openai/m", "requests_per_minute": 100, "tokens_per_minute": 3}
    grid = Grid(llms=[llm], workflows=["direct"], tasks=["aminer/soay-easy"])
    settings = shared(grid, 4).llms[0].settings
    assert (settings["requests_per_minute"], settings["tokens_per_minute"]) == (25, 1)
    assert grid.llms[0].settings["requests_per_minute"] == 100
