"""`langchain:<module or file.py>:<factory>`: LangChain tools, a toolkit or a retriever as query APIs."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from r_eval import plugins
from r_eval.environments.base import EnvironmentFailure, ToolError
from r_eval.environments.schema import clip
from r_eval.environments.tools import background
from r_eval.environments.tools.base import Offer, ToolEnvironment, hash_of
from r_eval.environments.tools.declared import DeclaredSpec, declare
from r_eval.errors import MissingExtra, UserError

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool

TITLES = ("title", "source", "url")
"""Metadata of a document that says where its text is from; the first that there is, is shown."""


class LangChain(ToolEnvironment):
    """Tools of LangChain.

    The tools are made once and shared by all episodes; what they keep between calls, they keep for all of them.
    """

    def __init__(self, factory: str, timeout: float = 120.0, description: str = "") -> None:
        """Make the tools.

        Args:
            factory: `module:name` or `file.py:name` of a function without arguments that returns a list of tools, a
                toolkit or a retriever; such a thing itself will do too.
            timeout: Seconds that one call may take.
            description: What the domain is, as a model is told, in place of the factory's docstring.

        Raises:
            MissingExtra, UserError: langchain-core is not installed; there is no such factory, or it fails or gives
                something else.
        """
        try:
            import langchain_core.tools  # noqa: F401
        except ImportError:
            raise MissingExtra("langchain-core", "langchain", f"The environment langchain:{factory}") from None
        made = plugins.from_path(factory, "environments")
        self._timeout = timeout
        self._tools: dict[str, BaseTool | BaseRetriever] = {}
        offer = Offer(f"langchain:{factory}", declares_reading=False)
        for tool in _tools(_made(made, factory), factory):
            name = tool.name if _is_tool(tool) else "Retrieve"
            spec = offer.add(name, not _is_tool(tool), lambda notes, tool=tool: _declared(tool, offer, notes))  # type: ignore[misc]
            if spec:
                self._tools[spec.name] = tool
        offer.close()
        self._specs, self.read_only = offer.specs, frozenset(offer.read_only)
        self._description = description or (inspect.getdoc(made) or "" if inspect.isfunction(made) else "")
        self._version = hash_of(factory, [[s.name, s.details, s.json_schema()] for s in self._specs.values()])

    async def call(self, api: str, arguments: dict[str, Any]) -> Any:
        import asyncio

        async def invoke() -> Any:
            async with asyncio.timeout(self._timeout):
                return await _invoke(self._tools[api], self._specs[api].wired(arguments))

        try:
            return await background.run_on_loop(invoke())
        except TimeoutError:
            raise EnvironmentFailure(f"{api} gave no answer within {self._timeout:g} s") from None


def _declared(tool: BaseTool | BaseRetriever, offer: Offer, notes: list[str]) -> DeclaredSpec:
    if _is_retriever(tool):
        return declare("Retrieve", RETRIEVE, QUERY, DOCUMENTS, offer.specs)
    return declare(tool.name, tool.description, _schema(tool), None, offer.specs, notes)


RETRIEVE = "Find the documents that say most about a query."
QUERY = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "What to look for."}},
    "required": ["query"],
}
DOCUMENTS = {
    "type": "array",
    "items": {
        "title": "Document",
        "type": "object",
        "properties": {"title": {"type": "string"}, "text": {"type": "string"}},
        "required": ["text"],
    },
}


def _is_tool(thing: Any) -> bool:
    from langchain_core.tools import BaseTool

    return isinstance(thing, BaseTool)


def _is_retriever(thing: Any) -> bool:
    from langchain_core.retrievers import BaseRetriever

    return isinstance(thing, BaseRetriever)


def _made(made: Any, factory: str) -> Any:
    """What a factory gives; a tool, a retriever or a list of them is given as it is."""
    if _is_tool(made) or _is_retriever(made) or not callable(made):
        return made
    try:
        return made()
    except Exception as error:  # noqa: BLE001  a factory is the user's code
        raise UserError(f"{factory} fails: {type(error).__name__}: {error}") from None


def _tools(made: Any, factory: str) -> list[Any]:
    found = made.get_tools() if hasattr(made, "get_tools") else made
    listed = list(found) if isinstance(found, list | tuple) else [found]
    for one in listed:
        if not (_is_tool(one) or _is_retriever(one)):
            raise UserError(f"{factory} gives a {type(one).__name__}: expected tools, a toolkit or a retriever")
    if not listed:
        raise UserError(f"{factory} gives no tools")
    return listed


def _schema(tool: BaseTool) -> dict[str, Any]:
    """The arguments of a tool as an object schema, without those that LangChain injects."""
    from langchain_core.tools import Tool

    if isinstance(tool, Tool) and tool.args_schema is None:
        return {"type": "object", "properties": tool.args, "required": list(tool.args)}
    schema = tool.tool_call_schema
    return dict(schema) if isinstance(schema, dict) else schema.model_json_schema()


async def _invoke(tool: BaseTool | BaseRetriever, arguments: dict[str, Any]) -> Any:
    from langchain_core.tools import ToolException
    from pydantic import ValidationError

    if _is_retriever(tool):
        return [_shown(document) for document in await tool.ainvoke(arguments["query"])]
    try:
        value = await tool.ainvoke(arguments)
    except ToolException as error:
        raise ToolError(str(error) or "The tool failed and does not say why.") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ToolError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except Exception as error:
        raise EnvironmentFailure(f"{tool.name} failed: {type(error).__name__}: {clip(str(error), 300)}") from error
    return _plain(value)


def _shown(document: Document) -> dict[str, str]:
    title = next((str(document.metadata[key]) for key in TITLES if document.metadata.get(key)), None)
    return {**({"title": title} if title else {}), "text": document.page_content}


def _plain(value: Any) -> Any:
    """A tool's value as data: documents as their text, content blocks as theirs."""
    from langchain_core.documents import Document

    if isinstance(value, Document):
        return _shown(value)
    if isinstance(value, list):
        blocks = bool(value) and all(isinstance(one, dict) and one.get("type") == "text" for one in value)
        return "\n".join(str(one["text"]) for one in value) if blocks else [_plain(one) for one in value]
    return value
