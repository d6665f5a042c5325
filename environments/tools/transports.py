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
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import anyio
import httpx2
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, jsonrpc_message_adapter

from r_eval.environments.tools.base import LARGEST, TOO_LARGE
from r_eval.text import clean_data

DOWN = -32999
"""JSON-RPC code of this module's own: the server cannot be reached, or its answer cannot be read."""
STDERR_BYTES = 2000
"""How much of the end of a process's standard error is remembered."""
GRACE_SECONDS = 2.0
"""How long a process may take to end once its input is closed, and again once it got SIGTERM."""
REQUEST_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,60}")')

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]


@contextlib.asynccontextmanager
async def process_streams(
    command: Sequence[str], variables: Mapping[str, str], stderr: bytearray
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a server that a command starts; the process and its children end with the context.

    Args:
        variables: Environment variables besides the usual few (PATH, HOME, ...).
        stderr: Receives the end of what the process writes to its standard error.
    """
    env = {**get_default_environment(), **variables}
    process = await anyio.open_process(list(command), env=env, start_new_session=True)
    assert process.stdin
    assert process.stdout
    assert process.stderr
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    tail = asyncio.create_task(_remember(process.stderr, stderr))
    tasks = [
        asyncio.create_task(_receive(process.stdout, incoming)),
        asyncio.create_task(_send(process.stdin, outgoing)),
    ]
    try:
        yield received, sent
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.shield(_stop(process, tail))


async def _send(stdin: ByteSendStream, outgoing: Outgoing) -> None:
    with contextlib.suppress(ConnectionError, anyio.BrokenResourceError):  # the end of its output says that it has gone
        async for message in outgoing:
            await stdin.send(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")


async def _receive(stdout: ByteReceiveStream, incoming: Incoming) -> None:
    async with incoming:
        async for line in _lines(stdout):
            with contextlib.suppress(ValueError):  # a line of no known form is noise
                parsed = jsonrpc_message_adapter.validate_python(message_of(line), by_name=False)
                await incoming.send(SessionMessage(parsed))


async def _lines(stream: ByteReceiveStream) -> AsyncIterator[bytes]:
    """Lines; of one that is too long the beginning, as soon as it is too long."""
    parts: list[bytes] = []
    size = 0
    async for chunk in stream:
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
            raise ValueError
        message = json.loads(line.decode("utf-8", "replace"))
        if b"\\ud" in line.lower():
            message = clean_data(message)
    except (ValueError, RecursionError):
        found = REQUEST_ID.search(line[:200])
        if found is None:
            return None
        is_large = len(line) > LARGEST
        code, text = (INTERNAL_ERROR, TOO_LARGE) if is_large else (DOWN, "the server's answer cannot be read")
        return {"jsonrpc": "2.0", "id": json.loads(found.group(1)), "error": {"code": code, "message": text}}
    if not isinstance(message, dict) or message.get("error") is None:
        return message if isinstance(message, dict) else None
    error = message["error"] if isinstance(message["error"], dict) else {"message": message["error"]}
    code, words = error.get("code"), error.get("message", error)
    text = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
    return message | {"error": {"code": code if isinstance(code, int) else INTERNAL_ERROR, "message": text}}


async def _remember(stream: ByteReceiveStream, end: bytearray) -> None:
    async for chunk in stream:
        end += chunk
        del end[:-STDERR_BYTES]


async def _stop(process: Process, tail: asyncio.Task[None]) -> None:
    """End a process and its children: its input is closed, then come SIGTERM and SIGKILL."""
    if process.stdin:
        with contextlib.suppress(OSError, anyio.BrokenResourceError):
            await process.stdin.aclose()
    with anyio.move_on_after(GRACE_SECONDS):
        while process.returncode is None:  # `wait` would wait for its pipes, which its children may keep open
            await anyio.sleep(0.01)
    await terminate_posix_process_tree(process, GRACE_SECONDS)
    await asyncio.wait([tail], timeout=0.5)
    tail.cancel()


@contextlib.asynccontextmanager
async def http_streams(url: str, headers: Mapping[str, str], seconds: float) -> AsyncIterator[tuple[Any, Any]]:
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
        if request.method == "POST" and response.status_code >= 300 and not _is_error(body):
            return _refusal(f"it answers HTTP {response.status_code}")
        return httpx2.Response(response.status_code, headers=response.headers, content=bytes(body), request=request)


def _is_error(body: bytes | bytearray) -> bool:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and isinstance(message.get("error"), dict) and "jsonrpc" in message


def _refusal(text: str, code: int = DOWN) -> httpx2.Response:
    error = {"code": code, "message": text}
    return httpx2.Response(400, json={"jsonrpc": "2.0", "id": None, "error": error})
