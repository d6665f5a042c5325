"""What the page shows of single questions and episodes: files that it loads when they are opened.

    data/questions/<task>.js           the questions of a task, and a line for each episode
    data/episodes/<task>-<chunk>.js    transcripts, question by question: base64 of gzip of JSON by episode id

<task> is the task's number in the page's list. A run is read a task at a time and its episodes one by one; they wait
in a file without a name until all systems are read, since a chunk holds what all of them did on a few questions. A
transcript is the record without empty fields; its steps name the evidence that they hold.
"""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from r_eval.analysis.metrics.literals import gold_values
from r_eval.analysis.report.scripts import rounded, write_script
from r_eval.analysis.response_types import TYPES, Observed, evidence_text
from r_eval.folder import Cell, RunFolder
from r_eval.records import Episode, Step

if TYPE_CHECKING:
    from r_eval.analysis.results import Results

CHUNK = 2 << 20
"""Bytes of JSON after which a chunk is full; one that holds a larger transcript is larger."""
RECORD = ("metric", "threshold", "taxonomy", "supported", "undecided")
"""Fields of the score record that a transcript has."""


@dataclass(slots=True)
class _Task:
    """The questions and episodes of one task as they are read.

    Attributes:
        questions: Place and data of each question by its id; the first text of a question counts.
        lines: What the page's list says of each episode, and where in the waiting file its transcript is.
    """

    questions: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    causes: dict[str, int] = field(default_factory=lambda: {"": 0})
    lines: list[tuple[list[Any], int, int]] = field(default_factory=list)

    def add(self, id_: str, text: str, golds: list[str], level: str) -> tuple[int, dict[str, Any]]:
        data = {"id": id_, "text": text, "golds": golds, "level": level}
        return self.questions.setdefault(id_, (len(self.questions), data))


def write_transcripts(results: Results, systems: Sequence[str], out: Path) -> list[int]:
    """Write the files of single questions and episodes; older ones are removed.

    Episodes without a score record, such as those that a run adds meanwhile, are left out.

    Args:
        systems: In the order of the page; an episode names its system by the place.
        out: The report's folder.

    Returns:
        By task, how many chunks of transcripts there are; 0 where there are no episodes.

    Raises:
        UserError: A record cannot be read.
    """
    for name in ("questions", "episodes"):
        shutil.rmtree(out / "data" / name, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    counts = []
    for number, name in enumerate(results.tasks["name"]):
        task = _Task()
        with tempfile.TemporaryFile(dir=out) as waiting:
            for run, suffix in zip(results.runs, results.suffixes, strict=True):
                for question in run.questions(name):
                    task.add(question.id, question.question, question.answers, question.level)
                for cell in run.cells():
                    if cell.task == name:
                        place = [systems.index(cell.system + suffix), results.conditions.index(cell.condition)]
                        _read(run, cell, place, task, waiting)
            counts.append(_write_task(number, task, waiting, out))
    return counts


def _read(run: RunFolder, cell: Cell, place: list[int], task: _Task, waiting: IO[bytes]) -> None:
    """Take in the episodes of one cell."""
    records = run.scores(cell)
    for episode in run.cell_episodes(cell):
        record = records.get(episode.episode_id)
        if record is None:
            continue
        number, question = task.add(episode.question_id, episode.question, episode.golds, episode.level)
        data = transcript(episode, record)
        if episode.question != question["text"]:
            data["question"] = episode.question
        text = f"{json.dumps(episode.episode_id)}:{json.dumps(data, separators=(',', ':'))}".encode("ascii")
        cause = task.causes.setdefault(record["cause"], len(task.causes))
        values = [number, *place, episode.epoch, rounded(record["score"])]
        values += [TYPES.index(record["response_type"]), cause, rounded(record["seconds"]), record["calls"]]
        task.lines.append(([*values, episode.episode_id], waiting.tell(), len(text)))
        waiting.write(text)


def _write_task(number: int, task: _Task, waiting: IO[bytes], out: Path) -> int:
    """Write the files of a task; returns the number of chunks."""
    if not task.lines:
        return 0
    place, full, chunks = 0, 0, dict[int, list[tuple[int, int]]]()
    task.lines.sort(key=lambda line: int(line[0][0]))
    for values, start, size in task.lines:
        if full and full + size > CHUNK:
            place, full = place + 1, 0
        chunks.setdefault(place, []).append((start, size))
        full += size
        values.append(place)
    for place, chunk in chunks.items():
        texts = []
        for start, size in chunk:
            waiting.seek(start)
            texts.append(waiting.read(size))
        packed = gzip.compress(b"{%b}" % b",".join(texts), mtime=0)  # the same run gives the same bytes
        write_script(out, f"episodes/{number}-{place}", base64.b64encode(packed).decode("ascii"))
    questions = [data for _, data in task.questions.values()]
    listed = {"questions": questions, "episodes": [values for values, *_ in task.lines], "causes": list(task.causes)}
    write_script(out, f"questions/{number}", listed)
    return len(chunks)


def transcript(episode: Episode, record: dict[str, Any]) -> dict[str, Any]:
    """The data of one episode.

    Keys besides those of the record: `wanted`, the texts that were looked for, each {text, chance, steps}: whether
    containment cannot judge it, and the numbers of the steps that hold it (`holds` of a step has the places in
    `wanted`); `retrieved`, the share of the relevant documents that were found.

    Args:
        record: The score record.
    """
    wanted, steps = _wanted(episode), list(map(_step, episode.steps))
    for number, step in enumerate(episode.steps):
        if text := evidence_text(step):
            observed = Observed([text])
            holds = observed.holds if episode.evidence else observed.holds_gold
            steps[number]["holds"] = [place for place, one in enumerate(wanted) if holds(one["text"])]
            for place in steps[number]["holds"]:
                wanted[place]["steps"].append(number)
    retrieval = record.get("retrieval") or {}
    return {
        "answer": episode.answer,
        "golds": episode.golds,
        "outcome": episode.outcome.model_dump(exclude_defaults=True),
        "usage": episode.usage.model_dump(exclude_defaults=True),
        "seconds": {key: rounded(value) for key, value in episode.seconds.model_dump(exclude_defaults=True).items()},
        "messages": [message.model_dump(exclude_defaults=True) for message in episode.messages],
        **{name: record.get(name) for name in RECORD},
        "named": bool(episode.evidence),
        "retrieved": None if retrieval.get("mrr") is None else retrieval["recall"],
        "wanted": wanted,
        "steps": steps,
    }


def _wanted(episode: Episode) -> list[dict[str, Any]]:
    """What an observation should hold: the named evidence, or the values of the golds."""
    if episode.evidence:
        return [{"text": text, "chance": False, "steps": []} for text in dict.fromkeys(episode.evidence)]
    nothing = Observed([])
    values = dict.fromkeys(value for gold in episode.golds for value in gold_values(gold))
    return [{"text": value, "chance": nothing.holds_gold(value) is None, "steps": []} for value in values]


def _step(step: Step) -> dict[str, Any]:
    data: dict[str, Any] = step.model_dump(exclude_defaults=True, exclude={"tokens", "retrieved_ids", "seconds"})
    if step.seconds:
        data["seconds"] = rounded(step.seconds)
    if step.tokens is not None:
        data["tokens"] = [step.tokens.prompt, step.tokens.completion, step.tokens.cached]
    return data
