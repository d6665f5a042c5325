"""The `r-eval` command: what can be typed, and how an end becomes an exit status.

Results go to standard output, progress and complaints to standard error. 0: done; 1: the run is incomplete;
2: the command or a file is wrong; 130: interrupted.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from r_eval.errors import UserError

app = typer.Typer(
    name="r-eval",
    help="Evaluate which LLM, led in which way, works on your domain, why the others fail, and which one to deploy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Out = Annotated[Path | None, typer.Option("--out", help="The run's folder; runs/<grid name> by default.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Keep the first N questions of every task.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Cache = Annotated[
    bool | None,
    typer.Option("--cache/--no-cache", help="Use kept replies of earlier runs; by default where the temperature is 0."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]
RunPaths = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")]


def _version(wanted: bool) -> None:
    if wanted:
        from r_eval import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks; works anywhere in the command.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None: ...


@app.command()
def demo(out: Out = None, limit: Limit = None, cache: Cache = None, quiet: Quiet = False) -> None:
    """Run the embedded grid with a small local LLM: no network, no key, no GPU."""
    from r_eval.cli.running import demo_grid, run_command

    raise typer.Exit(run_command(demo_grid(), out, quiet=quiet, limit=limit, cache=cache))


@app.command()
def run(
    grid: Annotated[Path, typer.Argument(metavar="GRID.yaml", help="The grid file.")],
    out: Out = None,
    limit: Limit = None,
    connections: Annotated[int | None, typer.Option(min=1, help="Requests at once, for every LLM.")] = None,
    engine: Annotated[str, typer.Option(help="local: this process.")] = "local",
    fresh: Annotated[bool, typer.Option("--fresh", help="Move an old run in the folder aside.")] = False,
    cache: Cache = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run a grid, or go on with one that was interrupted."""
    from r_eval.cli.running import run_command
    from r_eval.grid import Grid

    if engine != "local":
        raise UserError(f"unknown engine '{engine}'. Known: local")
    how = {"limit": limit, "connections": connections, "fresh": fresh, "cache": cache}
    raise typer.Exit(run_command(Grid.load(grid), out, quiet=quiet, as_json=json, **how))


@app.command()
def score(
    run: RunPath,
    metric: Annotated[list[str] | None, typer.Option(help="A further metric; may be given again.")] = None,
    taxonomy: Annotated[str, typer.Option(help="strict, or published: the rule of the paper's own code.")] = "strict",
    match_threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="From which score an answer matches.")
    ] = None,
    json: Json = False,
) -> None:
    """Score a run's episodes again; asks no LLM."""
    from r_eval.cli.reading import score_command

    score_command(run, metric or [], taxonomy, match_threshold, json)


@app.command()
def report(runs: RunPaths, out: Out = None) -> None:
    """Write the report of one or more runs: a page and tables."""
    from r_eval.cli.reading import report_command

    report_command(runs, out)


@app.command()
def show(
    run: RunPath,
    episode_id: Annotated[str, typer.Argument(metavar="EPISODE_ID", help="Its beginning is enough.")],
) -> None:
    """Print the transcript of one episode."""
    from r_eval.cli.reading import show_command

    show_command(run, episode_id)


@app.command()
def call(
    environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT", help="A name, module:Class or file.py:Class.")],
    api: Annotated[str, typer.Argument(metavar="API", help="The query API.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[key=value]...")] = None,
    json: Json = False,
) -> None:
    """Call a query API by hand and print what a model would see."""
    from r_eval.cli.reading import call_command

    raise typer.Exit(call_command(environment, api, arguments or [], json))


@app.command()
def generate(
    templates: Annotated[Path, typer.Argument(metavar="TEMPLATES.yaml", help="The template file.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.jsonl", help="The question file to write.")],
    count: Annotated[int, typer.Option("--count", min=1, help="How many questions.")] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Decides which records are taken.")] = 0,
    environment: Annotated[str | None, typer.Option("--environment", help="In place of the file's own.")] = None,
) -> None:
    """Make questions with gold answers from templates."""
    from r_eval.cli.making import generate_command

    raise typer.Exit(generate_command(templates, count, seed, out, environment))


@app.command()
def check(
    targets: Annotated[list[str], typer.Argument(metavar="TARGET...", help="Environment, .yaml or .jsonl file.")],
    json: Json = False,
) -> None:
    """Say what is amiss in an environment, a template file, a question file or a grid."""
    from r_eval.cli.making import check_command

    raise typer.Exit(check_command(targets, json))


@app.command()
def new(
    kind: Annotated[str, typer.Argument(metavar="domain", help="What to make.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="For example my-recipes.")],
    folder: Annotated[Path | None, typer.Option("--dir", help="The project's folder; ./NAME by default.")] = None,
) -> None:
    """Write a project that runs as it stands: query APIs, templates, questions, a grid, a test."""
    from r_eval.cli.making import new_command

    if kind != "domain":
        raise UserError(f"unknown kind '{kind}'. Known: domain")
    raise typer.Exit(new_command(name, folder))


@app.command()
def serve(
    environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT", help="A name, module:Class or file.py:Class.")],
    http: Annotated[int | None, typer.Option("--http", min=0, max=65535, help="Port; 0 for any free one.")] = None,
    mcp: Annotated[bool, typer.Option("--mcp", help="MCP on standard input and output.")] = False,
) -> None:
    """Offer an environment to other programs."""
    from r_eval.cli.serving import serve_command

    raise typer.Exit(serve_command(environment, http, mcp))


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
    """Make a snapshot, to be asked instead of the embedded one, of a wiki's or a bibliography's dump."""
    from r_eval.cli.building import build_command

    raise typer.Exit(build_command(domain, source, out, format, quiet, json))


@app.command()
def pull(name: Annotated[str, typer.Argument(metavar="NAME", help="For example smollm2-135m.")]) -> None:
    """Fetch an embedded model, verified by SHA-256."""
    from r_eval.llms.pull import pull as fetch

    typer.echo(fetch(name))


cache_app = typer.Typer(name="cache", help="The cache of replies.", no_args_is_help=True)
app.add_typer(cache_app)


@cache_app.command("explain")
def cache_explain(run: RunPath, json: Json = False) -> None:
    """Say how many of a run's calls came from the cache, and why the others did not."""
    from r_eval.cli.caching import explain_command

    explain_command(run, json)


@app.command("list")
def list_(
    kind: Annotated[str, typer.Argument(metavar="workflows|llms|environments|tasks|conditions|metrics")],
    json: Json = False,
) -> None:
    """List what can be named in a grid."""
    from r_eval.cli.listing import list_command

    list_command(kind, json)


@app.command()
def doctor() -> None:
    """Say what is installed, what is missing, and what to type."""
    from r_eval.cli.listing import doctor_command

    doctor_command()


def main() -> None:
    """Entry point; turns every end into an exit status, and shows no traceback without --debug."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(arguments, standalone_mode=True)
    except UserError as error:
        if debug:
            raise
        sys.stderr.write(f"r-eval: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("r-eval: interrupted\n")
        sys.exit(130)
    except Exception as error:
        if debug:
            raise
        sys.stderr.write(f"r-eval: internal error: {type(error).__name__}: {error} (--debug shows where)\n")
        sys.exit(70)
    finally:
        _flush()


def _flush() -> None:
    """Write out what is buffered; a reader that went away (a pager, `head`) is no error of ours."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
