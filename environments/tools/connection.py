"""A connection to an MCP server, over standard input and output of a process, or over HTTP.

It is opened by the first call, by a task of its own on a loop that all connections share: the SDK wants a connection
closed by the task that opened it, so that task waits for the whole life of the connection. One that breaks, or whose
server does not answer in time, is dropped; the next call opens another. All that are open at the end of the process are
closed.

What a server sends that the SDK cannot read is repaired where that is possible: half a surrogate pair, bytes that are
not UTF-8, an error that is no object. Any other such message answers its request with an error instead of leaving it to
wait. An answer has at most `LARGEST` bytes. Errors that say that the server is out of reach, and not that a tool
failed, have the code `DOWN`.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import json
import logging
import os
import re
import shlex
import shutil
import signal
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import Any, TextIO, TypeVar

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError

from r_eval.environments.base import EnvironmentFailure, ToolError
from r_eval.environments.schema import clip
from r_eval.environments.tools.base import LARGEST, LONGEST_ERROR, TOO_LARGE
from r_eval.text import clean_data, printable

Answer = TypeVar("Answer")
Streams = Callable[[TextIO], AbstractAsyncContextManager[Any]]
SDK_FAILURES = ("SSE stream ended", "Unexpected content type", "server answered a request with 202")
"""How the SDK's own errors begin where an answer is none; servers use their codes, too."""
LAST_BYTES = 2000
"""How much of the end of a process's standard error is read."""
CLOSING_SECONDS = 10.0
DOWN = -32999
"""JSON-RPC code of this module's own: the server cannot be reached, or its answer cannot be read."""
UNREADABLE = {"code": DOWN, "message": "the server's answer cannot be read"}
REQUEST_ID = re.compile(r'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,60}")')
LONGEST_LINE = LARGEST + (1 << 20)
MOST_DROPPED = 100_000_000
"""Bytes of one line that are read and dropped before its process is ended."""
SECONDS_TO_END = 2.0
"""For a process after its standard input is closed, and again after it is asked to end."""


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
            elif code is None or code in (DOWN, PARSE_ERROR) or text.startswith(SDK_FAILURES):
                reason = f"failed: {clip(' '.join(text.split()), 300) or _reason(error)}"
            else:
                data = getattr(error, "data", None)
                detail = data if isinstance(data, str) else "" if data is None else json.dumps(data, ensure_ascii=False)
                raise ToolError(clip(f"{text} {printable(detail)}".strip(), LONGEST_ERROR)) from None
            raise EnvironmentFailure(f"the MCP server {reason}{await self._stderr_tail()}") from None

    async def _live(self, ready: asyncio.Future[Client], over: asyncio.Event) -> None:
        """Hold the connection until it is over."""
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


def streams_of(server: str, variables: Mapping[str, str], headers: Mapping[str, str], seconds: float) -> Streams:
    """What opens the streams of a server at a URL, or of a command, which is split as a shell would, but run without
    one.
    """
    if server.startswith(("http://", "https://")):
        return lambda stderr: _http_streams(server, headers, seconds)
    command = shlex.split(server)
    if not command:
        raise ValueError("expected a command or a URL after mcp:")
    return functools.partial(_process_streams, command, variables)


