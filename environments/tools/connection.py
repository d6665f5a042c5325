"""A connection to an MCP server: opened by the first call, kept by a task of its own on the background loop.

The SDK wants a connection closed by the task that opened it, so that task waits for the whole life of the connection.
One that breaks is dropped; the next call opens another. All that are open at the end of the process are closed.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from r_eval.environments.base import EnvironmentFailure, ToolError
from r_eval.environments.schema import clip
from r_eval.environments.tools import background
from r_eval.environments.tools.base import LONGEST_ERROR, NO_REASON
from r_eval.environments.tools.declared import printable

if TYPE_CHECKING:
    from mcp import Client

Answer = TypeVar("Answer")
Streams = Callable[[bytearray], AbstractAsyncContextManager[Any]]


class Connection:
    """One connection to a server, which may be used from any thread or event loop.

    Args:
        streams: Opens the streams of messages; the bytes that it gets receive the end of what a process writes to its
            standard error.
        seconds: How long a call may take, and the start.
    """

    def __init__(self, streams: Streams, seconds: float) -> None:
        self._streams, self._seconds = streams, seconds
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client]
        self._over: asyncio.Event
        self._stderr = bytearray()
        _connections.add(self)

    async def ask(self, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
        """What the server answers.

        Raises:
            ToolError: The server reports an error.
            EnvironmentFailure: It cannot be reached, has gone, or is too slow.
        """
        return await background.run_on_loop(self._ask(question))

    def close(self) -> None:
        """Close it, without waiting until that is done; a later call opens it again."""
        if self._task is not None:
            background.loop().call_soon_threadsafe(self.end)

    def end(self) -> asyncio.Task[None] | None:
        """Have it closed, on the background loop; returns the task that does it."""
        task, self._task = self._task, None
        if task is not None:
            self._over.set()
        return task

    async def _ask(self, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED, PARSE_ERROR

        from r_eval.environments.tools.transports import DOWN

        client = await self._connected()
        try:
            async with asyncio.timeout(self._seconds):
                return await question(client)
        except TimeoutError:
            raise EnvironmentFailure(f"the MCP server gave no answer within {self._seconds:g} s") from None
        except ToolError:
            raise
        except MCPError as error:
            text = printable(error.message)
            if error.code == CONNECTION_CLOSED and text == "Connection closed":  # servers use the code, too
                raise EnvironmentFailure(f"the MCP server has gone{await self._last_words()}") from None
            if error.code in (DOWN, PARSE_ERROR):
                self.end()
                raise EnvironmentFailure(f"the MCP server failed: {clip(text, 300)}") from None
            raise ToolError(clip(text, LONGEST_ERROR) or NO_REASON) from None
        except Exception as error:
            raise EnvironmentFailure(f"the MCP server failed: {_reason(error)}") from error

    async def _connected(self) -> Client:
        if self._task is None or self._task.done():
            self._ready, self._over = asyncio.get_running_loop().create_future(), asyncio.Event()
            self._task = asyncio.create_task(_live(self._streams, self._stderr, self._ready, self._over))
            weakref.finalize(self, _end_later, self._over, self._task).atexit = False
        task, ready = self._task, self._ready
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.shield(ready)
        except Exception as error:  # noqa: BLE001  whatever the SDK and the transport raise
            is_late = not ready.done()
            if is_late:
                task.cancel()
            words = await self._last_words()
            why = f"did not start within {self._seconds:g} s" if is_late else f"cannot be reached: {_reason(error)}"
            raise EnvironmentFailure(f"the MCP server {why}{words}") from None

    async def _last_words(self) -> str:
        """The last line that the server wrote to its standard error, if there is one, once the connection is closed."""
        if task := self.end():
            await asyncio.wait([task], timeout=5)
        lines = printable(self._stderr.decode("utf-8", "replace")).split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"; it said: {clip(last, 200)}" if last else ""


async def _live(streams: Streams, stderr: bytearray, ready: asyncio.Future[Client], over: asyncio.Event) -> None:
    """Hold a connection until it is over; the task does not refer to its `Connection`, whose end closes it, too."""
    import logging

    from mcp import Client

    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it prints tracebacks for what a server does wrong
    stderr.clear()
    try:
        async with Client(streams(stderr), cache=None) as client:
            ready.set_result(client)
            await over.wait()
    except Exception as error:  # noqa: BLE001  whoever waits for the connection gets it
        if not ready.done():
            ready.set_exception(error)


def _end_later(over: asyncio.Event, task: asyncio.Task[None]) -> None:
    background.loop().call_soon_threadsafe(over.set)


def _reason(error: BaseException) -> str:
    """What an exception says; of a group, what its first one says."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return clip(printable(f"{type(error).__name__}: {error}".rstrip(": ")), 300)


_connections: weakref.WeakSet[Connection] = weakref.WeakSet()


async def _close_all() -> None:
    tasks = [task for connection in list(_connections) if (task := connection.end())]
    if tasks:
        await asyncio.wait(tasks)


background.closed_at_exit(_close_all)
