"""The leaderboard as a folder: a static page, tables, and what the board is made of.

DIR/
  index.html           the page; no server, no network
  board.json           the runs and question files of the board, by their paths from DIR, and what was approved
  submissions/*.json   approved answers of systems that R-Eval did not run
  tables/leaderboard.* the numbers of each version for other programs (csv) and for papers (md, tex)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from r_eval.analysis.leaderboard import board_rows, standings
from r_eval.analysis.report import write_tables_page
from r_eval.analysis.submissions import read_results
from r_eval.errors import UserError
from r_eval.folder import RunFolder, described, file_name, write_whole

if TYPE_CHECKING:
    import pandas

NOTE = (
    "Retrieval: mean of hit rate, recall and NDCG. Generation: the task's own metric. Total: their sum, up to 200 %. "
    "Every question of a version counts for every system; one without a score is missing, and counts 0."
)
OVER = "Over several versions each has the same weight."


class Board(BaseModel):
    """`board.json`.

    Attributes:
        runs, seasons: Paths of runs and question files, from the board's folder.
        approved: By the name of a file in `submissions/`, who approved it.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    runs: list[str] = []
    seasons: list[str] = []
    approved: dict[str, str] = {}


def write_leaderboard(
    runs: Sequence[RunFolder], out: Path, seasons: Sequence[Path] = ()
) -> tuple[Path, pandas.DataFrame]:
    """Write the leaderboard of some runs; scores that are missing or out of date are computed first.

    Args:
        out: The board's folder; a board there is replaced, but for its approved submissions.
        seasons: Question files with their season next to them, from which the runs' questions are.

    Returns:
        The page's path, and the rows that it is made of, as of `leaderboard.board_rows`.

    Raises:
        UserError: A run or a season cannot be read, or there is nothing to show.
    """

    def relative(paths: Iterable[Path]) -> list[str]:
        return [Path(os.path.relpath(path.resolve(), out.resolve())).as_posix() for path in paths]

    board = Board(
        runs=relative(run.path for run in runs),
        seasons=relative(seasons),
        approved=read_board(out).approved if (out / "board.json").exists() else {},
    )
    return _write(board, out)


def approve(out: Path, submission: Path, name: str) -> tuple[Path, pandas.DataFrame]:
    """Add the answers of a system that R-Eval did not run to a board, and write the board anew.

    Args:
        name: Who approved them; it is printed next to the system.

    Raises:
        UserError: There is no board, the file is no submission, or the board has one of that name.
    """
    board = read_board(out)
    read_results(submission)
    name_in_board = f"{file_name(submission.stem)}.json"
    if name_in_board in board.approved:
        raise UserError(f"{out}: the board has a submission {name_in_board!r}; rename the file")
    write_whole(out / "submissions" / name_in_board, submission.read_text(encoding="utf-8-sig"))
    try:
        return _write(board.model_copy(update={"approved": {**board.approved, name_in_board: name}}), out)
    except UserError:
        (out / "submissions" / name_in_board).unlink()
        raise


def read_board(out: Path) -> Board:
    """What a board is made of.

    Raises:
        UserError: The folder is no board, or its board.json is damaged.
    """
    path = out / "board.json"
    try:
        board = Board.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{out} is no leaderboard: it has no board.json (r-eval data leaderboard writes one)") from None
    except ValidationError as error:
        raise UserError(f"{path}: {described(error)}") from None
    if odd := next((name for name in board.approved if name != file_name(name)), None):
        raise UserError(f"{path}: {odd!r} is not the name of a file in submissions/")
    return board


def _write(board: Board, out: Path) -> tuple[Path, pandas.DataFrame]:
    approved = {out / "submissions" / name: person for name, person in board.approved.items()}
    runs, seasons = ([Path(os.path.normpath(out / name)) for name in names] for names in (board.runs, board.seasons))
    rows = board_rows([RunFolder(path) for path in runs], seasons, approved)
    if rows.empty:
        raise UserError("no episodes in these runs: the leaderboard would be empty")
    versions = rows[["place", "version"]].drop_duplicates().sort_values("place")
    facts = []
    for place, name in versions.itertuples(index=False):
        systems = rows[rows["place"] == place].groupby(["condition", "system"])
        updated = systems["updated"].max().max()
        facts.append(f"{name}: {systems.size().max()} questions, {len(systems)} systems, updated {updated}")
    page = write_tables_page(out, "Leaderboard", facts, [*_tables(rows, len(versions))])
    write_whole(out / "board.json", board.model_dump_json(indent=1) + "\n")
    return page, rows


def _tables(rows: pandas.DataFrame, number: int) -> Iterator[tuple[str, str, str, pandas.DataFrame]]:
    """The standings over all versions, and of each version."""
    import pandas

    note = f"{NOTE} {OVER}" if number > 1 else NOTE
    yield "standings", "All versions" if number > 1 else "Standings", note, _shown(standings(rows))
    parts = [
        standings(own).drop(columns="versions").assign(version=own["version"].iloc[0])
        for _, own in rows.groupby("place")
    ]
    found = pandas.concat(parts, ignore_index=True)
    found.insert(0, "version", found.pop("version"))
    yield "leaderboard", "Each version", NOTE, found


def _shown(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The frame without columns that are empty for every system."""
    return frame.drop(columns=[name for name in frame if (frame[name] == "").all() and name != "system"])
