"""The `r-eval` command: what can be typed, and how an end becomes an exit status.

Results go to standard output, progress and complaints to standard error. 0: done; 1: the run is incomplete;
2: the command or a file is wrong; 130: interrupted.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from r_eval.errors import Unwritable, UserError

app = typer.Typer(
    rich_markup_mode=None,
    name="r-eval",
    help="Evaluate which LLM, led in which way, works on your domain, why the others fail, and which one to deploy.",
    no_args_is_help=True,
    add_completion=True,
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
    """Run the embedded grid: no network, no key, no GPU."""
    from r_eval.cli.running import demo_grid, run_command

    raise typer.Exit(run_command(demo_grid(), out, quiet=quiet, limit=limit, cache=cache))


@app.command()
def run(
    grid: Annotated[Path, typer.Argument(metavar="GRID.yaml", help="The grid file.")],
    out: Out = None,
    limit: Limit = None,
    connections: Annotated[int | None, typer.Option(min=1, help="Requests at once, for every LLM.")] = None,
    engine: Annotated[str, typer.Option(help="local: this process; ray: the machines of a Ray cluster.")] = "local",
    fresh: Annotated[bool, typer.Option("--fresh", help="Move an old run in the folder aside.")] = False,
    cache: Cache = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what is to be run and what it would take; run nothing.")
    ] = False,
    probe: Annotated[
        int | None, typer.Option(min=1, help="With --dry-run: first run N questions of every task, and keep them.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run a grid, or go on with one that was interrupted."""
    from r_eval.cli.running import run_command
    from r_eval.engines.choosing import check_engine
    from r_eval.grid import Grid

    check_engine(engine)
    how = {"limit": limit, "connections": connections, "engine": engine, "fresh": fresh, "cache": cache}
    if dry_run:
        from r_eval.cli.estimating import dry_run_command

        raise typer.Exit(dry_run_command(Grid.load(grid), out, probe, quiet=quiet, as_json=json, **how))
    if probe is not None:
        raise UserError("--probe goes with --dry-run")
    raise typer.Exit(run_command(Grid.load(grid), out, quiet=quiet, as_json=json, **how))


@app.command()
def score(
    run: RunPath,
    metric: Annotated[list[str] | None, typer.Option(help="A further metric; may be given again.")] = None,
    taxonomy: Annotated[str, typer.Option(help="strict, or published: the rule of the paper's own code.")] = "strict",
    match_threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="From which score an answer matches.")
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option("--answers", metavar="RESULTS.json", help="Results from outside; RUN is a private question file."),
    ] = None,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Also the response types at other match thresholds.")
    ] = False,
    k: Annotated[int, typer.Option("--k", min=1, help="With --answers: how many found texts count.")] = 5,
    json: Json = False,
) -> None:
    """Score a run's episodes again, or results from outside.

    No LLM is asked but by a metric that is one, such as judge@LLM or quest_eval@LLM.
    """
    from r_eval.cli.answers import answers_command
    from r_eval.cli.reading import score_command

    if answers is not None:
        if taxonomy != "strict" or match_threshold is not None or sensitivity:
            options = "--taxonomy, --match-threshold and --sensitivity"
            raise UserError(f"{options} are about episodes; results from outside have none")
        raise typer.Exit(answers_command(run, answers, metric or [], k, json))
    if run.is_file():
        raise UserError(f"{run} is a file and no run; with a private question file, name --answers RESULTS.json")
    score_command(run, metric or [], taxonomy, match_threshold, sensitivity, json)


@app.command()
def report(
    runs: RunPaths,
    out: Annotated[Path | None, typer.Option("--out", help="The report's folder; report/ in the first RUN.")] = None,
    max_seconds: Annotated[
        float | None, typer.Option(min=0, help="Name the best system that takes at most this a question, on average.")
    ] = None,
    max_usd: Annotated[
        float | None, typer.Option(min=0, help="Name the best system that costs at most this a question, on average.")
    ] = None,
) -> None:
    """Write the report of one or more runs.

    It is a page, tables and figures.
    """
    from r_eval.cli.reading import report_command

    report_command(runs, out, max_seconds, max_usd)


