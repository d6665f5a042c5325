"""What the page shows of single questions and episodes: files that it loads when they are asked for.

    data/questions/<task>.js           the questions of a task, and a line for each episode
    data/episodes/<task>-<chunk>.js    transcripts, question by question: base64 of gzip of JSON by episode id

<task> is the task's number in the page's list. A run is read a task at a time and its episodes one by one; they wait
in a file without a name until all systems are read, since a chunk holds what all of them did on a few questions.
"""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from r_eval.analysis.causes import CAUSES
from r_eval.analysis.columns import Shared
from r_eval.analysis.report.payload import rounded, script
from r_eval.analysis.report.transcripts import transcript
from r_eval.analysis.responses import TYPES
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.systems import suffixes
from r_eval.folder import Cell, RunFolder, write_whole
from r_eval.records import Episode

CHUNK = 2 << 20
"""Bytes of JSON after which a chunk is full; one that holds a larger transcript is larger."""
GZIP = 31
"""zlib's number for a gzip header; without a time, so that the same run gives the same bytes."""


class _Source(NamedTuple):
    """One cell of one run, and the row of the page's list that it belongs to."""

    run: RunFolder
    cell: Cell
    row: int


@dataclass(slots=True)
class _Line:
    """What the page's list says of one episode, and where its transcript lies in the waiting file."""

    question: int
    row: int
    values: list[Any]
    start: int
    size: int
    chunk: int = 0


@dataclass(slots=True)
class _Task:
    """The questions and episodes of one task as they are met."""

    questions: dict[str, dict[str, Any]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    whys: dict[str, int] = field(default_factory=lambda: {"": 0})
    lines: list[_Line] = field(default_factory=list)

    def place(self, episode: Episode) -> int:
        """The number of an episode's question; one that no file tells of is told by the episode."""
        if episode.question_id not in self.questions:
            self.add(episode.question_id, episode.question, episode.golds, episode.level, episode.question_id)
        return self.places[episode.question_id]

    def add(self, id_: str, text: str, golds: list[str], level: str, cluster: str) -> None:
        """Add a question; the first word on it counts."""
        if id_ not in self.questions:
            self.places[id_] = len(self.questions)
            self.questions[id_] = {"id": id_, "text": text, "golds": golds, "level": level, "cluster": cluster}


def write_details(runs: Sequence[RunFolder], aggregates: Aggregates, shared: Shared, out: Path) -> list[int]:
    """Write the files of single questions and episodes; older ones are taken away.

    Episodes without a score record, such as those that a run adds meanwhile, are left out.

    Args:
        runs: Those with episodes, in the order in which they were aggregated; they have been scored.
        shared: By task and question, what a question shares with others.
        out: The report's folder.

    Returns:
        By task, how many chunks of transcripts there are; 0 where there are no episodes.

    Raises:
        UserError: A record cannot be read.
    """
    for name in ("questions", "episodes"):
        shutil.rmtree(out / "data" / name, ignore_errors=True)
    sources = list(_sources(runs, aggregates))
    return [
        _write_task(
            number, [source for source in sources if source.cell.task == task.name], shared.get(task.name, {}), out
        )
        for number, task in enumerate(aggregates.tasks)
    ]


def _sources(runs: Sequence[RunFolder], aggregates: Aggregates) -> Iterator[_Source]:
    """The cells of some runs with their rows; systems are named as `aggregate` names them."""
    rows = aggregates.row_places
    for run, suffix in zip(runs, suffixes(runs), strict=True):
        for cell in run.cells():
            row = rows.get((cell.condition, cell.system + suffix))
            if row is not None:
                yield _Source(run, cell, row)


def _write_task(number: int, sources: Sequence[_Source], shared: Mapping[str, str], out: Path) -> int:
    task = _Task()
    for run in dict.fromkeys(source.run for source in sources):
        for question in run.questions(sources[0].cell.task):
            cluster = shared.get(question.id, question.id)
            task.add(question.id, question.question, question.answers, question.level, cluster)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=out) as waiting:
        for source in sources:
            _read(source, task, waiting)
        if not task.lines:
            return 0
        task.lines.sort(key=lambda line: line.question)
        chunks = list(_chunks(task.lines))
        for place, chunk in enumerate(chunks):
            _write_chunk(f"episodes/{number}-{place}", place, chunk, waiting, out)
    name = f"questions/{number}"
    write_whole(out / "data" / f"{name}.js", script(name, _listed(task)))
    return len(chunks)


def _read(source: _Source, task: _Task, waiting: IO[bytes]) -> None:
    """Take in the episodes of one cell."""
    records = source.run.scores(source.cell)
    for episode in source.run.cell_episodes(source.cell):
        record = records.get(episode.episode_id)
        if record is None:
            continue
        data = transcript(episode, record)
        question = task.place(episode)
        known = task.questions[episode.question_id]
        if episode.question != known["text"]:
            data["question"] = episode.question
        text = f"{json.dumps(episode.episode_id)}:{json.dumps(data, separators=(',', ':'))}".encode("ascii")
        values = [
            question,
            episode.epoch,
            rounded(record["score"]),
            TYPES.index(record["response_type"]),
            task.whys.setdefault(record["cause"], len(task.whys)),
            rounded(record["seconds"]),
            record["calls"],
            episode.episode_id,
        ]
        task.lines.append(_Line(question, source.row, values, waiting.tell(), len(text)))
        waiting.write(text)


def _chunks(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Episodes in the order of their questions, some at a time."""
    chunk: list[_Line] = []
    size = 0
    for line in lines:
        if chunk and size + line.size > CHUNK:
            yield chunk
            chunk, size = [], 0
        chunk.append(line)
        size += line.size
    if chunk:
        yield chunk


def _write_chunk(name: str, place: int, chunk: Sequence[_Line], waiting: IO[bytes], out: Path) -> None:
    packer = zlib.compressobj(wbits=GZIP)
    packed = [packer.compress(b"{")]
    for number, line in enumerate(chunk):
        line.chunk = place
        waiting.seek(line.start)
        packed += [packer.compress(b"," if number else b""), packer.compress(waiting.read(line.size))]
    packed += [packer.compress(b"}"), packer.flush()]
    text = base64.b64encode(b"".join(packed)).decode("ascii")
    write_whole(out / "data" / f"{name}.js", script(name, text))


def _listed(task: _Task) -> dict[str, Any]:
    """What data/questions/<task>.js holds.

    An episode is [number of the question, epoch, score or null, place in the page's types, place in `whys`, seconds,
    LLM calls, id, chunk].
    """
    by_row: dict[int, list[list[Any]]] = {}
    for line in task.lines:
        by_row.setdefault(line.row, []).append([*line.values, line.chunk])
    return {
        "questions": list(task.questions.values()),
        "systems": [{"row": row, "episodes": episodes} for row, episodes in sorted(by_row.items())],
        "whys": list(task.whys),
        "sentences": [CAUSES.get(why, "") for why in task.whys],
    }
