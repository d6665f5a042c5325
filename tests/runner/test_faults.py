"""Faults of the disk, the clock and the files: a run ends with one sentence, spoils nothing, and goes on afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from r_eval import Grid, run
from r_eval.llms.reply_store import store_path
from tests.runner.desks import Desk

R_EVAL = Path(sys.executable).with_name("r-eval")
EPISODES = 40

WORDY = """
import asyncio
from pathlib import Path

async def reply(request):
    with open({asked!r}, "a", encoding="utf-8") as log:
        log.write(request.messages[-1].content.replace(chr(10), " ") + chr(10))
    await asyncio.sleep(float(Path({pace!r}).read_text(encoding='utf-8')))
    return "Ada" + " and nobody else" * 200
"""


def can_mount() -> bool:
    """Whether a process may have file systems of its own."""
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    return tried.returncode == 0


mounts = pytest.mark.skipif(not can_mount(), reason="needs to mount a file system (unshare, user namespaces)")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk with a grid of 40 episodes, some kilobytes each."""
    return written(Desk(tmp_path), seconds=0)


def written(desk: Desk, seconds: float) -> Desk:
    """Write the grid; each call takes so many seconds."""
    pace(desk, seconds)
    llm = desk.llm(WORDY, connections=4, pace=str(desk.path / "pace"))
    grid = {"llms": [llm], "workflows": ["direct"], "tasks": ["aminer/soay-easy"], "samples": 20, "epochs": 2}
    (desk.path / "grid.yaml").write_text(yaml.safe_dump(grid), encoding="utf-8")
    return desk


def pace(desk: Desk, seconds: float) -> None:
    (desk.path / "pace").write_text(str(seconds), encoding="utf-8")


def command(*options: str) -> list[str]:
    return [str(R_EVAL), "run", "grid.yaml", "--quiet", "--no-cache", "--out", "out", *options]


def typed(desk: Desk, *options: str) -> subprocess.CompletedProcess[str]:
    """What came of `r-eval run`."""
    return subprocess.run(
        command(*options), cwd=desk.path, capture_output=True, text=True, encoding="utf-8", check=False
    )


def shell(desk: Desk, script: str) -> subprocess.CompletedProcess[str]:
    """A script in a process with file systems of its own; $RUN is the command."""
    environ = {**os.environ, "RUN": " ".join(command())}
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        cwd=desk.path,
        env=environ,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def go_on(desk: Desk, out: str = "out", **how: Any) -> None:
    """The same in this process."""
    run(Grid.load(desk.path / "grid.yaml"), desk.path / out, cache=False, **how)


def lines(desk: Desk, out: str = "out") -> list[dict[str, Any]]:
    """The whole lines of the episode files; each must be JSON."""
    found = sorted((desk.path / out / "episodes").rglob("*.jsonl"))
    return [json.loads(line) for path in found for line in path.read_bytes().split(b"\n")[:-1]]


def cell_file(desk: Desk) -> Path:
    (path,) = (desk.path / "out" / "episodes").rglob("*.jsonl")
    return path


def is_one_sentence(said: str, *parts: str) -> bool:
    return len(said.strip().splitlines()) == 1 and said.startswith("r-eval: ") and all(part in said for part in parts)


def is_whole(desk: Desk, out: str = "out") -> bool:
    """Whether a run is complete, every episode recorded once, and nothing else left in its folder."""
    state = json.loads((desk.path / out / "run.json").read_text(encoding="utf-8"))["state"]
    once = Counter(record["episode_id"] for record in lines(desk, out))
    left = [p.name for p in (desk.path / out).rglob("*") if ".part" in p.name]
    return state == "complete" and len(once) == EPISODES and set(once.values()) == {1} and not left


def broken_off(desk: Desk) -> Desk:
    """A run that was killed in the middle."""
    pace(desk, 0.1)
    process = subprocess.Popen(command(), cwd=desk.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while len(lines(desk)) < 8 and time.monotonic() < end:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert 8 <= len(lines(desk)) < EPISODES
    pace(desk, 0)
    return desk


# The disk


@mounts
@pytest.mark.parametrize("kib", [16, 96])
def test_a_full_disk_ends_the_run_with_a_sentence_and_it_goes_on_when_there_is_room(desk: Desk, kib: int) -> None:
    script = (
        f"mkdir out && mount -t tmpfs -o size={kib}k none out && $RUN; echo status $?; cp -r out full; "
        "mount -o remount,size=20m out; $RUN; echo status $?; cp -r out done"
    )
    did = shell(desk, script)
    assert did.stdout.split()[:2] == ["status", "1"], did.stderr
    assert did.stdout.split()[-1] == "0"
    assert is_one_sentence(did.stderr, "No space left on device", "What was recorded is kept")
    assert {record["outcome"]["kind"] for record in lines(desk, "full")} <= {"finished", "cancelled"}
    assert is_whole(desk, "done")


# The clock


# Files


@pytest.mark.parametrize("damage", [b"this is no store\n" * 500, b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_damaged_reply_store_stops_no_run(desk: Desk, damage: bytes) -> None:
    broken_off(desk)
    path = store_path()
    for part in path.parent.glob(f"{path.name}*"):
        part.unlink()
    path.write_bytes(damage)
    go_on(desk)
    assert is_whole(desk)


@pytest.mark.parametrize("what", ["the file", "the folder"])
def test_a_file_that_is_deleted_under_the_run_ends_it(desk: Desk, what: str) -> None:
    pace(desk, 0.1)
    process = subprocess.Popen(command(), cwd=desk.path, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    end = time.monotonic() + 120
    while len(lines(desk)) < 8 and time.monotonic() < end:
        time.sleep(0.01)
    if what == "the file":
        cell_file(desk).unlink()
    else:
        shutil.rmtree(desk.path / "out", ignore_errors=True)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1
    assert is_one_sentence(said, "was deleted while the run went on")
    pace(desk, 0)
    go_on(desk)
    assert is_whole(desk)
