"""`r-eval show`: the episodes of a run as a list, or the transcript of one.

Of a run's lines only the ids are read; what is parsed and validated is what is shown.
"""

from __future__ import annotations

import difflib
import json as json_module
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any

from rich.cells import cell_len, set_cell_size
from typer import Argument, Option

from r_eval.analysis.response_types import NAMES, TYPES
from r_eval.analysis.scoring import ensure_scored, is_current
from r_eval.analysis.warnings import counted
from r_eval.cli.options import Json, RunPath, open_run, print_json, print_lines
from r_eval.errors import UserError
from r_eval.folder import Cell, RunFolder, line_id, validated
from r_eval.plugins import unknown
from r_eval.records import Episode, Step

ID = 10
"""Characters of an id in the list: enough to name one of 100,000 episodes."""
LONGEST = 60
"""Columns of a terminal that a field of the list takes at most."""
COLUMNS = ("id", "system", "task", "condition", "score", "type", "cause", "answer")
INDENT = " " * 6


def show(
    run: RunPath,
    episode_id: Annotated[
        str | None, Argument(metavar="EPISODE_ID", help="Print this transcript; a unique prefix is enough.")
    ] = None,
    type_: Annotated[
        list[str] | None, Option("--type", metavar="RE", help="List this response type only; repeatable.")
    ] = None,
    task: Annotated[str, Option(metavar="TASK", help="List this task only, or a glob such as wiki/*.")] = "*",
    system: Annotated[str, Option(metavar="SYSTEM", help="List this system only, or a glob: react+*.")] = "*",
    prompt: Annotated[bool, Option("--prompt", help="Print the messages that were sent too.")] = False,
    json: Json = False,
) -> None:
    """List the episodes of a run, or print the transcript of one.

    Without EPISODE_ID, lists the episodes that match all filters.
    """
    folder = open_run(run)
    cells = folder.cells()
    if episode_id:
        _print_episode(folder, cells, episode_id, prompt, json)
        return
    if prompt:
        raise UserError("--prompt needs an EPISODE_ID: it prints the messages of one episode")
    for kind, pattern in (("task", task), ("system", system)):
        known = {getattr(cell, kind) for cell in cells}
        if not any(fnmatchcase(name, pattern) for name in known):
            raise UserError(f"{run}: {unknown(kind, pattern, known)}")
    types = [name.upper() for name in type_ or ()]
    for name in types:
        if name not in TYPES:
            raise UserError(unknown("response type", name, TYPES))
    ensure_scored(folder)
    chosen = [cell for cell in cells if fnmatchcase(cell.task, task) and fnmatchcase(cell.system, system)]
    rows = [row for cell in chosen for row in _rows(folder, cell, types)]
    if json:
        print_json(rows)
        return
    command = f"r-eval show {shlex.quote(str(run))} ID"
    print_lines([*_table(rows), f"{counted(len(rows), 'episode')}; {command} prints a transcript"])


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


