"""Any environment as an MCP server: its query APIs are the tools. Over standard input and output, or over HTTP.

Each client has a session of its own, so that what a query API leaves behind (the page that Lookup reads) is there for
its next call.
"""

from __future__ import annotations

import asyncio
import collections
import importlib.util
import os
import secrets
import signal
import threading
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Protocol

from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.schema import ApiSpec
from r_eval.environments.session import CallResult, Session
from r_eval.errors import MissingExtra

if TYPE_CHECKING:
    from aiohttp import web
    from mcp.server import Server

SESSION = "Mcp-Session-Id"
VERSION = "Mcp-Protocol-Version"
UNCUT = 10**9
"""Tokens of an observation that is never cut: whoever shows it to a model does that."""
MOST_SESSIONS = 1000
"""Open at a time; a client that comes back after its own was closed gets a new one."""


class Sessions:
    """Open sessions of one environment, by an id that the client keeps; those used longest ago make room."""

    def __init__(self, environment: Environment) -> None:
        self._environment, self._sandbox = environment, Sandbox()
        self._sessions: collections.OrderedDict[str, Session] = collections.OrderedDict()

    def of(self, client: str | None) -> tuple[str, Session]:
        """The id and the session of a client; one without id gets both."""
        key = client or secrets.token_urlsafe(16)
        if key not in self._sessions:
            self._sessions[key] = Session(self._environment, self._sandbox, tokens=UNCUT)
        self._sessions.move_to_end(key)
        while len(self._sessions) > MOST_SESSIONS:
            self.drop(next(iter(self._sessions)))
        return key, self._sessions[key]

    def drop(self, client: str) -> None:
        """Close the session of a client, if it has one."""
        if session := self._sessions.pop(client, None):
            session.close()

    def close(self) -> None:
        """Close all."""
        for client in list(self._sessions):
            self.drop(client)


def serve_mcp(environment: Environment, name: str = "r-eval") -> None:
    """Serve an environment until the client closes standard input, or SIGINT or SIGTERM comes.

    Raises:
        MissingExtra: The SDK is not installed.
    """
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtra("mcp", "mcp", "Serving an environment over MCP")
    session = Session(environment, Sandbox(), tokens=UNCUT)
    try:
        asyncio.run(_serve(server_of(lambda context: session, name, environment)))
    finally:
        session.close()


async def _serve(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):  # a thread of the SDK waits for input, which nothing else ends
            asyncio.get_running_loop().add_signal_handler(number, os._exit, 0)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def add_mcp(app: web.Application, environment: Environment, sessions: Sessions) -> None:
    """Add the MCP server to a web application, as `/mcp` (streamable HTTP, answers as JSON).

    The 2026 protocol has no sessions, so its requests are refused, and its clients go on with an older one.

    Args:
        sessions: Where the session of each client is kept.
    """
    from aiohttp import web
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

    def session_for(context: Any) -> Session:
        return sessions.of(f"mcp:{context.request.headers.get(SESSION)}")[1]

    manager = StreamableHTTPSessionManager(server_of(session_for, "r-eval", environment), json_response=True)

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.headers.get(VERSION, HANDSHAKE_PROTOCOL_VERSIONS[-1]) not in HANDSHAKE_PROTOCOL_VERSIONS:
            return web.Response(status=404)
        response = await asgi_response(manager.handle_request, request)
        if request.method == "DELETE":
            sessions.drop(f"mcp:{request.headers.get(SESSION)}")
        return response

    async def run(app: web.Application) -> AsyncIterator[None]:
        async with manager.run():
            yield

    app.router.add_post("/mcp", answer)
    app.router.add_delete("/mcp", answer)
    app.cleanup_ctx.append(run)


async def asgi_response(application: Callable[..., Any], request: web.Request) -> web.Response:
    """What an ASGI application answers to a request, as a whole."""
    import httpx2
    from aiohttp import web

    body, headers = await request.read(), list(request.headers.items())
    asgi_request = httpx2.Request(request.method, str(request.url), headers=headers, content=body)
    answer = await httpx2.ASGITransport(application).handle_async_request(asgi_request)
    return web.Response(status=answer.status_code, headers=dict(answer.headers), body=await answer.aread())


class Caller(Protocol):
    """What the MCP server needs of a session."""

    specs: dict[str, ApiSpec]

    async def call(self, api: str, arguments: dict[str, Any]) -> CallResult: ...


def server_of(
    session_for: Callable[[Any], Caller], name: str, environment: Environment | None = None, is_structured: bool = True
) -> Server[Any]:
    """The MCP server over sessions. An observation that is an error is a tool's error, which the model reads.

    Args:
        session_for: The session of the client that a request's context is of.
        environment: Its version and description are the server's.
        is_structured: Whether results hold the value as well as the observation; without it, a client sees what a model
            sees and no more.
    """
    import mcp_types as types
    from mcp import MCPError
    from mcp.server import Server

    reading: frozenset[str] = getattr(environment, "read_only", frozenset())

    def tool(spec: ApiSpec) -> types.Tool:
        wrapped = {"type": "object", "properties": {"result": spec.result}, "required": ["result"]}
        return types.Tool(
            name=spec.name,
            description=f"{spec.summary}\n\n{spec.details}".strip(),
            input_schema=spec.json_schema(),
            output_schema=wrapped if is_structured else None,
            annotations=types.ToolAnnotations(read_only_hint=True) if spec.name in reading else None,
        )

    async def listed(context: Any, parameters: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool(spec) for spec in session_for(context).specs.values()])

    async def called(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            result = await session_for(context).call(parameters.name, parameters.arguments or {})
        except EnvironmentFailure as failure:
            raise MCPError(types.INTERNAL_ERROR, str(failure)) from None
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=result.observation)],
            structured_content={"result": result.value} if is_structured and not result.error else None,
            is_error=result.error is not None,
        )

    about = {} if environment is None else {"version": environment.version, "instructions": environment.description}
    return Server(name, **about, on_list_tools=listed, on_call_tool=called)
