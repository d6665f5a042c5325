"""`r-eval serve`: an environment for other programs, over HTTP or as an MCP server."""

from __future__ import annotations

import sys

from r_eval.errors import UserError


def serve_command(environment: str, http: int | None, mcp: bool, host: str = "127.0.0.1") -> int:
    """Serve an environment until Ctrl-C or SIGTERM, or until an MCP client goes away.

    Standard output belongs to the protocol, so the address goes to standard error.

    Args:
        http: Port; 0 for any free one.
        host: Address to answer at; whoever can reach it can ask, there is no password.
        mcp: Whether to serve MCP on standard input and output.

    Raises:
        UserError: Neither or both are asked for, or the environment or the port cannot be had.
    """
    from r_eval.environments.opening import open_environment

    if mcp == (http is not None):
        raise UserError("serve needs either --http PORT or --mcp")
    opened = open_environment(environment)
    if mcp:
        from r_eval.environments.serve.mcp import serve_mcp

        serve_mcp(opened, name=environment)
    elif http is not None:
        from r_eval.environments.serve.http import serve_http

        serve_http(opened, http, host, started=lambda address: _say(f"{environment} at {address} (Ctrl-C ends it)"))
    return 0


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
