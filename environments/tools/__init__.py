"""Environments that are not Python classes: an MCP server, an HTTP API with an OpenAPI document, LangChain tools.

Nothing is imported here, so that each needs only its own library. They are opened by name (see `r_eval.environments.
opening`): `mcp:<command or URL>`, `openapi:<file or URL>`, `langchain:<module or file.py>:<factory>`.
"""
