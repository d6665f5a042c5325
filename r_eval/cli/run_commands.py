"""Commands about runs: run a grid, score it, look at it, compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from r_eval.cli.options import Cache, Json, Limit, Out, Quiet, RunPath, RunPaths
from r_eval.errors import UserError

app = typer.Typer(rich_markup_mode=None)


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
    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Draw the figures for papers too, which takes some seconds.")
    ] = True,
) -> None:
    """Write the report of one or more runs.

    It is a page, tables and figures.
    """
    from r_eval.cli.reading import report_command

    report_command(runs, out, max_seconds, max_usd, figures)


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
