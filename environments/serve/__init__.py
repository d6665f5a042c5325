"""An environment for other programs: `http` serves it over HTTP with an OpenAPI document, `mcp` as an MCP server."""