@app.command()
def leaderboard(
    runs: RunPaths,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The leaderboard's folder.")],
    season: Annotated[
        list[Path] | None,
        typer.Option("--season", metavar="QUESTIONS.jsonl", help="Questions with their season; may be given again."),
    ] = None,
) -> None:
    """Write the leaderboard of many runs over many versions of a question set.

    Files with results of other systems (results.json) can stand among the runs.
    """
    from r_eval.cli.leaderboard import leaderboard_command

    leaderboard_command(runs, out, season or [])


@app.command()
def compare(
    runs: RunPaths,
    systems: Annotated[
        tuple[str, str] | None,
        typer.Option("--systems", metavar="A B", help="Two systems; the same one twice compares it between runs."),
    ] = None,
    metric: Annotated[str | None, typer.Option("--metric", help="In place of each task's own.")] = None,
    json: Json = False,
) -> None:
    """Compare systems, or runs, question by question.

    One run without --systems: all pairs. Several runs: the systems that they share.
    """
    from r_eval.cli.comparing import compare_command

    compare_command(runs, systems, metric, json)


@app.command()
def show(
    run: RunPath,
    episode_id: Annotated[str, typer.Argument(metavar="EPISODE_ID", help="Its beginning is enough.")],
    full: Annotated[bool, typer.Option("--full", help="Show long texts whole.")] = False,
) -> None:
    """Print the transcript of one episode."""
    from r_eval.cli.reading import show_command

    show_command(run, episode_id, full)


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
def generate(
    templates: Annotated[
        Path, typer.Argument(metavar="TEMPLATES.yaml", help="The template, graph or placeholder file.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.jsonl", help="The question file to write.")],
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="How many questions; 20, or as many as in OLD.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Decides which records are taken; 0, or with OLD another one.")
    ] = None,
    environment: Annotated[str | None, typer.Option("--environment", help="In place of the file's own.")] = None,
    refresh: Annotated[
        list[Path] | None,
        typer.Option("--refresh", metavar="OLD.jsonl", help="Make the next season: ask nothing that this one asks."),
    ] = None,
    private: Annotated[
        Path | None,
        typer.Option("--private", metavar="FILE.jsonl", help="Keep the answers here, and only questions in --out."),
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option("--language", metavar="CODE", help="Such as en; in place of the file's own.")
    ] = None,
    paraphrase: Annotated[
        str | None,
        typer.Option("--paraphrase", metavar="LLM", help="Rewords the questions, where it keeps what they name."),
    ] = None,
) -> None:
    """Make questions with gold answers.

    They are made from templates, a graph, or facts with placeholders.
    """
    from r_eval.cli.making import generate_command

    how = refresh or [], private, language or [], paraphrase
    raise typer.Exit(generate_command(templates, count, seed, out, environment, *how))


@app.command("suggest-templates")
def suggest_templates(
    environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT", help="A name, module:Class or file.py:Class.")],
    llm: Annotated[str, typer.Option("--llm", metavar="LLM", help="Drafts the templates.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.yaml", help="The template file to write.")],
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="TEMPLATES.yaml", help="Templates to begin with; else those of its tasks."),
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="How many templates.")] = 10,
    seed: Annotated[int, typer.Option("--seed", help="Decides which templates and records are shown.")] = 0,
) -> None:
    """Have an LLM draft further templates.

    Those whose questions hold are kept.
    """
    from r_eval.cli.suggesting import suggest_command

    raise typer.Exit(suggest_command(environment, llm, source, count, seed, out))


