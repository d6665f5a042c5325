"""A run in progress can be reported: what it has by now, and how much is missing."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from r_eval.analysis.results import load
from r_eval.analysis.run_summary import summary_lines
from r_eval.analysis.scoring import ensure_scored, score_run
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode
from tests.analysis.conftest import episode, write_manifest
from tests.commands import typed_here

R_EVAL = Path(sys.executable).with_name("r-eval")
LLM = """
import asyncio, pathlib

made = 0

async def reply(request):
    global made
    made += 1
    if made > 20:
        for _ in range(10):
            if not pathlib.Path("go").exists():
                await asyncio.sleep(0.05)
    return "Action: Finish[Ada]"
"""
GRID = """
llms: [{llm: scripted/./llm.py:reply, name: slow, connections: 2}]
workflows: [react, direct, oracle]
tasks: [aminer/soay-easy, aminer/soay-hard]
samples: 30
shots: 1
"""


@pytest.fixture
def going(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run in the background that hurries once there is a file called go."""
    (tmp_path / "llm.py").write_text(LLM, encoding="utf-8")
    (tmp_path / "grid.yaml").write_text(GRID, encoding="utf-8")
    with (tmp_path / "out").open("wb") as out:
        run = subprocess.Popen([str(R_EVAL), "run", "grid.yaml"], cwd=tmp_path, stdout=out, stderr=out)
    try:
        yield run
    finally:
        run.kill()
        run.wait()


def recorded(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in (folder / "runs").rglob("episodes/**/*.jsonl"))


def test_a_run_that_goes_on_is_reported_as_far_as_it_is(going: subprocess.Popen[bytes], tmp_path: Path) -> None:
    deadline = time.monotonic() + 60
    while recorded(tmp_path) < 20 and time.monotonic() < deadline:
        time.sleep(0.05)
    before = recorded(tmp_path)
    done = typed_here(["report", "runs/grid", "--no-figures"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    after = recorded(tmp_path)
    assert going.poll() is None, "the run was to be still under way"
    found = re.search(
        r"^Missing   (\d+) of 180 episodes \((\d+) not run yet\); the run is still going$", done.stdout, re.M
    )
    assert found, done.stdout
    assert found[1] == found[2]
    assert before <= 180 - int(found[1]) <= after
    assert "\nReport    runs/grid/report/index.html\n" in done.stdout

    (tmp_path / "go").touch()
    assert going.wait(timeout=120) == 0
    run = RunFolder(tmp_path / "runs" / "grid")
    assert not any(line.startswith("Missing") for line in summary_lines(load(run)))
    assert sum(len(run.scores(cell)) for cell in run.cells()) == 180


CELL = Cell("react", "m", "clean", "wiki/high-freq")


def made(number: int) -> Episode:
    return episode(episode_id=f"e{number}", question_id=f"q{number}", llm="m")


def write(run: RunFolder, *numbers: int) -> None:
    writer = CellWriter(CELL.path(run.episodes_root))
    for number in numbers:
        writer.append(made(number).model_dump_json(by_alias=True))
    writer.close()


class Growing(RunFolder):
    """A run that gets an episode right after its episodes have been read."""

    def cell_episodes(self, cell: Cell) -> Iterator[Episode]:
        yield from super().cell_episodes(cell)
        write(self, 7)


def test_an_episode_that_comes_while_a_run_is_scored_is_scored_the_next_time(tmp_path: Path) -> None:
    run = Growing(tmp_path)
    write(run, 0)
    write_manifest(tmp_path, [CELL], 2)
    score_run(run)
    assert list(run.scores(CELL)) == ["e0"]
    ensure_scored(RunFolder(tmp_path))
    assert list(run.scores(CELL)) == ["e0", "e7"]


def test_only_the_cells_that_changed_are_scored_again(tmp_path: Path) -> None:
    other = CELL._replace(workflow="pal")
    run = RunFolder(tmp_path)
    write(run, 0)
    writer = CellWriter(other.path(run.episodes_root))
    writer.append(made(3).model_dump_json(by_alias=True))
    writer.close()
    write_manifest(tmp_path, [CELL, other], 2)
    ensure_scored(run)
    inodes = {cell: cell.path(run.scores_root).stat().st_ino for cell in (CELL, other)}
    write(run, 1)
    ensure_scored(run)
    assert len(run.scores(CELL)) == 2
    assert other.path(run.scores_root).stat().st_ino == inodes[other]
