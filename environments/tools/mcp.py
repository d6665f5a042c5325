"""`mcp:<command or URL>`: the tools of an MCP server as query APIs, through the official SDK."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Self

from r_eval.environments.base import Environment, NotFound
from r_eval.environments.schema import ApiSpec
from r_eval.environments.tools import background
from r_eval.environments.tools.connection import OPENING_SECONDS, Connection, Server, from_variables
from r_eval.environments.tools.declared import DeclaredSpec, declare
from r_eval.errors import MissingExtra

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult, Tool

MOST_PAGES = 100


class MCP(Environment):
    """The tools of an MCP server.

    Every episode has a connection (and, of a command, a process) of its own, since a server may keep state for it:
    the page that was read last, a current folder. The one over which the tools were listed is the first episode's.
    """

    def __init__(
        self,
        server: str,
        tools: Sequence[str] = ("*",),
        timeout: float = 60.0,
        shared: bool = False,
        pass_env: Sequence[str] = (),
        headers_env: Mapping[str, str] | None = None,
    ) -> None:
        """Connect, and ask for the list of tools.

        Args:
            server: The command that starts it, or the URL of its streamable HTTP endpoint.
            tools: Names or globs of the tools to offer.
            timeout: Seconds that one call may take.
            shared: All episodes use one connection. For a server that keeps no state for its clients.
            pass_env: Names of environment variables that a command gets besides PATH, HOME and the like.
            headers_env: HTTP headers, each with the name of the environment variable that holds its value.

        Raises:
            EnvironmentFailure: The server cannot be reached.
            ValueError: A variable is not set, no tool is left, or a tool's schema is none.
            MissingExtra: The SDK is not installed.
        """
        if importlib.util.find_spec("mcp") is None:
            raise MissingExtra("mcp", "mcp", f"The environment mcp:{server}")
        variables = from_variables({name: name for name in pass_env})
        self._server = Server(server, variables, from_variables(headers_env or {}))
        self._timeout, self._shared = timeout, shared
        self._connection = Connection(self._server, timeout)
        listed, self._description = background.wait_for(self._connection.ask(_introduction, OPENING_SECONDS))
        self._unused = [] if shared else [self._connection]
        chosen = [tool for tool in listed if any(fnmatchcase(tool.name, pattern) for pattern in tools)]
        if not chosen:
            there = ", ".join(tool.name for tool in listed) or "none"
            raise ValueError(f"no tool of the MCP server is named {' or '.join(tools)}; its tools: {there}")
        self._names: dict[str, str] = {}
        self._specs: dict[str, DeclaredSpec] = {}
        for tool in chosen:
            about = tool.description or tool.title or ""
            spec = declare(tool.name, about, tool.input_schema, _unwrapped(tool.output_schema), self._specs)
            self._specs[spec.name] = spec
            self._names[spec.name] = tool.name
        said = json.dumps([tool.model_dump(mode="json", exclude_none=True) for tool in chosen], sort_keys=True)
        self._version = hashlib.blake2b(said.encode(), digest_size=8).hexdigest()

    @property
    def version(self) -> str:
        """Hash of the list of tools, which is all that a server says of itself."""
        return self._version

    @property
    def description(self) -> str:
        """The server's instructions."""
        return self._description

    def specs(self) -> dict[str, ApiSpec]:
        return dict(self._specs)

    def open(self) -> Self:
        opened = super().open()
        if not self._shared:
            try:
                opened._connection = self._unused.pop()
            except IndexError:
                opened._connection = Connection(self._server, self._timeout)
        return opened

    def close(self) -> None:
        if not self._shared:
            self._connection.close()

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        name, wired = self._names[api], self._specs[api].wired(arguments)

        async def question(client: Client) -> CallToolResult:
            result: CallToolResult = await client.call_tool(name, wired)
            return result

        return value_of(await self._connection.ask(question))


def value_of(result: CallToolResult) -> Any:
    """What a tool gave: its structured content where there is some, else its text, read where it is a JSON object or
    array.

    Raises:
        NotFound: The tool reports an error.
    """
    texts = [_text(block) for block in result.content]
    if result.is_error:
        raise NotFound("\n".join(texts) or "The tool failed and does not say why.")
    structured = result.structured_content
    if structured is not None:
        return structured["result"] if _is_wrapper(structured) else structured
    if len(texts) == 1 and texts[0].lstrip()[:1] in ("{", "["):
        try:
            return json.loads(texts[0])
        except (ValueError, RecursionError):
            pass
    return "\n".join(texts)


def _text(block: Any) -> str:
    if block.type == "text":
        return str(block.text)
    if block.type == "resource":
        return str(getattr(block.resource, "text", None) or f"[{block.resource.uri}]")
    return f"[{block.uri}]" if block.type == "resource_link" else f"[{block.type}: {block.mime_type}]"


def _is_wrapper(structured: Any) -> bool:
    return isinstance(structured, dict) and structured.keys() == {"result"}


def _unwrapped(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """The schema of what `value_of` gives: structured content is an object, so servers wrap what is none."""
    if schema and list(schema.get("properties", {})) == ["result"]:
        kept = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        return {**schema["properties"]["result"], **kept}
    return schema


async def _introduction(client: Client) -> tuple[list[Tool], str]:
    tools: list[Tool] = []
    cursor = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    about = client.server_info.description or client.server_info.title if client.server_info else None
    return tools, (client.instructions or about or "").strip()
