"""Any environment as an MCP server on standard input and output: its query APIs are the tools.

A process serves one client, so there is one session, and what a query API leaves behind (the page that Lookup reads) is
there for the next call.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import threading
from typing import TYPE_CHECKING, Any

from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.serve.sessions import UNCUT
from r_eval.environments.session import Session
from r_eval.errors import MissingExtra

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp_types import CallToolResult


def serve_mcp(environment: Environment, name: str = "r-eval") -> None:
    """Serve an environment until the client closes standard input, or SIGINT or SIGTERM comes.

    Raises:
        MissingExtra: The SDK is not installed.
    """
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtra("mcp", "mcp", "Serving an environment over MCP")
    session = Session(environment, Sandbox(), tokens=UNCUT)
    try:
        asyncio.run(_serve(server_of(session, name, environment.version)))
    finally:
        session.close()


def server_of(session: Session, name: str, version: str) -> Server[Any]:
    """The MCP server over a session."""
    import mcp_types as types
    from mcp.server import Server

    async def listed(context: Any, parameters: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=spec.name,
                    description=f"{spec.summary}\n\n{spec.details}".strip(),
                    input_schema=spec.json_schema(),
                    output_schema=wrapped(spec.returns_schema()),
                )
                for spec in session.specs.values()
            ]
        )

    async def called(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        return await _result(session, parameters.name, parameters.arguments or {})

    return Server(name, version=version, instructions=session.description, on_list_tools=listed, on_call_tool=called)


def wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a tool's structured content, which must be an object: the value is its `result`."""
    return {"type": "object", "properties": {"result": schema}, "required": ["result"]}


async def _result(session: Session, api: str, arguments: dict[str, Any]) -> CallToolResult:
    """A call's result; an observation that is an error is a tool's error, which the model reads."""
    import mcp_types as types
    from mcp import MCPError

    try:
        result = await session.call(api, arguments)
    except EnvironmentFailure as failure:
        raise MCPError(types.INTERNAL_ERROR, str(failure)) from None
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=result.observation)],
        structured_content=None if result.error else {"result": result.value},
        is_error=result.error is not None,
    )


async def _serve(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, _leave)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _leave() -> None:
    """End the process at once: a thread of the SDK waits for standard input, and only the client can end that."""
    os._exit(0)
