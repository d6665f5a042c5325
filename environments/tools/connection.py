"""A connection to an MCP server: opened by the first call, by a task of its own on a loop that all connections share.

The SDK wants a connection closed by the task that opened it, so that task waits for the whole life of the connection.
One that breaks, or whose server does not answer in time, is dropped; the next call opens another. All that are open at
the end of the process are closed.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import logging
import os
import tempfile
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from r_eval.environments.base import EnvironmentFailure, ToolError
from r_eval.environments.schema import clip
from r_eval.environments.tools.base import LONGEST_ERROR, NO_REASON
from r_eval.environments.tools.declared import printable

if TYPE_CHECKING:
    from mcp import Client

Answer = TypeVar("Answer")
Streams = Callable[[TextIO], AbstractAsyncContextManager[Any]]
LAST_BYTES = 2000
"""How much of the end of a process's standard error is read."""
CLOSING_SECONDS = 10.0


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """The loop of all connections, in a thread that ends with the process; an environment is used from many loops."""
    started = asyncio.new_event_loop()
    threading.Thread(target=started.run_forever, name="r-eval-mcp", daemon=True).start()
    atexit.register(_close_all, started)
    return started


class Connection:
    """One connection to a server, which may be used from any thread or event loop.

    Args:
        streams: Opens the streams of messages; a process writes its standard error to the file that it gets.
        seconds: How long a call may take, and the start.
    """

    def __init__(self, streams: Streams, seconds: float) -> None:
        self._streams, self._seconds = streams, seconds
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client]
        self._stderr = ""

    def ask(self, question: Callable[[Client], Awaitable[Answer]]) -> Future[Answer]:
        """What the server answers.

        Raises:
            ToolError: The server reports an error.
            EnvironmentFailure: It cannot be reached, has gone, or is too slow.
        """
        return asyncio.run_coroutine_threadsafe(self._ask(question), _loop())

    def close(self) -> None:
        """Close it, without waiting until that is done; a later call opens it again."""
        _loop().call_soon_threadsafe(self._end)

    def _end(self) -> asyncio.Task[None] | None:
        """Have it closed; returns the task that does it."""
        task, self._task = self._task, None
        if task in _open:
            _open[task].set()
            if not self._ready.done():
                task.cancel()
        return task

    async def _ask(self, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED, PARSE_ERROR

        from r_eval.environments.tools.transports import DOWN

        if self._task is None or self._task.done():
            over, self._ready = asyncio.Event(), asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._live(self._ready, over))
            _open[self._task] = over
            self._task.add_done_callback(_open.pop)
        ready = self._ready
        try:
            async with asyncio.timeout(self._seconds):
                return await question(await asyncio.shield(ready))
        except ToolError:
            raise
        except Exception as error:  # noqa: BLE001  whatever the SDK and the transport raise
            is_open = ready.done() and ready.exception() is None
            code, text = (error.code, printable(error.message)) if isinstance(error, MCPError) else (None, "")
            if isinstance(error, TimeoutError):
                reason = f"{'gave no answer' if is_open else 'did not start'} within {self._seconds:g} s"
            elif not is_open:
                reason = f"cannot be reached: {_reason(error)}"
            elif code == CONNECTION_CLOSED and text == "Connection closed":  # servers use the code, too
                reason = "has gone"
            elif code is None or code in (DOWN, PARSE_ERROR):
                reason = f"failed: {clip(' '.join(text.split()), 300) or _reason(error)}"
            else:
                raise ToolError(clip(text, LONGEST_ERROR) or NO_REASON) from None
            raise EnvironmentFailure(f"the MCP server {reason}{await self._stderr_tail()}") from None

    async def _live(self, ready: asyncio.Future[Client], over: asyncio.Event) -> None:
        """Hold the connection until it is over."""
        from mcp import Client

        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it prints tracebacks for what a server does wrong
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
            try:
                async with Client(self._streams(stderr), cache=None) as client:
                    ready.set_result(client)
                    await over.wait()
            except Exception as error:  # noqa: BLE001  whoever waits for the connection gets it
                if not ready.done():
                    ready.set_exception(error)
            finally:
                stderr.seek(max(0, os.fstat(stderr.fileno()).st_size - LAST_BYTES))
                self._stderr = stderr.read()

    async def _stderr_tail(self) -> str:
        """The last line with an error in it, or else the last, that the server wrote to its standard error; closes."""
        if task := self._end():
            await asyncio.wait([task], timeout=5)
        lines = [line.strip() for line in printable(self._stderr).split("\n") if line.strip()]
        last = next((line for line in reversed(lines) if "error" in line.casefold()), lines[-1] if lines else "")
        return f"; it said: {clip(last, 200)}" if last else ""


def _reason(error: BaseException) -> str:
    """What an exception says; of a group, what its first one says."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return clip(" ".join(printable(f"{type(error).__name__}: {error}".rstrip(": ")).split()), 300)


_open: dict[asyncio.Task[None], asyncio.Event] = {}


def _close_all(loop: asyncio.AbstractEventLoop) -> None:
    async def close() -> None:
        for over in _open.values():
            over.set()
        if _open:
            await asyncio.wait(list(_open))

    with contextlib.suppress(Exception):
        asyncio.run_coroutine_threadsafe(close(), loop).result(CLOSING_SECONDS)
