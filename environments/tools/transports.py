"""How messages travel to and from an MCP server: standard input and output of a process, or HTTP.

What a server sends that the SDK cannot read is repaired where that is possible: half a surrogate pair, bytes that are
not UTF-8, an error that is no object. Any other such message answers its request with an error instead of leaving it to
wait. An answer has at most `LARGEST` bytes. Errors that say that the server is out of reach, and not that a tool
failed, have the code `DOWN`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TextIO

import anyio
import httpx2
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError

from r_eval.environments.tools.base import LARGEST, TOO_LARGE
from r_eval.text import clean_data

DOWN = -32999
"""JSON-RPC code of this module's own: the server cannot be reached, or its answer cannot be read."""
UNREADABLE = {"code": DOWN, "message": "the server's answer cannot be read"}
REQUEST_ID = re.compile(r'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,60}")')
LONGEST_LINE = LARGEST + (1 << 20)
MOST_DROPPED = 100_000_000
"""Bytes of one line that are read and dropped before its process is ended."""
SECONDS_TO_END = 2.0
"""For a process after its standard input is closed, and again after it is asked to end."""


@contextlib.asynccontextmanager
async def process_streams(
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
                if (message := readable(line)) is not None:
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


def readable(line: bytes) -> SessionMessage | None:
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


def _refusal(text: str, code: int = DOWN) -> httpx2.Response:
    error = {"code": code, "message": text}
    return httpx2.Response(400, json={"jsonrpc": "2.0", "id": None, "error": error})
