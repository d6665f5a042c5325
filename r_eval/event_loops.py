"""Runs a coroutine from ordinary code, whether an event loop is running there already, as in a notebook, or not."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

Result = TypeVar("Result")


def in_event_loop(job: Coroutine[Any, Any, Result], stops: Sequence[Callable[[], object]] = ()) -> Result:
    """Run a coroutine as `asyncio.run` does; in another thread, with a loop of its own, where this one has a loop.

    Args:
        stops: What an interrupt of a notebook calls in that loop; if there is none by then, the coroutine is cancelled.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(job)
    begun: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def noted() -> Result:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            begun.append((loop, task))
        return await job

    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        result = thread.submit(_run, noted())
        try:
            return result.result()
        except KeyboardInterrupt:
            for loop, task in begun:
                for stop in stops or [task.cancel]:
                    loop.call_soon_threadsafe(stop)
            raise


def _run(job: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on uvloop's event loop, where it is installed, without waiting for threads that hang."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    with contextlib.suppress(ImportError):
        from uvloop import new_event_loop as factory
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.get_loop().set_default_executor(_Threads())
        return runner.run(job)


class _Threads(concurrent.futures.ThreadPoolExecutor):
    """The threads of an event loop, which closes without waiting for them."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=True)
