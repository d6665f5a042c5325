"""Commands about domains and models: call an API, offer an environment, fetch, list, look what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from r_eval.cli.options import Json, Quiet

app = typer.Typer(rich_markup_mode=None)


@app.command()
def call(
    environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT", help="A name, module:Class or file.py:Class.")],
    api: Annotated[str, typer.Argument(metavar="API", help="The query API.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[key=value]...")] = None,
    json: Json = False,
) -> None:
    """Call a query API by hand.

    What a model would see is printed.
    """
    from r_eval.cli.reading import call_command

    raise typer.Exit(call_command(environment, api, arguments or [], json))


@app.command()
def serve(
    environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT", help="A name, module:Class or file.py:Class.")],
    http: Annotated[int | None, typer.Option("--http", min=0, max=65535, help="Port; 0 for any free one.")] = None,
    mcp: Annotated[bool, typer.Option("--mcp", help="MCP on standard input and output.")] = False,
    host: Annotated[str, typer.Option(help="Address to answer at; another one is open to the network.")] = "127.0.0.1",
) -> None:
    """Offer an environment to other programs."""
    from r_eval.cli.serving import serve_command

    raise typer.Exit(serve_command(environment, http, mcp, host))


@app.command("build-snapshot")
def build_snapshot(
    domain: Annotated[str, typer.Argument(metavar="wiki|aminer", help="What the file holds.")],
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A dump, plain, .gz or .bz2.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.sqlite", help="The snapshot to write.")],
    format: Annotated[
        str | None, typer.Option("--format", help="The dump's; told from its content by default.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Make a snapshot of a wiki's or a bibliography's dump.

    It is asked instead of the embedded one.
    """
    from r_eval.cli.building import build_command

    raise typer.Exit(build_command(domain, source, out, format, quiet, json))


@app.command()
def pull(name: Annotated[str, typer.Argument(metavar="NAME", help="For example smollm2-135m.")]) -> None:
    """Fetch an embedded model, verified by SHA-256."""
    from r_eval.llms.model_files import fetch_model as fetch

    typer.echo(fetch(name))


@app.command("list")
def list_(
    kind: Annotated[str, typer.Argument(metavar="workflows|llms|environments|tasks|conditions|metrics")],
    json: Json = False,
) -> None:
    """List what can be named in a grid."""
    from r_eval.cli.listing import list_command

    list_command(kind, json)


@app.command()
def doctor(
    grid: Annotated[
        Path | None, typer.Argument(metavar="[GRID.yaml]", help="Look at what this grid needs; its servers are asked.")
    ] = None,
    json: Json = False,
) -> None:
    """Say what is installed and missing, and what to type."""
    from r_eval.cli.doctor import doctor_command

    raise typer.Exit(doctor_command(grid, json))
