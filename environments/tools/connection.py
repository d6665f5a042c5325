"""A connection to an MCP server: opened by the first call, kept by a task of its own on the background loop.

The SDK wants a connection closed by the task that opened it, so that task waits for the whole life of the connection.
One that breaks is dropped; the next call opens another. All that are open at the end of the process are closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import tempfile
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from r_eval.environments.base import EnvironmentFailure, NotFound
from r_eval.environments.schema import clip
from r_eval.environments.tools import background

if TYPE_CHECKING:
    from mcp import Client

Answer = TypeVar("Answer")

OPENING_SECONDS = 120.0
MODELS_FAULT = (-32602, -32601)
"""JSON-RPC's invalid params and unknown method: what was asked for is wrong, not the server."""


class Server:
    """Where an MCP server is: a command, or the URL of its streamable HTTP endpoint.

    Args:
        where: The command line (split as a shell would, but run without one), or a URL.
        variables: Environment variables that a command gets besides the usual few (PATH, HOME, ...).
        headers: HTTP headers of every request.
    """

    def __init__(self, where: str, variables: Mapping[str, str], headers: Mapping[str, str]) -> None:
        self.where = where
        self.url = where if where.startswith(("http://", "https://")) else None
        self.command = [] if self.url else shlex.split(where)
        if not self.url and not self.command:
            raise ValueError("expected a command or a URL after mcp:")
        self._variables, self._headers = dict(variables), dict(headers)

    @contextlib.asynccontextmanager
    async def connect(self, log: Any) -> AsyncIterator[Client]:
        """A client; what a command writes to its standard error goes to the file `log`."""
        from mcp import Client, StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        if self.url:
            from mcp.shared._httpx_utils import create_mcp_http_client

            async with (
                create_mcp_http_client(headers=self._headers) as http,
                Client(streamable_http_client(self.url, http_client=http), cache=None) as client,
            ):
                yield client
            return
        program, *arguments = self.command
        parameters = StdioServerParameters(command=program, args=arguments, env=self._variables)
        async with Client(stdio_client(parameters, errlog=log), cache=None) as client:
            yield client


class Connection:
    """One connection to a server; its methods may be called from any thread or event loop."""

    def __init__(self, server: Server, timeout: float) -> None:
        self._server, self._timeout = server, timeout
        self._life = _Life(server)
        _open.add(self._life)
        weakref.finalize(self, _close, self._life).atexit = False

    async def ask(self, question: Callable[[Client], Awaitable[Answer]], seconds: float | None = None) -> Answer:
        """What the server answers.

        Args:
            question: Asks it.
            seconds: Deadline, instead of that of a call.

        Raises:
            NotFound: The server says that there is no such thing, or that arguments are wrong.
            EnvironmentFailure: It cannot be reached, has gone, is too slow, or fails.
        """
        return await background.over_there(self._asked(question, seconds or self._timeout))

    def close(self) -> None:
        """Close it, without waiting until that is done; a later call opens it again."""
        _close(self._life)

    async def _asked(self, question: Callable[[Client], Awaitable[Answer]], seconds: float) -> Answer:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        client = await self._life.client()
        try:
            async with asyncio.timeout(seconds):
                return await question(client)
        except TimeoutError:
            raise EnvironmentFailure(f"the MCP server gave no answer within {seconds:g} s") from None
        except MCPError as error:
            if error.code in MODELS_FAULT:
                raise NotFound(clip(error.message, 2000)) from None
            if error.code == CONNECTION_CLOSED:
                self._life.end()
                raise EnvironmentFailure(f"the MCP server has gone{self._life.last_words()}") from None
            raise EnvironmentFailure(f"the MCP server failed: {clip(error.message, 300)}") from None
        except Exception as error:
            raise EnvironmentFailure(f"the MCP server failed: {reason(error)}") from error


class _Life:
    """The task that holds a connection; used on the background loop only."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._over = asyncio.Event()
        self._log: Any = None

    @property
    def begun(self) -> bool:
        return self._task is not None

    async def client(self) -> Client:
        if self._task is None or self._ready is None or self._task.done():
            self._ready = asyncio.get_running_loop().create_future()
            self._over = asyncio.Event()
            self._task = asyncio.create_task(self._live(self._ready, self._over))
        try:
            async with asyncio.timeout(OPENING_SECONDS):
                return await asyncio.shield(self._ready)
        except TimeoutError:
            self._task.cancel()
            self._task = None
            words = self.last_words()
            raise EnvironmentFailure(f"the MCP server did not start within {OPENING_SECONDS:g} s{words}") from None
        except Exception as error:  # noqa: BLE001  whatever the SDK and the transport raise
            raise EnvironmentFailure(f"the MCP server cannot be reached: {reason(error)}{self.last_words()}") from None

    def end(self) -> asyncio.Task[None] | None:
        """Have the connection closed; returns the task that does it."""
        task, self._task = self._task, None
        self._over.set()
        return task

    def last_words(self) -> str:
        """The last line that the server wrote to its standard error, if there is one."""
        if self._log is None or self._log.closed:
            return ""
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"; it said: {clip(last, 200)}" if last else ""

    async def _live(self, ready: asyncio.Future[Client], over: asyncio.Event) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  read after the connection is lost
        try:
            async with self._server.connect(self._log) as client:
                ready.set_result(client)
                await over.wait()
        except Exception as error:  # noqa: BLE001  whoever waits for the connection is told
            if not ready.done():
                ready.set_exception(error)


def reason(error: BaseException) -> str:
    """What an exception says; of a group, what its first one says."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return clip(f"{type(error).__name__}: {error}".rstrip(": "), 300)


def from_variables(names: Mapping[str, str]) -> dict[str, str]:
    """Values out of environment variables, which are named so that a secret stands in no file.

    Raises:
        ValueError: A variable is not set.
    """
    missing = [variable for variable in names.values() if variable not in os.environ]
    if missing:
        raise ValueError(f"the environment variable {missing[0]} is not set")
    return {key: os.environ[variable] for key, variable in names.items()}


_open: weakref.WeakSet[_Life] = weakref.WeakSet()


def _close(life: _Life) -> None:
    async def end() -> None:
        life.end()

    if life.begun:
        background.begin(end())


async def _close_all() -> None:
    tasks = [task for life in list(_open) if (task := life.end())]
    if tasks:
        await asyncio.wait(tasks)


background.closed_at_exit(_close_all)
