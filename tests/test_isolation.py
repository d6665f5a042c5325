"""Code of other people in threads and loops of its own."""

from __future__ import annotations

import asyncio
import gc
import warnings

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
