"""`mcp:<command or URL>`: the tools of an MCP server as query APIs, through the official SDK."""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import json
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Self

from r_eval.environments.base import ToolError
from r_eval.environments.tools.base import (
    LARGEST,
    MOST_TOOLS,
    TOO_LARGE,
    RemoteTool,
    ToolEnvironment,
    from_variables,
    name_list,
)
from r_eval.environments.tools.openapi_document import mapping
from r_eval.errors import MissingExtra
from r_eval.fingerprints import short_hash

if TYPE_CHECKING:
    from mcp import Client


class MCP(ToolEnvironment):
    """The tools of an MCP server.

    Every episode has a connection (and, of a command, a process) of its own, since a server may keep state for it:
    the page that was read last, a current folder.
    """

    def __init__(
        self,
        server: str,
        tools: Sequence[str] | str = "*",
        timeout: float = 60.0,
        shared: bool = False,
        pass_env: Sequence[str] = (),
        headers_env: Mapping[str, str] | None = None,
        description: str = "",
    ) -> None:
        """Connect, and ask for the list of tools.

        Args:
            server: The command that starts it, or the URL of its streamable HTTP endpoint.
            tools: Names or globs of the tools to offer; a text has commas between them.
            timeout: Seconds that one call may take, and the start of the server.
            shared: All episodes use one connection. For a server that keeps no state for its clients.
            pass_env: Names of environment variables that a command gets besides PATH, HOME and the like.
            headers_env: HTTP headers, each with the name of the environment variable that holds its value.
            description: What a model reads about the domain, in place of the server's instructions.

        Raises:
            EnvironmentFailure, ToolError: The server cannot be reached, or refuses.
            ValueError: A variable is not set, or there is no tool that can be offered.
            MissingExtra: The SDK is not installed.
        """
        if importlib.util.find_spec("mcp") is None:
            raise MissingExtra("mcp", "mcp", f"The environment mcp:{server}")
        from r_eval.environments.tools.connection import Connection, streams_of

        variables = from_variables({name: name for name in pass_env})
        streams = streams_of(server, variables, from_variables(headers_env or {}), timeout)
        self._connect = functools.partial(Connection, streams, timeout)
        self._connection = self._connect()
        self._shared = shared
        listed, instructions = self._connection.ask(_introduction).result()
        if not shared:
            self._connection.close()
        patterns = name_list(tools)
        chosen = [tool for tool in listed if any(fnmatchcase(tool["name"], pattern) for pattern in patterns)]
        if not chosen:
            there = ", ".join(tool["name"] for tool in listed[:MOST_TOOLS]) or "none"
            raise ValueError(f"no tool of the MCP server is named {' or '.join(patterns)}; its tools: {there}")
        self._offer(f"mcp:{server}", [_tool(one) for one in chosen], "choose some with tools:")
        self._description = description or instructions
        self._version = short_hash(chosen)

    def open(self) -> Self:
        opened = super().open()
        if not self._shared:
            opened._connection = self._connect()
        return opened

    def close(self) -> None:
        if not self._shared:
            self._connection.close()

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        parameters = {"name": self._targets[api], "arguments": self._specs[api].wired(arguments)}

        async def question(client: Client) -> Any:  # the value is read there, since it takes a while for a large one
            return value_of(await _request(client, "tools/call", parameters))

        return await asyncio.wrap_future(self._connection.ask(question))


def _tool(declared: Mapping[str, Any]) -> RemoteTool:
    def read(notes: list[str]) -> tuple[str, Any, Any]:
        if mapping(declared.get("execution")).get("taskSupport") == "required":
            raise ValueError("it can only be called as a task")
        schema = declared.get("inputSchema")
        if schema is not None and not isinstance(schema, Mapping):
            raise ValueError(f"its inputSchema is {json.dumps(schema)[:40]}")
        about = next((one for key in ("description", "title") if isinstance(one := declared.get(key), str) and one), "")
        return about, schema or {}, _unwrapped(mapping(declared.get("outputSchema")))

    only_reads = mapping(declared.get("annotations")).get("readOnlyHint") is True
    return RemoteTool(declared["name"], only_reads, read, declared["name"])


def value_of(result: Mapping[str, Any]) -> Any:
    """What a tool gave: its structured content where that says more than its text, else the text, read where it is a
    JSON object or array.

    Raises:
        ToolError: The tool reports an error.
    """
    content = result.get("content")
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    text = "\n".join(map(_text, blocks))
    structured = result.get("structuredContent")
    if len(text) > LARGEST or (structured is not None and len(json.dumps(structured)) > LARGEST):
        raise ToolError(TOO_LARGE)
    if result.get("isError"):
        raise ToolError(text or ("" if structured is None else json.dumps(structured)))
    if structured is not None:
        inner = list(structured.values()) if isinstance(structured, dict) else []
        is_wrapped = len(inner) == 1 and ("result" in structured or inner[0] == text)
        return inner[0] if is_wrapped else structured
    if len(blocks) == 1 and text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return text


def _text(block: Any) -> str:
    if not isinstance(block, Mapping):
        return block if isinstance(block, str) else json.dumps(block, ensure_ascii=False)
    if block.get("type") == "text" or isinstance(block.get("text"), str):
        return str("" if block.get("text") is None else block["text"])
    resource = mapping(block.get("resource"))
    where = resource.get("uri") or block.get("uri")
    return str(resource.get("text") or f"[{where or ': '.join(str(block.get(k)) for k in ('type', 'mimeType'))}]")


def _unwrapped(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of what `value_of` gives: structured content is an object, so servers wrap what is none."""
    if list(mapping(schema.get("properties"))) == ["result"]:
        definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        return {**mapping(schema["properties"]["result"]), **definitions}
    return schema


async def _request(client: Client, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The result of a request as the server sent it. The SDK's own methods refuse a whole list for one odd tool, and a
    result that does not fit the tool's schema, which they check without a time limit.
    """
    data: dict[str, Any] = {"method": method, "params": parameters}
    options: Any = {}
    client.session._stamp(data, options)
    return dict(await client.session._dispatcher.send_raw_request(method, data["params"], options))


async def _introduction(client: Client) -> tuple[list[dict[str, Any]], str]:
    """The tools of a server, and its instructions."""
    tools: dict[str, dict[str, Any]] = {}
    parameters: dict[str, Any] = {}
    number = -1
    while len(tools) > number:  # servers are known that give one page for ever
        number = len(tools)
        page = await _request(client, "tools/list", parameters)
        for tool in page.get("tools") or []:
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                tools.setdefault(tool["name"], tool)
        if not page.get("nextCursor"):
            break
        parameters = {"cursor": page["nextCursor"]}
    about = client.server_info.description or client.server_info.title if client.server_info else None
    return list(tools.values()), (client.instructions or about or "").strip()