@contextlib.asynccontextmanager
async def _process_streams(
    command: Sequence[str], variables: Mapping[str, str], stderr: TextIO
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a server that a command starts; the process and its children end with the context.

    Args:
        variables: Environment variables besides the usual few (PATH, HOME, ...).
        stderr: The file of the process's standard error.
    """
    if shutil.which(command[0]) is None:
        raise FileNotFoundError(f"there is no program {command[0]}")
    environment, pipe = {**get_default_environment(), **variables}, asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=stderr, env=environment, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with incoming:
            async for line in _lines(stdout):
                if (message := _readable(line)) is not None:
                    await incoming.send(message)

    async def write() -> None:
        async for each in to_send:
            stdin.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            with contextlib.suppress(ConnectionError):  # reading says that it has gone
                await stdin.drain()

    tasks = [asyncio.create_task(read()), asyncio.create_task(write())]
    try:
        yield received, outgoing
    finally:
        for task in tasks:
            task.cancel()
        stdin.close()
        await asyncio.shield(_end(process))


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The lines of a stream, of one that is too long only the beginning; ends with a line of far too many bytes."""
    line, dropped = bytearray(), 0
    while part := await stream.read(1 << 16):
        for number, piece in enumerate(part.split(b"\n")):
            if number:
                if not dropped:
                    yield bytes(line)
                line, dropped = bytearray(), 0
            if dropped:
                dropped += len(piece)
                continue
            line += piece
            if len(line) > LONGEST_LINE:
                dropped = len(line)
                yield bytes(line)
        if dropped > MOST_DROPPED:
            return


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process, whose input is closed, with its children."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), SECONDS_TO_END)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
    await process.wait()


def _readable(line: bytes) -> SessionMessage | None:
    """A message of a server, repaired where that is needed; None where it is but noise."""
    with contextlib.suppress(ValidationError):
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    text = line.decode("utf-8-sig", "replace")
    try:
        data = json.loads(text)
        if "\\ud" in text.lower():  # half a surrogate pair
            data = clean_data(data)
    except (ValueError, RecursionError):
        found = REQUEST_ID.search(text[:200])
        why = {"code": INTERNAL_ERROR, "message": TOO_LARGE} if len(line) > LARGEST else UNREADABLE
        data = {"id": json.loads(found.group(1)), "error": why} if found else None
    if isinstance(data, list) and len(data) == 1:  # a batch
        data = data[0]
    if not isinstance(data, dict):
        return None
    if (problem := data.get("error")) is not None:
        about = problem if isinstance(problem, dict) else {"message": problem}
        code, words = about.get("code"), about.get("message", about)
        text = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
        data = {**data, "error": {"code": code if isinstance(code, int) else INTERNAL_ERROR, "message": text}}
    forms = [{**data, "jsonrpc": "2.0"}]
    if data.get("id") is not None and "result" in data:
        forms.append({"jsonrpc": "2.0", "id": data["id"], "error": UNREADABLE})
    for form in forms:
        with contextlib.suppress(ValidationError):
            return SessionMessage(jsonrpc_message_adapter.validate_python(form, by_name=False))
    return None


@contextlib.asynccontextmanager
async def _http_streams(url: str, headers: Mapping[str, str], seconds: float) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a server at a URL.

    Args:
        headers: Headers of every request.
        seconds: How long it may be silent.
    """
    timeout = httpx2.Timeout(seconds, read=None)
    client = httpx2.AsyncClient(transport=_Bounded(), headers=dict(headers), timeout=timeout)
    async with client, streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST) as streams:
        yield streams[0], streams[1]


class _Bounded(httpx2.AsyncHTTPTransport):
    """HTTP whose answers are bounded, and whose failures are JSON-RPC errors with the code `DOWN`."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "identity"
        try:
            response = await super().handle_async_request(request)
        except httpx2.TransportError as error:
            if request.method != "POST":
                raise
            return _refusal(f"it cannot be reached: {type(error).__name__}: {error}")
        if response.status_code < 400 and "event-stream" in response.headers.get("Content-Type", ""):
            return response
        body = bytearray()
        try:
            async for part in response.aiter_raw():
                body += part
                if len(body) > LARGEST:
                    return _refusal(TOO_LARGE, INTERNAL_ERROR)
        finally:
            await response.aclose()
        if response.headers.get("Content-Encoding", "identity") != "identity":
            return _refusal("it sends compressed data, which the request does not accept")
        is_error = _is_error(body) and not _is_lost_session(request, response.status_code, body)
        if request.method == "POST" and response.status_code >= 300 and not is_error:
            target = response.headers.get("Location")
            return _refusal(f"it answers HTTP {response.status_code}" + (f", go to {target}" if target else ""))
        text = body.decode("utf-8-sig", "replace")
        return httpx2.Response(response.status_code, headers=response.headers, content=text, request=request)


def _is_error(body: bytes | bytearray) -> bool:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and isinstance(message.get("error"), dict) and "jsonrpc" in message


def _is_lost_session(request: httpx2.Request, status: int, body: bytes | bytearray) -> bool:
    """Whether a server says that it does not know the session (any more), as after a restart."""
    return "mcp-session-id" in request.headers and (status == 404 or (status == 400 and b"session" in body.lower()))


def _refusal(text: str, code: int = DOWN) -> httpx2.Response:
    error = {"code": code, "message": text}
    return httpx2.Response(400, json={"jsonrpc": "2.0", "id": None, "error": error})
