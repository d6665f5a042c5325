"""How messages travel to and from an MCP server: standard input and output of a process, or HTTP.

The server is a stranger, so what it sends is bounded and repaired before the SDK reads it: an answer has at most
`LARGEST` bytes, noise between messages is skipped, half a surrogate pair is replaced, and a message that cannot be read
answers its request with an error instead of leaving it to wait. Errors that say that the server is out of reach, and
not that a tool failed, have the code `DOWN`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from r_eval.environments.tools.base import LARGEST
from r_eval.text import clean

DOWN = -32999
"""JSON-RPC code of this module's own: the server cannot be reached, or its answer cannot be read."""
TOO_LARGE = -32998
TOO_LARGE_TEXT = f"The answer is larger than {LARGEST // 1_000_000} MB. Ask for less."
STDERR_BYTES = 2000
"""How much of the end of a process's standard error is remembered."""
MOST_NOISE = 5_000
"""Messages in a row that answer nothing; a server that sends more floods."""
GRACE_SECONDS = 2.0
"""How long a process may take to end once its input is closed, and again once it got SIGTERM."""
REQUEST_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,60}")')

Incoming = MemoryObjectSendStream[SessionMessage | Exception]


@contextlib.asynccontextmanager
async def process_streams(
    command: Sequence[str], variables: Mapping[str, str], stderr: bytearray
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a server that a command starts; the process and its children end with the context.

    Args:
        variables: Environment variables besides the usual few (PATH, HOME, ...).
        stderr: Receives the end of what the process writes to its standard error.
    """
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env={**get_default_environment(), **variables},
        start_new_session=True,
    )
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    tail = asyncio.create_task(_remember(process.stderr, stderr))
    tasks = [asyncio.create_task(_receive(process.stdout, incoming)), asyncio.create_task(_send(process, outgoing))]
    try:
        yield received, sent
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.shield(_stop(process, tail))


async def _send(process: asyncio.subprocess.Process, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):  # the end of its output says that it has gone
        async for message in outgoing:
            process.stdin.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await process.stdin.drain()


async def _receive(stdout: asyncio.StreamReader | None, incoming: Incoming) -> None:
    noise = 0
    async with incoming:
        async for line in _lines(stdout):
            message = message_of(line)
            noise = 0 if isinstance(message, dict) and ("result" in message or "error" in message) else noise + 1
            if noise > MOST_NOISE:
                return
            if message is not None:
                with contextlib.suppress(ValueError):  # a message of no known form is noise, too
                    parsed = jsonrpc_message_adapter.validate_python(message, by_name=False)
                    await incoming.send(SessionMessage(parsed))


async def _lines(stream: asyncio.StreamReader | None) -> AsyncIterator[bytes]:
    """Lines; of one that is too long the beginning, as soon as it is too long."""
    parts: list[bytes] = []
    size = 0
    while stream is not None and (chunk := await stream.read(65536)):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            if size <= LARGEST:
                yield b"".join([*parts, end])
            parts, size = [], 0
        if size <= LARGEST:
            parts.append(rest)
            size += len(rest)
            if size > LARGEST:
                yield b"".join(parts)
                parts = []


def message_of(line: bytes) -> dict[str, Any] | None:
    """The JSON-RPC message in a line, repaired where that is possible; None where there is none."""
    try:
        if len(line) > LARGEST:
            raise ValueError(TOO_LARGE_TEXT)
        text = line.decode("utf-8", "replace")
        message = json.loads(text)
        if "\\ud" in text.lower():
            message = json.loads(clean(json.dumps(message, ensure_ascii=False)))
    except (ValueError, RecursionError):
        found = REQUEST_ID.search(line[:200])
        if found is None:
            return None
        large = len(line) > LARGEST
        text = TOO_LARGE_TEXT if large else "the server's answer cannot be read"
        return _error(json.loads(found.group(1)), TOO_LARGE if large else DOWN, text)
    if not isinstance(message, dict):
        return None
    error = message.get("error")
    if error is not None and not (isinstance(error, dict) and isinstance(error.get("message"), str)):
        words = error.get("message", error) if isinstance(error, dict) else error
        text = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
        code = error.get("code") if isinstance(error, dict) else None
        return _error(message.get("id"), code if isinstance(code, int) else 0, text)
    if isinstance(error, dict) and not isinstance(error.get("code"), int):
        return _error(message.get("id"), 0, error["message"])
    return message


def _error(request: Any, code: int, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": text}}


async def _remember(stream: asyncio.StreamReader | None, end: bytearray) -> None:
    while stream is not None and (chunk := await stream.read(65536)):
        end += chunk
        del end[:-STDERR_BYTES]


async def _stop(process: asyncio.subprocess.Process, tail: asyncio.Task[None]) -> None:
    """End a process and its children: its input is closed, then come SIGTERM and SIGKILL."""
    if process.stdin is not None:
        process.stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                await _ended(process)
                break
    await asyncio.wait([tail], timeout=0.5)  # a grandchild may keep it open
    tail.cancel()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Wait for a process itself, not for its pipes, which its children may keep open."""
    while process.returncode is None:
        await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def http_streams(url: str, headers: Mapping[str, str], seconds: float) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a server at a URL.

    Args:
        headers: Headers of every request.
        seconds: How long it may be silent.
    """
    client = httpx2.AsyncClient(transport=_Bounded(), headers=dict(headers), timeout=httpx2.Timeout(seconds, read=None))
    async with client, streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST) as streams:
        yield streams[0], streams[1]


class _Bounded(httpx2.AsyncBaseTransport):
    """HTTP whose answers are bounded, and whose failures are JSON-RPC errors with the code `DOWN`."""

    def __init__(self) -> None:
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "identity"
        try:
            response = await self._inner.handle_async_request(request)
        except httpx2.TransportError as error:
            if request.method != "POST":
                raise
            return _refusal(DOWN, f"it cannot be reached: {type(error).__name__}: {error}")
        if response.status_code < 400 and "event-stream" in response.headers.get("Content-Type", ""):
            return response
        try:
            body = await _body(response)
        finally:
            await response.aclose()
        if body is None:
            return _refusal(TOO_LARGE, TOO_LARGE_TEXT)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            return _refusal(DOWN, "it sends compressed data, which it was not asked for")
        target = request.url.join(response.headers.get("Location", ""))
        if response.is_redirect and (target.scheme, target.netloc) != (request.url.scheme, request.url.netloc):
            return _refusal(DOWN, "it redirects to another server")
        if request.method == "POST" and response.status_code >= 400 and not _is_error(body):
            return _refusal(DOWN, f"it answers HTTP {response.status_code}")
        return httpx2.Response(response.status_code, headers=response.headers, content=body, request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _body(response: httpx2.Response) -> bytes | None:
    parts, size = [], 0
    async for part in response.aiter_raw():
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            return None
    return b"".join(parts)


def _is_error(body: bytes) -> bool:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and isinstance(message.get("error"), dict) and "jsonrpc" in message


def _refusal(code: int, text: str) -> httpx2.Response:
    return httpx2.Response(400, json=_error(None, code, text))
