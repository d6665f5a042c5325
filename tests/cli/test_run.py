"""`r-eval run`, `score` and `report`: what they print, what they write, and how they end."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import time
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from tests.commands import R_EVAL, typed_here

HOSTILE = "\x1b[31mred \x1b]0;title\x07 \u202egnp.exe [bold]markup[/bold] \x9b2J"
LLM = f"""
from r_eval.llms.base import LLMError, Reply
from r_eval.records import Tokens

def steady(request):
    return "Action: Finish[Ada]"

def cut(request):
    return Reply("Ada", finish="length", tokens=Tokens(prompt=90, completion=10))

def down(request):
    raise LLMError("server", {HOSTILE!r})
"""
GRID = """
llms: [{llm: scripted/./llm.py:steady, name: steady}, {llm: scripted/./llm.py:cut, name: short, max_tokens: 10}]
workflows: [react, oracle]
tasks: [aminer/soay-easy, aminer/soay-hard]
samples: 3
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a grid that was run."""
    path = tmp_path_factory.mktemp("ran")
    (path / "llm.py").write_text(LLM, encoding="utf-8")
    (path / "grid.yaml").write_text(GRID, encoding="utf-8")
    done = typed_here(["run", "grid.yaml"], path)
    assert done.returncode == 0, done.stderr
    (path / "first.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    return path


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """An empty folder with the LLMs alone."""
    (tmp_path / "llm.py").write_text(LLM, encoding="utf-8")
    return tmp_path


def printed(folder: Path, *words: str) -> Any:
    """What a command prints as JSON."""
    return json.loads(typed_here([*words, "--json"], folder).stdout)


def summary(output: str) -> dict[str, str]:
    """The last lines of a run, by their first word."""
    lines = re.findall(r"^([A-Z]\w+) {2,}(\S.*)$", output, re.MULTILINE)
    return dict(lines)


# run


def test_results_go_to_standard_output_and_progress_to_standard_error(folder: Path) -> None:
    done = typed_here(["run", "grid.yaml"], folder)
    assert done.returncode == 0
    assert {"oracle+none", "react+steady", "react+short"} <= set(done.stdout.split())
    found = summary(done.stdout)
    assert (found["Episodes"], found["Report"]) == ("runs/grid", "runs/grid/report/index.html")
    assert (folder / found["Report"]).is_file()
    assert re.search(r"\b18 episodes of 3 systems, 18 of them recorded", done.stderr)
    assert "18 episodes of" not in done.stdout


def test_lines_of_progress_have_what_is_done_and_the_end_what_changes_how_numbers_are_read(folder: Path) -> None:
    output = (folder / "first.txt").read_text(encoding="utf-8")
    lines = {"steady: 6 of 6, done", "short: 6 of 6, done", "(no LLM): 6 of 6, done"}
    assert lines <= set(output.splitlines())
    warning = summary(output)["Warning"]
    assert re.match(r"\d+ replies were cut at max_tokens 10\b.*\bshort\b", warning)


def test_a_file_has_the_names_of_systems_whole(desk: Path) -> None:
    name = "a-model-of-a-long-name" * 5
    grid = f"llms: [{{llm: scripted/./llm.py:steady, name: {name}}}]\nworkflows: [react]\ntasks: [wiki/high-freq]\n"
    (desk / "grid.yaml").write_text(grid, encoding="utf-8")
    assert typed_here(["run", "grid.yaml", "--limit", "1"], desk).stdout.count(f" react+{name} ") == 2


def test_json_is_all_that_is_printed(folder: Path) -> None:
    done = typed_here(["run", "grid.yaml", "--quiet", "--json"], folder)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert set(found.pop("spent")) == {"short", "steady"}
    assert found == {
        "run": "runs/grid",
        "state": "complete",
        "outcomes": {"finished": 12, "tool_misuse": 6},
        "report": "runs/grid/report/index.html",
    }


def test_flags_alone_define_a_grid_with_a_name_of_its_own(desk: Path) -> None:
    words = ["run", "--workflow", "react", "--workflow", "oracle", "--llm", "scripted/./llm.py:steady"]
    words += ["--task", "aminer/soay-easy", "--quiet"]
    first = printed(desk, *words, "--samples", "2")
    again, other = (printed(desk, *words, "--samples", n, "--dry-run") for n in ("2", "3"))
    assert re.fullmatch(r"runs/flags-[0-9a-f]{8}", first["run"])
    assert (first["outcomes"], again["recorded"]) == ({"finished": 4}, 4)
    assert (again["run"], other["run"] == first["run"]) == (first["run"], False)


def test_the_oracle_alone_needs_no_llm(desk: Path) -> None:
    words = ["run", "--workflow", "oracle", "--task", "aminer/soay-easy", "--samples", "2", "--quiet"]
    assert printed(desk, *words)["outcomes"] == {"finished": 2}
    refused = typed_here(["run", "--workflow", "react", "--task", "aminer/soay-easy"], desk)
    assert (refused.returncode, "--llm missing" in refused.stderr) == (2, True)


def test_a_dry_run_says_what_is_recorded_and_writes_nothing(desk: Path) -> None:
    grid = "llms: [{llm: scripted/./llm.py:cut, name: m}]\nworkflows: [direct]\ntasks: [aminer/soay-easy]\n"
    (desk / "grid.yaml").write_text(grid, encoding="utf-8")
    words, before = ["run", "grid.yaml"], set(desk.iterdir())
    table = typed_here([*words, "--dry-run"], desk)
    (row,) = [line.split() for line in table.stdout.splitlines() if "direct+m" in line]
    assert row[1:] == ["1", "100", "0"]
    assert "LLM calls per cell, at most: direct 100 (1 per episode)" in table.stdout
    assert printed(desk, *words, "--dry-run", "--out=~/x")["run"] == str(Path.home() / "x")
    assert {path for path in desk.iterdir() if path.name != "__pycache__"} == before
    typed_here([*words, "--limit", "4", "--quiet"], desk)
    found = printed(desk, *words, "--dry-run")
    assert (found["episodes"], found["recorded"], [cell["recorded"] for cell in found["cells"]]) == (100, 4, [4])


def test_an_incomplete_run_ends_with_1_and_names_the_reason_harmlessly(desk: Path) -> None:
    words = ["run", "--workflow", "direct", "--llm", "scripted/./llm.py:down", "--task", "aminer/soay-easy"]
    done = typed_here([*words, "--samples", "2"], desk)
    assert done.returncode == 1
    assert re.search(r"2 x llm_failure \(server\): \\u001b\[31mred .*\[bold\]markup\[/bold\]", done.stderr)
    assert ": 2 of 2, 2 failed, done\n" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "2 of 2 episodes" in summary(done.stdout)["Missing"]


# score


def test_score_gives_counts_as_json_and_tables_otherwise(folder: Path) -> None:
    assert "oracle+none" in typed_here(["score", "runs/grid"], folder).stdout
    found = printed(folder, "score", "runs/grid")
    assert (found["run"], found["taxonomy"], found["episodes"], found["scored"]) == ("runs/grid", "strict", 18, 18)
    assert sum(found["types"].values()) == 18
    assert found["mean"] == pytest.approx(1 / 3)


def test_score_takes_further_metrics_another_taxonomy_and_threshold_and_keeps_the_episodes(folder: Path) -> None:
    run = folder / "runs" / "grid"
    before = {path: path.read_bytes() for path in (run / "episodes").rglob("*.jsonl")}
    words = ["score", "runs/grid", "--metric", "exact_match", "--metric", "token_f1_published"]
    found = printed(folder, *words, "--taxonomy", "published", "--match-threshold", "0.9")
    assert (found["taxonomy"], found["threshold"]) == ("published", 0.9)
    line = json.loads(next((run / "scores").rglob("*.jsonl")).read_text(encoding="utf-8").splitlines()[0])
    assert (set(line["metrics"]), line["taxonomy"]) == ({"exact_match", "token_f1_published"}, "published")
    assert printed(folder, "score", "runs/grid")["taxonomy"] == "strict"
    assert before == {path: path.read_bytes() for path in (run / "episodes").rglob("*.jsonl")}


# report


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses at which a browser was started."""
    found: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: not found.append(url))
    return found