def _table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The rows as lines, their columns one below the other."""
    lines = [list(COLUMNS)] if rows else []
    for row in rows:
        score = "    -" if row["score"] is None else f"{100 * row['score']:5.1f}"
        texts = {**row, "id": row["episode_id"][:ID], "score": score, "answer": " ".join(row["answer"][:600].split())}
        lines.append([_cut(texts[name]) for name in COLUMNS])
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(map(set_cell_size, line, widths)).rstrip() for line in lines]


def _cut(text: str) -> str:
    return text if cell_len(text) <= LONGEST else f"{set_cell_size(text, LONGEST - 1)}…"


def _print_episode(folder: RunFolder, cells: Sequence[Cell], start: str, prompt: bool, json: bool) -> None:
    ids: list[str] = []

    def is_wanted(key: str) -> bool:
        ids.append(key)
        return key.startswith(start)

    found = [(cell, number, record) for cell in cells for number, record in _find(folder, cell, is_wanted)]
    if not found:
        near = difflib.get_close_matches(start, ids, 3, 0.5) if len(start) > 3 else []
        path = shlex.quote(str(folder.path))
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise UserError(f"{folder.path} has no episode {start}.{hint} r-eval show {path} lists them")
    if len(found) > 1:
        names = ", ".join(record["episode_id"] for _, _, record in found[:5])
        raise UserError(f"{len(found)} episodes begin with {start}: {names}{', ...' if len(found) > 5 else ''}")
    ((cell, number, record),) = found
    score = folder.scores(cell).get(record["episode_id"]) if is_current(folder, cell) else None
    if json:
        print_json({"episode": record, "score": score})
        return
    episode = validated(Episode, record, cell.path(folder.episodes_root), number)
    if prompt and not episode.messages:
        raise UserError(f"{folder.path}: the record of this episode has no messages; run it again to record them")
    print_lines(transcript(episode, score, prompt))
    if score is None:
        print_lines([f"not scored yet: r-eval score {shlex.quote(str(folder.path))}"])


def transcript(episode: Episode, score: Mapping[str, Any] | None, with_messages: bool = False) -> Iterator[str]:
    """The whole episode, in lines: head, steps, outcome.

    Args:
        score: Its score record, where there is one.
        with_messages: Show before each reply the messages that it answers.
    """
    yield f"{episode.episode_id}  {episode.system}  {episode.task}  {episode.condition}"
    labels = {"question": [episode.question], "gold": episode.golds, "evidence": episode.evidence}
    yield from (f"{label:<10}{' | '.join(values)}" for label, values in labels.items() if values)
    yield ""
    printed: set[int] = set()
    for number, step in enumerate(episode.steps, 1):
        if with_messages and step.request:
            yield from _messages(episode, step, printed)
        yield from _step(number, step)
    yield ""
    yield from _outcome(episode, score)


def _messages(episode: Episode, step: Step, printed: set[int]) -> Iterator[str]:
    """The messages that a reply answers; those that an earlier one answered already are only counted."""
    sent = [place for place in step.request if place < len(episode.messages)]
    new = [place for place in sent if place not in printed]
    printed.update(new)
    again = f", {len(sent) - len(new)} of them as before" if len(new) < len(sent) else ""
    yield f"{INDENT}sent {len(sent)} messages{again}"
    for place in new:
        message = episode.messages[place]
        calls = [json_module.dumps(call, ensure_ascii=False) for call in message.calls]
        yield INDENT + " ".join(filter(None, [f"[{place}]", message.role, message.name, message.call_id]))
        yield from _indented("\n".join(filter(None, [message.content, *calls])))


def _step(number: int, step: Step) -> Iterator[str]:
    notes = [] if step.depth is None else [f"depth {step.depth}"]
    notes += [step.error] if step.kind == "thought" and step.error else []
    notes += [f"{step.tokens.prompt:,} + {step.tokens.completion:,} tokens"] if step.tokens else []
    notes += [f"{step.seconds:.2f} s"] if step.seconds >= 0.005 else []
    notes += ["replayed"] if step.replayed else []
    head = f"{number:>3} {step.kind}" + (f" ({', '.join(notes)})" if notes else "")
    if step.kind == "call":
        values = {key: json_module.dumps(value, ensure_ascii=False) for key, value in (step.arguments or {}).items()}
        written = ", ".join(f"{key}={value}" for key, value in values.items())
        yield f"{head}  {step.api}({written})" + (f"  {step.error}" if step.error else "")
        yield from _indented(step.observation or "")
    else:
        missing = "none" if step.kind == "answer" and step.error else "(nothing)"
        first, *rest = (step.text or missing).split("\n")
        yield f"{head}  {first}"
        yield from _indented("\n".join(rest))
    if step.reasoning:
        yield from _indented(f"reasoning: {step.reasoning}")


def _indented(body: str) -> list[str]:
    return [f"{INDENT}{line}" for line in body.split("\n")] if body else []


def _outcome(episode: Episode, score: Mapping[str, Any] | None) -> Iterator[str]:
    """How the episode ended, its score and why, and what it used."""
    from r_eval.analysis.causes import CAUSES

    outcome, usage, seconds = episode.outcome, episode.usage, episode.seconds
    yield " ".join(filter(None, [outcome.kind, outcome.cause, outcome.detail]))
    yield from _indented(outcome.traceback)
    if score is not None:
        value = "no score" if score["score"] is None else f"{score['metric']} {100 * score['score']:.1f}"
        kind = score["response_type"]
        undecided = " (undecided)" if score["undecided"] else ""
        yield f"{value}, response type {kind} ({NAMES.get(kind, kind)}){undecided}"
        if why := score.get("cause"):
            yield f"cause: {CAUSES.get(why, why)} ({why})"
    cost = "" if usage.cost is None else f"{usage.cost:.4g} USD, "
    yield (
        f"{usage.calls} LLM calls, {usage.prompt_tokens:,} prompt tokens ({usage.cached_tokens:,} cached), "
        f"{usage.completion_tokens:,} completion tokens, {cost}"
        f"{seconds.total:.2f} s ({seconds.llm:.2f} s in the LLM)"
    )
