"""`r-eval data leaderboard`: many runs over many versions of a question set as one page, and answers sent in to it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from r_eval.cli.app import SETTINGS
from r_eval.cli.options import RunPath, RunPaths, open_run, print_lines

if TYPE_CHECKING:
    import pandas


class BoardCommands(TyperGroup):
    """`submit`, `add`, or, with runs in place of a command, `write`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Take what is no command for the runs of `write`."""
        return super().resolve_command(ctx, args if args[0] in self.commands else ["write", *args])


app = typer.Typer(
    rich_markup_mode=None,
    cls=BoardCommands,
    help="Write the leaderboard of many runs over many versions of a question set, or submit to one.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={**SETTINGS, "ignore_unknown_options": True},
)


@app.command(context_settings=SETTINGS)
def write(
    runs: RunPaths,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder of the leaderboard.")],
    season: Annotated[
        list[Path] | None,
        typer.Option("--season", metavar="QUESTIONS.jsonl", help="A question file with its season; repeatable."),
    ] = None,
) -> None:
    """Write the leaderboard of some runs; `write` itself may be left out.

    Result files of other systems (results.json) can be named among the runs.
    """
    from r_eval.analysis.leaderboard_page import write_leaderboard
    from r_eval.folder import RunFolder

    submissions = [path for path in runs if path.is_file()]
    folders = [RunFolder(path) for path in runs if not path.is_file()]
    _print(*write_leaderboard(folders, out, season or [], submissions))


@app.command(context_settings=SETTINGS)
def submit(
    run: RunPath,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write, such as my-system.json.")],
    system: Annotated[str, typer.Option("--system", help="The system to submit, where the run has several.")] = "",
) -> None:
    """Package a run's answers to the public questions for submission (results.json)."""
    from r_eval.analysis.submissions import package
    from r_eval.folder import write_whole

    answers = package(open_run(run), system)
    write_whole(out, json.dumps(answers, ensure_ascii=False, indent=1) + "\n")
    print_lines([f"{out}: {len(answers)} answers"])


@app.command(context_settings=SETTINGS)
def add(
    board: Annotated[Path, typer.Argument(metavar="BOARD", help="The folder of a leaderboard.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Answers that were sent in (results.json).")],
    approved_by: Annotated[str, typer.Option("--approved-by", metavar="NAME", help="Who approved them.")],
) -> None:
    """Add answers that were sent in to a leaderboard, once somebody has approved them; the board is written anew."""
    from r_eval.analysis.leaderboard_page import approve

    _print(*approve(board, file, approved_by))


def _print(page: Path, rows: pandas.DataFrame) -> None:
    """Who leads on each version, and where the page is."""
    from r_eval.analysis.leaderboard import UNKNOWN, standings

    for _, own in rows.groupby("place"):
        found = standings(own)
        scored = found["total_score"].fillna(found["generation_score"]) > 0
        names = ", ".join(found.loc[(found["rank"] == 1).fillna(False) & scored, "system"]) or "no system"
        questions = own.groupby(["condition", "system"]).size().iloc[0]
        print_lines([f"{own['version'].iloc[0]}: questions {questions}, systems {len(found)}, first: {names}"])
    print_lines([f"Leaderboard {page}"])
    if (rows["version"] == UNKNOWN).any():
        sys.stderr.write(
            "r-eval: some questions belong to no known season; name the files that r-eval generate wrote in --season\n"
        )
