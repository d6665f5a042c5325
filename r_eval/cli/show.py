"""`r-eval show`: the episodes of a run as a list, or the transcript of one.

Of a run's lines only the ids are read; what is parsed and validated is what is shown.
"""

from __future__ import annotations

import difflib
import json as json_module
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any

import typer
from rich.cells import cell_len, set_cell_size
from rich.console import Console

from r_eval.analysis.response_types import TYPES
from r_eval.analysis.scoring import ensure_scored, is_current
from r_eval.cli.options import Json, RunPath, open_run, print_json
from r_eval.cli.transcript import harmless, print_transcript, transcript
from r_eval.errors import UserError
from r_eval.folder import Cell, RunFolder, line_id, validated
from r_eval.plugins import unknown
from r_eval.records import Episode

ID = 10
"""Characters of an id in the list: enough to name one of 100,000 episodes."""
LONGEST = 60
"""Columns of a terminal that a field of the list takes at most."""
COLUMNS = ("system", "task", "condition", "score", "type", "cause", "answer")


def show(
    run: RunPath,
    episode_id: Annotated[
        str | None, typer.Argument(metavar="EPISODE_ID", help="Print this transcript; a unique beginning will do.")
    ] = None,
    type_: Annotated[
        list[str] | None, typer.Option("--type", metavar="RE", help="List this response type only; repeatable.")
    ] = None,
    task: Annotated[str, typer.Option(metavar="TASK", help="List this task only, or a glob such as wiki/*.")] = "*",
    system: Annotated[str, typer.Option(metavar="SYSTEM", help="List this system only, or a glob: react+*.")] = "*",
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the messages that were sent too.")] = False,
    json: Json = False,
) -> None:
    """List the episodes of a run, or print the transcript of one.

    Without EPISODE_ID, lists the episodes that match all filters. On a terminal, long texts are cut.
    """
    folder = open_run(run)
    cells = folder.cells()
    if episode_id:
        _print_episode(folder, cells, episode_id, prompt, json)
        return
    if prompt:
        raise UserError("--prompt needs an EPISODE_ID: it prints the messages of one episode")
    for kind, pattern, known in (
        ("task", task, {c.task for c in cells}),
        ("system", system, {c.system for c in cells}),
    ):
        if not any(fnmatchcase(name, pattern) for name in known):
            raise UserError(f"{run}: {unknown(kind, pattern, known)}")
    types = [name.upper() for name in type_ or ()]
    for name in types:
        if name not in TYPES:
            raise UserError(unknown("response type", name, TYPES))
    ensure_scored(folder)
    chosen = [cell for cell in cells if fnmatchcase(cell.task, task) and fnmatchcase(cell.system, system)]
    rows = (row for cell in chosen for row in _rows(folder, cell, types))
    if json:
        print_json(list(rows))
        return
    number = _print_rows(rows)
    sys.stdout.write(f"{number} episode{'' if number == 1 else 's'}; r-eval show {run} ID prints a transcript\n")


def _find(folder: RunFolder, cell: Cell, is_wanted: Callable[[str], bool]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a cell whose ids are wanted, each with the number of its line, the newest where it has several."""
    for number, line in folder.cell_lines(cell):
        if is_wanted(line_id(line).decode()):
            yield number, json_module.loads(line)


def _rows(folder: RunFolder, cell: Cell, types: Sequence[str]) -> Iterator[dict[str, Any]]:
    scores = folder.scores(cell)
    wanted = {key for key, score in scores.items() if not types or score["response_type"] in types}
    for _, record in _find(folder, cell, wanted.__contains__):
        score = scores[record["episode_id"]]
        found = {key: record[key] for key in ("episode_id", "question_id", "epoch", "question", "answer")}
        own = {"system": cell.system, "task": cell.task, "condition": cell.condition}
        cause = score.get("cause") or ""
        yield {**found, **own, "score": score["score"], "type": score["response_type"], "cause": cause}


def _print_rows(rows: Iterable[dict[str, Any]]) -> int:
    """Print the list; returns how many episodes it has."""
    lines = [("id", *COLUMNS)]
    for row in rows:
        score = "-" if row["score"] is None else f"{100 * row['score']:.1f}"
        texts = {**row, "score": f"{score:>5}", "answer": " ".join(row["answer"][: 10 * LONGEST].split())}
        lines.append((row["episode_id"][:ID], *(_cut(harmless(texts[name], None), LONGEST) for name in COLUMNS)))
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else sum(widths) + len(lines[0]) * 2
    for line in lines if len(lines) > 1 else ():
        text = "  ".join(set_cell_size(cell, width) for cell, width in zip(line, widths, strict=True))
        sys.stdout.write(f"{_cut(text.rstrip(), columns)}\n")
    return len(lines) - 1


def _cut(text: str, width: int) -> str:
    """A text in so many columns of a terminal."""
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def _print_episode(folder: RunFolder, cells: Sequence[Cell], start: str, prompt: bool, json: bool) -> None:
    ids: list[str] = []

    def is_wanted(key: str) -> bool:
        ids.append(key)
        return key.startswith(start)

    found = [(cell, number, record) for cell in cells for number, record in _find(folder, cell, is_wanted)]
    if not found:
        near = difflib.get_close_matches(start, ids, 3, 0.5) if len(start) > 3 else []
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise UserError(f"{folder.path} has no episode {start}.{hint} r-eval show {folder.path} lists them")
    if len(found) > 1:
        names = ", ".join(record["episode_id"] for _, _, record in found[:5])
        raise UserError(f"{len(found)} episodes begin with {start}: {names}{', ...' if len(found) > 5 else ''}")
    ((cell, number, record),) = found
    episodes = cell.path(folder.episodes_root)
    score = folder.scores(cell).get(record["episode_id"]) if is_current(folder, cell) else None
    if json:
        print_json({"episode": record, "score": score})
        return
    episode = validated(Episode, record, episodes, number)
    if prompt and not episode.messages:
        raise UserError(f"{folder.path}: the record of this episode has no messages; run it again to record them")
    text = transcript(episode, score, not sys.stdout.isatty(), prompt)
    if score is None:
        text.append(f"not scored yet: r-eval score {folder.path}\n")
    print_transcript(Console(highlight=False), text)
