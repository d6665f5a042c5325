"""`langchain:<module or file.py>:<factory>`: tools, a toolkit or a retriever of LangChain as query APIs."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from r_eval import plugins
from r_eval.environments.base import EnvironmentFailure, ToolError, loop_of
from r_eval.environments.schema import clip
from r_eval.environments.tools.base import RemoteTool, ToolEnvironment
from r_eval.errors import MissingExtra, UserError
from r_eval.fingerprints import short_hash

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

TITLES = ("title", "source", "url")
"""Metadata of a document that says where its text is from; the first that there is, is shown."""
DOCUMENTS = {
    "type": "array",
    "items": {
        "title": "Document",
        "type": "object",
        "properties": {"title": {"type": "string"}, "text": {"type": "string"}},
        "required": ["text"],
    },
}


class LangChainTools(ToolEnvironment):
    """Tools of LangChain.

    The tools are made once and shared by all episodes; what they keep between calls, they keep for all of them.
    """

    timeout = 120.0

    def __init__(self, factory: str, description: str = "") -> None:
        """Make the tools.

        Args:
            factory: `module:name` or `file.py:name` of a function without arguments that returns a list of tools, a
                toolkit or a retriever; such a thing itself will do too.
            description: What a model reads about the domain, in place of the factory's docstring.

        Raises:
            MissingExtra, UserError: langchain-core is not installed; there is no such factory, or it fails or gives
                something else.
        """
        try:
            import langchain_core.tools  # noqa: F401
        except ImportError:
            raise MissingExtra("langchain-core", "langchain", f"The environment langchain:{factory}") from None
        made = plugins.from_path(factory, "environments")
        self._offer(f"langchain:{factory}", [_declared(tool) for tool in _tools(made, factory)], "return fewer")
        self._description = description or (inspect.getdoc(made) or "" if inspect.isfunction(made) else "")
        self._version = short_hash([factory, [[s.name, s.details, s.json_schema()] for s in self._specs.values()]])

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        return await loop_of(self).run(_invoke(self._targets[api], self._specs[api].wired(arguments)))


def _tools(made: Any, factory: str) -> list[BaseTool]:
    """What a factory gives, as tools; tools, retrievers and lists of them are given as they are."""
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool

    if callable(made) and not isinstance(made, BaseTool | BaseRetriever):
        try:
            made = made()
        except Exception as error:  # noqa: BLE001  a factory is the user's code
            raise UserError(f"{factory} fails: {type(error).__name__}: {error}") from None
    found = made.get_tools() if hasattr(made, "get_tools") else made
    tools = []
    for one in found if isinstance(found, list | tuple) else [found]:
        if not isinstance(one, BaseTool | BaseRetriever):
            raise UserError(f"{factory} gives a {type(one).__name__}: expected tools, a toolkit or a retriever")
        tools.append(_retrieving(one) if isinstance(one, BaseRetriever) else one)
    if not tools:
        raise UserError(f"{factory} gives no tools")
    return tools


def _retrieving(retriever: Any) -> BaseTool:
    from langchain_core.tools import StructuredTool

    async def retrieve(query: str) -> Any:
        """Find the documents that say most about a query.

        Args:
            query: What to look for.
        """
        return await retriever.ainvoke(query)

    return StructuredTool.from_function(coroutine=retrieve, name="Retrieve", metadata={"returns": DOCUMENTS})


def _declared(tool: BaseTool) -> RemoteTool:
    from langchain_core.tools import Tool as SimpleTool

    def read(notes: list[str]) -> tuple[str, Any, Any]:
        if isinstance(tool, SimpleTool) and tool.args_schema is None:
            schema: Any = {"type": "object", "properties": tool.args, "required": list(tool.args)}
        else:  # without the arguments that LangChain injects
            schema = tool.tool_call_schema
        plain = schema if isinstance(schema, dict) else schema.model_json_schema()
        return tool.description, plain, (tool.metadata or {}).get("returns")

    return RemoteTool(tool.name, None, read, tool)


async def _invoke(tool: BaseTool, arguments: dict[str, Any]) -> Any:
    from langchain_core.tools import ToolException
    from pydantic import ValidationError

    try:
        value = await tool.ainvoke(arguments)
    except (ToolException, ValidationError) as error:
        raise ToolError(str(error)) from None
    except Exception as error:
        raise EnvironmentFailure(f"{tool.name} failed: {type(error).__name__}: {clip(str(error), 300)}") from error
    return _plain(value)


def _plain(value: Any) -> Any:
    """A tool's value as data: documents as their text, content blocks as theirs."""
    from langchain_core.documents import Document

    if isinstance(value, Document):
        title = next((str(value.metadata[key]) for key in TITLES if value.metadata.get(key)), None)
        return {**({"title": title} if title else {}), "text": value.page_content}
    if isinstance(value, list):
        is_text = bool(value) and all(isinstance(one, dict) and one.get("type") == "text" for one in value)
        return "\n".join(str(one["text"]) for one in value) if is_text else [_plain(one) for one in value]
    return value