@app.command("extract-triples")
def extract_triples(
    documents: Annotated[Path, typer.Argument(metavar="DOCUMENTS", help="A .txt or .jsonl file, or a folder.")],
    llm: Annotated[str, typer.Option("--llm", metavar="LLM", help="Reads the documents.")],
    out: Annotated[Path, typer.Option("--out", metavar="TRIPLES.tsv", help="The file to write.")],
    known: Annotated[
        Path | None, typer.Option("--known", metavar="TRIPLES.tsv", help="Facts that are no news are left out.")
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option("--names", metavar="NAMES.txt", help="How names are written: one a line, others after tabs."),
    ] = None,
) -> None:
    """Read triples out of documents with an LLM.

    Graph questions can be made from them.
    """
    from r_eval.cli.extracting import extract_command

    raise typer.Exit(extract_command(documents, llm, out, known, names))


@app.command()
def split(
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS.jsonl", help="The question file.")],
    public: Annotated[Path, typer.Option("--public", metavar="FILE.jsonl", help="For the questions alone.")],
    private: Annotated[Path, typer.Option("--private", metavar="FILE.jsonl", help="For the answers by public id.")],
    seed: Annotated[int, typer.Option("--seed", help="Another one gives other public ids.")] = 0,
) -> None:
    """Part a question file into a public and a private one."""
    from r_eval.cli.seasons import split_command

    raise typer.Exit(split_command(questions, public, private, seed))


@app.command()
def export(
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS.jsonl", help="The question file.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The dataset's folder, to be made.")],
    name: Annotated[str | None, typer.Option("--name", help="As the card calls it; the file's by default.")] = None,
    licence: Annotated[str, typer.Option("--licence", help="For example cc-by-4.0.")] = "other",
    demonstrations: Annotated[
        Path | None, typer.Option("--demonstrations", metavar="FILE.jsonl", help="Becomes a split of its own.")
    ] = None,
) -> None:
    """Write a question file as a dataset for the Hugging Face Hub, with a card."""
    from r_eval.tasks.export import export as write

    typer.echo(write(questions, out, name or questions.name.partition(".")[0], licence, demonstrations))


@app.command()
def check(
    targets: Annotated[list[str], typer.Argument(metavar="TARGET...", help="Environment, task, .yaml or .jsonl file.")],
    environment: Annotated[
        str | None, typer.Option("--environment", help="Over which the programs of question files run.")
    ] = None,
    json: Json = False,
) -> None:
    """Say what is amiss in a file, a task or an environment.

    Files are question files, templates and grids; tasks go by their names (wiki/*).
    """
    from r_eval.cli.making import check_command

    raise typer.Exit(check_command(targets, environment, json))


@app.command()
def new(
    kind: Annotated[str, typer.Argument(metavar="domain", help="What to make.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="For example my-recipes.")],
    folder: Annotated[Path | None, typer.Option("--dir", help="The project's folder; ./NAME by default.")] = None,
) -> None:
    """Write a project that runs as it stands.

    It has query APIs, templates, questions, a grid and a test.
    """
    from r_eval.cli.making import new_command

    if kind != "domain":
        raise UserError(f"unknown kind '{kind}'. Known: domain")
    raise typer.Exit(new_command(name, folder))


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
    from r_eval.llms.pull import pull as fetch

    typer.echo(fetch(name))


cache_app = typer.Typer(rich_markup_mode=None, name="cache", help="The cache of replies.", no_args_is_help=True)
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
def doctor(
    grid: Annotated[
        Path | None, typer.Argument(metavar="[GRID.yaml]", help="Look at what this grid needs; its servers are asked.")
    ] = None,
    json: Json = False,
) -> None:
    """Say what is installed and missing, and what to type."""
    from r_eval.cli.doctor import doctor_command

    raise typer.Exit(doctor_command(grid, json))


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""Errors of a disk that has no room, or that nothing may be written to."""


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
        sys.exit(1 if isinstance(error, Unwritable) else 2)
    except KeyboardInterrupt:
        sys.stderr.write("r-eval: interrupted\n")
        sys.exit(130)
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError) and error.errno in FULL:
            sys.stderr.write(f"r-eval: {Unwritable(error.filename or 'the disk', error)}\n")
            sys.exit(1)
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
