"""Code of other people in threads and loops of its own."""

from __future__ import annotations

import asyncio
import gc
import time
import warnings

from r_eval.environments import Environment, query_api
from r_eval.isolation import DaemonThreads, ForeignLoop


def test_a_coroutine_whose_caller_left_before_it_began_is_no_warning() -> None:
    async def reply() -> None:
        await asyncio.sleep(1)

    async def main() -> None:
        loop, threads = ForeignLoop("a loop"), DaemonThreads("a thread")
        for _ in range(20):
            for work in (loop.run(reply()), threads.run(reply)):
                task = asyncio.create_task(work)
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
        await asyncio.sleep(0.1)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(main())
        gc.collect()
    assert [str(one.message) for one in caught if "never awaited" in str(one.message)] == []


def domain(kind: str, seconds: float) -> Environment:
    """An environment whose one async query API blocks its event loop for so long."""

    async def find(self: Environment) -> str:
        """Find."""
        time.sleep(seconds)
        return "Найроби"

    return type(kind, (Environment,), {"find": query_api(find), "__doc__": "People."})()  # type: ignore[no-any-return]


def test_an_api_that_blocks_its_event_loop_holds_up_no_other_environment() -> None:
    async def main() -> str:
        blocked = asyncio.create_task(domain("Blocked", 3.0).call("find", {}))
        await asyncio.sleep(0.1)
        found: str = await asyncio.wait_for(domain("Quick", 0.0).call("find", {}), 1.5)
        blocked.cancel()
        return found

    assert asyncio.run(main()) == "Найроби"
