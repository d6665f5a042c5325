"""A small shop in forms that are no Python class of R-Eval: an MCP server, an HTTP API, LangChain tools."""

from __future__ import annotations

from typing import Any

import yaml
from aiohttp import web

ITEMS: dict[str, dict[str, Any]] = {
    "pen": {"name": "pen", "price": 1.5, "text": "A pen. It writes in blue. The ink lasts for a year."},
    "pencil": {"name": "pencil", "price": 0.5, "text": "A pencil. It writes in grey. It wants to be sharpened."},
    "paper": {"name": "paper", "price": 4.0, "text": "Paper, 500 sheets. It is white. It is made of straw."},
}
NOTHING = "There is no such item. Ask for another."

MCP = f'''
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

app = MCPServer("shop", instructions="Things to write with.")
ITEMS = {ITEMS!r}

class Item(BaseModel):
    name: str
    price: float
    text: str

@app.tool()
def find_items(word: str, limit: int = 5) -> list[Item]:
    """Find items.

    Args:
        word: A part of the name.
        limit: At most so many.
    """
    return [Item(**item) for name, item in ITEMS.items() if word in name][:limit]

@app.tool()
def show_item(name: str) -> str:
    """Tell what there is to know of an item.

    Args:
        name: Its exact name.
    """
    if name not in ITEMS:
        raise ToolError({NOTHING!r})
    return ITEMS[name]["text"]

app.run()
'''

LANGCHAIN = f'''
from langchain_core.tools import ToolException, tool

ITEMS = {ITEMS!r}

@tool(parse_docstring=True)
def find_items(word: str, limit: int = 5) -> list[dict]:
    """Find items.

    Args:
        word: A part of the name.
        limit: At most so many.
    """
    return [item for name, item in ITEMS.items() if word in name][:limit]

@tool(parse_docstring=True)
async def show_item(name: str) -> str:
    """Tell what there is to know of an item.

    Args:
        name: Its exact name.
    """
    if name not in ITEMS:
        raise ToolException({NOTHING!r})
    return ITEMS[name]["text"]

def shop():
    """Things to write with."""
    return [find_items, show_item]
'''

OPENAPI = """
openapi: 3.1.0
info: {title: Shop, version: "1", description: Things to write with.}
servers: [{url: /}]
paths:
  /items:
    get:
      operationId: find_items
      summary: Find items.
      parameters:
        - {name: word, in: query, required: true, description: A part of the name., schema: {type: string}}
        - {name: limit, in: query, description: At most so many., schema: {type: integer, minimum: 0, default: 5}}
      responses: {"200": {description: Items}}
  /items/{name}:
    get:
      operationId: show_item
      summary: Tell what there is to know of an item.
      parameters:
        - {name: name, in: path, required: true, description: Its exact name., schema: {type: string}}
      responses: {"200": {description: A text}, "404": {description: There is none}}
"""


def http_app() -> web.Application:
    """The shop as an HTTP API, its OpenAPI document at /openapi.json."""

    async def document(request: web.Request) -> web.Response:
        return web.json_response(yaml.safe_load(OPENAPI))

    async def find_items(request: web.Request) -> web.Response:
        word, limit = request.query["word"], int(request.query.get("limit", 5))
        return web.json_response([item for name, item in ITEMS.items() if word in name][:limit])

    async def show_item(request: web.Request) -> web.Response:
        item = ITEMS.get(request.match_info["name"])
        return web.json_response(item["text"] if item else {"error": NOTHING}, status=200 if item else 404)

    app = web.Application()
    app.router.add_get("/openapi.json", document)
    app.router.add_get("/items", find_items)
    app.router.add_get("/items/{name}", show_item)
    return app
