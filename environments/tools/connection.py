"""A connection to an MCP server: opened by the first call, kept by a task of its own on the background loop.

The SDK wants a connection closed by the task that opened it, so that task waits for the whole life of the connection.
One that breaks is dropped; the next call opens another. All that are open at the end of the process are closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from r_eval.environments.base import EnvironmentFailure, ToolError
from r_eval.environments.schema import clip
from r_eval.environments.tools import background
from r_eval.environments.tools.declared import printable

if TYPE_CHECKING:
    from mcp import Client

Answer = TypeVar("Answer")


class Server:
    """Where an MCP server is: a command, or the URL of its streamable HTTP endpoint.

    Args:
        where: The command line (split as a shell would, but run without one), or a URL.
        variables: Environment variables that a command gets besides the usual few (PATH, HOME, ...).
        headers: HTTP headers of every request.
        seconds: How long a call may take, and the start.
    """

    def __init__(self, where: str, variables: Mapping[str, str], headers: Mapping[str, str], seconds: float) -> None:
        self.url = where if where.startswith(("http://", "https://")) else None
        self.command = [] if self.url else shlex.split(where)
        if not self.url and not self.command:
            raise ValueError("expected a command or a URL after mcp:")
        self.seconds = seconds
        self._variables, self._headers = dict(variables), dict(headers)

    @contextlib.asynccontextmanager
    async def connect(self, stderr: bytearray) -> AsyncIterator[Client]:
        """A client.

        Args:
            stderr: Receives the end of what a command writes to its standard error.
        """
        import logging

        from mcp import Client

        from r_eval.environments.tools.transports import http_streams, process_streams

        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it prints tracebacks for what a server does wrong
        if self.url:
            streams = http_streams(self.url, self._headers, self.seconds)
        else:
            streams = process_streams(self.command, self._variables, stderr)
        async with Client(streams, cache=None) as client:
            yield client


class Connection:
    """One connection to a server; its methods may be called from any thread or event loop."""

    def __init__(self, server: Server) -> None:
        self._life = _Life(server)
        _open.add(self._life)
        weakref.finalize(self, _close, self._life).atexit = False

    async def ask(self, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
        """What the server answers.

        Args:
            question: Asks it.

        Raises:
            ToolError: The server reports an error.
            EnvironmentFailure: It cannot be reached, has gone, or is too slow.
        """
        return await background.run_on_loop(self._life.ask(question))

    def close(self) -> None:
        """Close it, without waiting until that is done; a later call opens it again."""
        _close(self._life)


class _Life:
    """The task that holds a connection; used on the background loop only."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._over = asyncio.Event()
        self._stderr = bytearray()

    @property
    def has_begun(self) -> bool:
        return self._task is not None

    async def ask(self, question: Callable[[Client], Awaitable[Answer]]) -> Answer:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED, PARSE_ERROR

        from r_eval.environments.tools.transports import DOWN

        client = await self._client()
        seconds = self._server.seconds
        try:
            async with asyncio.timeout(seconds):
                return await question(client)
        except TimeoutError:
            raise EnvironmentFailure(f"the MCP server gave no answer within {seconds:g} s") from None
        except MCPError as error:
            if error.code == CONNECTION_CLOSED and error.message == "Connection closed":  # servers use the code, too
                raise EnvironmentFailure(f"the MCP server has gone{await self._last_words()}") from None
            text = printable(error.message)
            if error.code in (DOWN, PARSE_ERROR):
                self.end()
                raise EnvironmentFailure(f"the MCP server failed: {clip(text, 300)}") from None
            raise ToolError(clip(text, 2000) or "The tool failed and does not say why.") from None
        except ToolError:
            raise
        except Exception as error:
            raise EnvironmentFailure(f"the MCP server failed: {reason(error)}") from error

    def end(self) -> asyncio.Task[None] | None:
        """Have the connection closed; returns the task that does it."""
        task, self._task = self._task, None
        self._over.set()
        return task

    async def _client(self) -> Client:
        if self._task is None or self._ready is None or self._task.done():
            self._ready = asyncio.get_running_loop().create_future()
            self._over = asyncio.Event()
            self._task = asyncio.create_task(self._live(self._ready, self._over))
        try:
            async with asyncio.timeout(self._server.seconds):
                return await asyncio.shield(self._ready)
        except TimeoutError:
            self._task.cancel()
            words = await self._last_words()
            seconds = self._server.seconds
            raise EnvironmentFailure(f"the MCP server did not start within {seconds:g} s{words}") from None
        except Exception as error:  # noqa: BLE001  whatever the SDK and the transport raise
            words = await self._last_words()
            raise EnvironmentFailure(f"the MCP server cannot be reached: {reason(error)}{words}") from None

    async def _last_words(self) -> str:
        """The last line that the server wrote to its standard error, if there is one, once the connection is closed."""
        if task := self.end():
            await asyncio.wait([task], timeout=5)
        lines = printable(self._stderr.decode("utf-8", "replace")).split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"; it said: {clip(last, 200)}" if last else ""

    async def _live(self, ready: asyncio.Future[Client], over: asyncio.Event) -> None:
        self._stderr.clear()
        try:
            async with self._server.connect(self._stderr) as client:
                ready.set_result(client)
                await over.wait()
        except Exception as error:  # noqa: BLE001  whoever waits for the connection is told
            if not ready.done():
                ready.set_exception(error)


def reason(error: BaseException) -> str:
    """What an exception says; of a group, what its first one says."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return clip(printable(f"{type(error).__name__}: {error}".rstrip(": ")), 300)


_open: weakref.WeakSet[_Life] = weakref.WeakSet()


def _close(life: _Life) -> None:
    async def end() -> None:
        life.end()

    if life.has_begun:
        background.begin(end())


async def _close_all() -> None:
    tasks = [task for life in list(_open) if (task := life.end())]
    if tasks:
        await asyncio.wait(tasks)


background.closed_at_exit(_close_all)
