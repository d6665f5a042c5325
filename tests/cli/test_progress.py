"""The progress of a run: bars in a terminal, lines elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from r_eval import Grid, run
from r_eval.cli.progress import ProgressObserver
from r_eval.folder import RunFolder

R_EVAL = Path(sys.executable).with_name("r-eval")
LLM = """
import asyncio
from r_eval.llms.base import LLMError

async def reply(request):
    await asyncio.sleep(0.3)
    return "Ada"

def failing(request):
    raise LLMError("server", "on \x1b[31mfire")
"""


def entry(function: str, name: str) -> dict[str, Any]:
    return {"llm": f"scripted/./llm.py:{function}", "name": name}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "llm.py").write_text(LLM, encoding="utf-8")
    llms = [entry("reply", "one"), entry("failing", "two")]
    keys = {"llms": llms, "workflows": ["direct", "oracle"], "tasks": ["aminer/soay-easy"], "samples": 4}
    (tmp_path / "grid.yaml").write_text(yaml.safe_dump(keys), encoding="utf-8")
    return tmp_path


def test_lines_have_what_is_done_and_what_failed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(Grid.load(folder / "grid.yaml"), folder / "out", observer=ProgressObserver(live=False))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("12 episodes of 3 systems")
    assert [line for line in lines if line.endswith(", ")] == []
    assert {"one: 4 of 4, done", "two: 4 of 4, 4 failed, done", "(no LLM): 4 of 4, done"} <= set(lines)


def test_a_crash_is_not_taken_for_a_run_in_progress(folder: Path) -> None:
    (folder / "llm.py").write_text(LLM.replace("sleep(0.3)", "sleep(60)"), encoding="utf-8")
    process = subprocess.Popen([str(R_EVAL), "run", "grid.yaml", "--quiet"], cwd=folder)
    out = RunFolder(folder / "runs" / "grid")
    try:
        while not out.run_file.exists():
            assert process.poll() is None
        assert out.state() == "running"
    finally:
        process.kill()
        process.wait()
    assert (out.state(), out.manifest()["state"]) == ("crashed", "running")
