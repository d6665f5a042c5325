"""What is shown of a run while it goes on: LLM by LLM, in lines or as a table."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from r_eval import Grid, run
from r_eval.cli.progress import Board, clock, figure, table
from r_eval.folder import RunFolder

R_EVAL = Path(sys.executable).with_name("r-eval")
LLM = """
import asyncio
from r_eval.llms.base import LLMError, Reply
from r_eval.records import Tokens

async def reply(request):
    await asyncio.sleep(0.3)
    return Reply("Ada", tokens=Tokens(prompt=900, completion=100))

def failing(request):
    raise LLMError("server", "on fire")
"""


def entry(function: str, name: str, **keys: Any) -> dict[str, Any]:
    return {"llm": f"scripted/./llm.py:{function}", "name": name, **keys}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "llm.py").write_text(LLM, encoding="utf-8")
    llms = [entry("reply", "one", price={"prompt": 1000, "completion": 1000}), entry("failing", "two")]
    keys = {"llms": llms, "workflows": ["direct", "oracle"], "tasks": ["aminer/soay-easy"], "samples": 4}
    (tmp_path / "grid.yaml").write_text(yaml.safe_dump(keys), encoding="utf-8")
    return tmp_path


def shown(board: Board) -> list[list[str]]:
    """The rows of the live table, as words."""
    console = Console(file=io.StringIO(), width=120)
    with console.capture() as captured:
        console.print(table(board))
    return [line.split() for line in captured.get().splitlines() if line.strip()]


def test_the_table_has_a_row_an_llm_with_failures_and_money(folder: Path) -> None:
    board = Board()
    run(Grid.load(folder / "grid.yaml"), folder / "out", watcher=board)
    heads, _, *rows = shown(board)
    assert heads == ["LLM", "done", "failed", "mean", "score", "per", "min", "tokens/s", "USD", "time", "left"]
    found = {row[0]: row for row in rows}
    assert found["one"][:3] == ["one", "4/4", "0.0"]
    assert found["one"][-2:] == ["4", "done"]
    assert found["two"][:3] == ["two", "4/4", "4"]
    assert "(no" in found
    assert found["all"] == ["all", "12/12", "4"]


def test_a_long_name_leaves_room_for_the_figures(folder: Path) -> None:
    keys = yaml.safe_load((folder / "grid.yaml").read_text(encoding="utf-8"))
    keys["llms"][0]["name"] = "organisation/a-model-with-a-very-long-name-indeed-70b-instruct"
    board = Board()
    run(Grid(**keys, folder=folder), folder / "out", watcher=board)
    console = Console(file=io.StringIO(), width=80)
    with console.capture() as captured:
        console.print(table(board))
    assert re.search(r"^ organis\S*… +4/4 .* 4 +done *$", captured.get(), re.MULTILINE), captured.get()


def test_money_of_earlier_sessions_counts(folder: Path) -> None:
    grid = Grid.load(folder / "grid.yaml")
    run(grid, folder / "out", limit=2)
    board = Board()
    run(grid, folder / "out", watcher=board)
    assert (board.lanes["one"].kept, board.lanes["one"].done, board.money("one")) == (2, 2, "4")


def test_no_price_shows_no_money(folder: Path) -> None:
    board = Board()
    run(Grid.load(folder / "grid.yaml"), folder / "out", watcher=board)
    assert (board.money("two"), board.money("none")) == ("-", "-")


def type_(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(R_EVAL), "run", "grid.yaml", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False)


def test_lines_say_what_failed_and_what_was_spent(folder: Path) -> None:
    err = type_(folder).stderr
    assert re.search(r"^one: 4 of 4, mean score 0\.0, .* episodes/min, .* tokens/s, 4 USD, done$", err, re.MULTILINE)
    assert re.search(r"^two: 4 of 4, 4 failed, mean score -, .*, done$", err, re.MULTILINE)
    assert re.search(r"^\(no LLM\): 4 of 4, mean score [\d.]+, .* episodes/min, done$", err, re.MULTILINE)


def test_quiet_says_how_it_ended_and_no_more(folder: Path) -> None:
    done = type_(folder, "--quiet")
    assert done.returncode == 1
    assert done.stderr.startswith("r-eval: the run is incomplete: 4 episodes failed\n")


def test_a_terminal_gets_a_live_table(folder: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    command = [str(R_EVAL), "run", "grid.yaml"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    try:
        while block := os.read(ours, 65536):
            said += block
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait(timeout=300) == 1
    text = re.sub(r"\x1b\[[\d;?]*\w", "", said.decode("utf-8"))
    assert re.search(r"LLM +done +failed +mean score", text)
    assert re.search(r"one +4/4 .* 4 +done", text)


def test_a_crash_is_told_from_a_run_that_goes_on(folder: Path) -> None:
    code = LLM.replace("sleep(0.3)", "sleep(60)")
    (folder / "llm.py").write_text(code, encoding="utf-8")
    process = subprocess.Popen([str(R_EVAL), "run", "grid.yaml", "--quiet"], cwd=folder)
    out = RunFolder(folder / "runs" / "grid")
    try:
        while not out.run_file.exists():
            assert process.poll() is None
        assert out.state() == "running"
    finally:
        process.kill()
        process.wait()
    assert out.state() == "crashed"
    assert out.manifest()["state"] == "running"


@pytest.mark.parametrize(("seconds", "text"), [(3.2, "3 s"), (600, "10 min"), (9000, "2.5 h")])
def test_times_are_said_as_a_person_says_them(seconds: float, text: str) -> None:
    assert clock(seconds) == text


@pytest.mark.parametrize(("number", "text"), [(0.01234, "0.012"), (5.024, "5.02"), (12345.6, "12,346"), (0.0, "0")])
def test_numbers_have_as_many_places_as_are_worth_reading(number: float, text: str) -> None:
    assert figure(number) == text
