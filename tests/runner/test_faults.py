"""Faults of the disk and of files: a run ends with one sentence, spoils nothing, and goes on afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from r_eval import Grid, run
from tests.commands import R_EVAL
from tests.runner.desks import CommandDesk, wait_for

EPISODES = 40
WORDY = """
import asyncio
from pathlib import Path

async def reply(request):
    await asyncio.sleep(0.1 if Path({slow!r}).exists() else 0)
    return "Ada" + " and nobody else" * 200
"""
OPTIONS = ("--quiet", "--no-cache")


def can_mount() -> bool:
    """Whether a process may have file systems of its own."""
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    return tried.returncode == 0


@pytest.fixture
def desk(tmp_path: Path) -> CommandDesk:
    """A desk with a grid of 40 episodes, some kilobytes each."""
    desk = CommandDesk(tmp_path)
    llm = desk.llm(WORDY, connections=4, slow=str(tmp_path / "slow"))
    desk.write(llm, tasks=["aminer/soay-easy"], samples=20, epochs=2)
    return desk


def is_one_sentence(text: str, *parts: str) -> bool:
    return len(text.strip().splitlines()) == 1 and text.startswith("r-eval: ") and all(part in text for part in parts)


def is_whole(desk: CommandDesk, out: Path) -> bool:
    """Whether a run is complete, every episode recorded once, and nothing else left in its folder."""
    state = json.loads((out / "run.json").read_text(encoding="utf-8"))["state"]
    counts = Counter(record["episode_id"] for record in desk.lines(out))
    drafts = [path for path in out.rglob("*") if ".part" in path.name]
    return state == "complete" and len(counts) == EPISODES and set(counts.values()) == {1} and not drafts


@pytest.mark.skipif(not can_mount(), reason="needs to mount a file system (unshare, user namespaces)")
@pytest.mark.parametrize("kib", [16, 96])
def test_a_full_disk_ends_the_run_with_a_sentence_and_it_goes_on_when_there_is_room(
    desk: CommandDesk, kib: int
) -> None:
    command = f"{R_EVAL} run grid.yaml --out out {' '.join(OPTIONS)}; echo status $?; cp -r out"
    mount = f"mkdir out && mount -t tmpfs -o size={kib}k none out"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", f"{mount} && {command} full; mount -o remount,size=20m out; {command} done"],
        cwd=desk.path,
        env=os.environ,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stdout.split()[:2] == ["status", "1"], done.stderr
    assert done.stdout.split()[-1] == "0"
    assert is_one_sentence(done.stderr, "No space left on device", "What was recorded is kept")
    assert {record["outcome"]["kind"] for record in desk.lines(desk.path / "full")} <= {"finished", "cancelled"}
    assert is_whole(desk, desk.path / "done")


@pytest.mark.parametrize("what", ["the file", "the folder"])
def test_a_file_that_is_deleted_under_the_run_ends_it(desk: CommandDesk, what: str) -> None:
    (desk.path / "slow").touch()
    process = desk.start(*OPTIONS)
    wait_for(lambda: len(desk.lines()) >= 8)
    if what == "the file":
        next((desk.out / "episodes").rglob("*.jsonl")).unlink()
    else:
        shutil.rmtree(desk.out, ignore_errors=True)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1
    assert is_one_sentence(said, "was deleted while the run went on")
    (desk.path / "slow").unlink()
    run(Grid.load(desk.path / "grid.yaml"), desk.out, cache=False)
    assert is_whole(desk, desk.out)
