"""`r-eval serve`: an environment for other programs, over HTTP or as an MCP server."""

from __future__ import annotations

from typing import Annotated

from typer import Option, echo

from r_eval.cli.options import EnvironmentName, Settings, settings_of
from r_eval.environments.opening import open_environment
from r_eval.errors import UserError


def serve(
    environment: EnvironmentName,
    http: Annotated[
        int | None, Option(metavar="PORT", min=0, max=65535, help="Serve over HTTP; 0 takes any free port.")
    ] = None,
    mcp: Annotated[bool, Option("--mcp", help="Serve MCP on standard input and output.")] = False,
    host: Annotated[
        str, Option(metavar="ADDRESS", help="Listen here; any but the default is open to the network.")
    ] = "127.0.0.1",
    settings: Settings = None,
) -> None:
    """Serve an environment to other programs until Ctrl-C.

    Needs --http or --mcp. There is no password: anyone who reaches the address can call the query APIs.
    """
    if mcp == (http is not None):
        raise UserError("serve needs either --http PORT or --mcp")
    opened = open_environment(environment, settings_of(settings))
    if http is None:
        from r_eval.environments.serve.mcp_server import serve_mcp

        serve_mcp(opened, name=environment)
        return
    from r_eval.environments.serve.http import serve_http

    def started(address: str) -> None:
        echo(f"{environment} at {address} (Ctrl-C stops it)", err=True)

    serve_http(opened, http, host, started=started)
