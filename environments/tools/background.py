"""One event loop of this room's own, in a thread that ends with the process.

Connections belong to an event loop, but an environment may be used from one loop after another, and by many sessions
at once. So whatever holds a connection lives here, and is called from wherever a session runs.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

CLOSING_SECONDS = 10.0


@functools.cache
def loop() -> asyncio.AbstractEventLoop:
    """The loop, started with the first use."""
    started = asyncio.new_event_loop()
    threading.Thread(target=started.run_forever, name="r-eval-tools", daemon=True).start()
    return started


async def run_on_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Do something on the loop and wait for it in another; cancelled there where it is cancelled here."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop()))


def wait_for(work: Coroutine[Any, Any, Result]) -> Result:
    """Do something on the loop and hold this thread up until it is done."""
    return asyncio.run_coroutine_threadsafe(work, loop()).result()


def closed_at_exit(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Have something done on the loop at the end of the process, within a few seconds."""

    def close() -> None:
        if loop.cache_info().currsize:  # else there is nothing to close
            with contextlib.suppress(Exception):
                asyncio.run_coroutine_threadsafe(work(), loop()).result(CLOSING_SECONDS)

    atexit.register(close)
