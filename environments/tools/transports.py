"""How messages travel to and from an MCP server: standard input and output of a process, or HTTP.

What a server sends that the SDK cannot read is repaired where that is possible: half a surrogate pair, an error that is
no object. Any other such message answers its request with an error instead of leaving it to wait. An answer has at most
`LARGEST` bytes. Errors that say that the server is out of reach, and not that a tool failed, have the code
`DOWN`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import anyio
import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError

from r_eval.environments.tools.base import LARGEST, TOO_LARGE
from r_eval.text import clean_data

DOWN = -32999
"""JSON-RPC code of this module's own: the server cannot be reached, or its answer cannot be read."""
REQUEST_ID = re.compile(r'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,60}")')


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
    relay = ["-I", str(Path(__file__).with_name("relay.py")), str(LARGEST + (1 << 20)), *command]
    parameters = StdioServerParameters(command=sys.executable, args=relay, env=dict(variables))
    repaired, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    async with stdio_client(parameters, stderr) as (incoming, outgoing):

        async def repair() -> None:
            async with repaired:
                async for message in incoming:
                    if isinstance(message, ValidationError):
                        message = readable(message.errors(include_url=False)[0]["input"])
                    if message is not None:
                        await repaired.send(message)

        task = asyncio.create_task(repair())
        try:
            yield received, outgoing
        finally:
            task.cancel()


def readable(message: Any) -> SessionMessage | None:
    """A message that the SDK could not read (a line, or the data in it), repaired; None where it is but noise."""
    try:
        data = json.loads(message) if isinstance(message, str) else message
        if isinstance(message, str) and "\\ud" in message.lower():
            data = clean_data(data)
    except (ValueError, RecursionError):
        found = REQUEST_ID.search(message[:200])
        if found is None:
            return None
        is_large = len(message) > LARGEST
        error = {"code": DOWN, "message": "the server's answer cannot be read"}
        error = {"code": INTERNAL_ERROR, "message": TOO_LARGE} if is_large else error
        data = {"jsonrpc": "2.0", "id": json.loads(found.group(1)), "error": error}
    if isinstance(data, dict) and data.get("error") is not None:
        error = data["error"] if isinstance(data["error"], dict) else {"message": data["error"]}
        code, words = error.get("code"), error.get("message", error)
        text = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
        data = {**data, "error": {"code": code if isinstance(code, int) else INTERNAL_ERROR, "message": text}}
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(data, by_name=False))
    except ValidationError:
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