def test_report_writes_tables_and_a_page_and_opens_it(folder: Path, tmp_path: Path, opened: list[str]) -> None:
    done = typed_here(["report", "runs/grid", "--out", str(tmp_path / "r"), "--no-figures", "--open"], folder)
    assert (done.returncode, done.stderr, "Within" in done.stdout) == (0, "", False)
    assert summary(done.stdout)["Report"] == str(tmp_path / "r" / "index.html")
    assert opened == [(tmp_path / "r" / "index.html").as_uri()]
    with (tmp_path / "r" / "tables" / "scores.csv").open(encoding="utf-8", newline="") as file:
        assert {row["system"] for row in csv.DictReader(file)} == {"react+short", "react+steady", "oracle+none"}
    assert not list((tmp_path / "r").rglob("*.pdf"))


# Ctrl-C


def test_a_second_ctrl_c_ends_the_run_at_once_past_a_thread_that_hangs(desk: Path) -> None:
    code = "import pathlib, time\n\ndef hang(request):\n    pathlib.Path('begun').touch()\n    time.sleep(60)\n"
    (desk / "hang.py").write_text(code, encoding="utf-8")
    words = ["run", "--workflow", "direct", "--llm", "scripted/./hang.py:hang", "--task", "aminer/soay-easy"]
    command = [str(R_EVAL), *words, "--out", "out", "--quiet"]
    process = subprocess.Popen(command, cwd=desk, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    while not (desk / "begun").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, "press Ctrl-C again" in errors) == (130, True)
    assert json.loads((desk / "out" / "run.json").read_text(encoding="utf-8"))["state"] == "interrupted"


def test_further_ctrl_cs_in_the_same_instant_break_nothing(desk: Path) -> None:
    code = "import asyncio, pathlib\nfrom r_eval.environments.base import query_api\n\n@query_api\n"
    code += "async def hang() -> int:\n    pathlib.Path('begun').touch()\n    await asyncio.sleep(60)\n"
    (desk / "hang.py").write_text(code, encoding="utf-8")
    process = subprocess.Popen(
        [str(R_EVAL), "call", "hang.py", "hang"],
        cwd=desk,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )
    while not (desk / "begun").exists():
        assert process.poll() is None
        time.sleep(0.05)
    for _ in range(4):
        process.send_signal(signal.SIGINT)
        time.sleep(0.0005)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (130, "")
