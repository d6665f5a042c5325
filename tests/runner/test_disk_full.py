"""A disk that is full ends a run with one clear message, and nothing is corrupted: the same command goes on."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

LIMIT = 120_000
"""Bytes that a file may have; what the system then says is what a full disk says, but for the name of the error."""

SCRIPT = """
    from pathlib import Path

    def reply(request):
        with (Path(__file__).parent / "calls.txt").open("a", encoding="utf-8") as log:
            log.write("x")
        return "Ada " + "x" * {size}
"""
GRID = """
llms: [{llm: "scripted/llm.py:reply"}]
workflows: [direct]
tasks: [wiki/high-freq]
samples: 30
epochs: 3
"""


def r_eval(folder: Path, full: bool, name: str = "grid.yaml") -> subprocess.CompletedProcess[str]:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))

    executable = str(Path(sys.executable).with_name("r-eval"))
    command = [executable, "run", name, "--out", "run", "--quiet", "--no-cache"]
    before = limited if full else None
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False, preexec_fn=before
    )


def lines(folder: Path) -> list[dict[str, Any]]:
    files = (folder / "run" / "episodes").rglob("*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    script = SCRIPT.replace("    ", "", 1).replace("\n    ", "\n").replace("{size}", "3000")
    (tmp_path / "llm.py").write_text(script, encoding="utf-8")
    (tmp_path / "grid.yaml").write_text(GRID, encoding="utf-8")
    return tmp_path


def test_a_full_disk_ends_the_run_with_one_sentence_and_loses_and_repeats_nothing(folder: Path) -> None:
    done = r_eval(folder, full=True)
    assert done.returncode != 0
    assert "cannot be written: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    before = [line for line in lines(folder) if line["outcome"]["kind"] != "cancelled"]
    assert 10 < len(before) < 90
    assert r_eval(folder, full=False).returncode == 0
    after = lines(folder)
    assert len(after) == 90
    assert set(Counter(line["episode_id"] for line in after).values()) == {1}
    assert all(line in after for line in before)
    calls = len((folder / "calls.txt").read_text(encoding="utf-8"))
    assert 90 <= calls <= 90 + 8, "only what could not be recorded is asked again"
