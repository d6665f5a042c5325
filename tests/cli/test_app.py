"""The command as a whole: its help, what it loads, how mistakes are answered, and how it ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from r_eval.cli.app import COMMANDS
from tests.commands import R_EVAL, typed_here

HEAVY = {"torch", "transformers", "langchain", "pandas", "matplotlib", "plotly", "numpy", "scipy", "xllamacpp"}
OWN = {"pydantic", "yaml", "typer", "rich", "aiohttp", "asyncio"}


def loaded(folder: Path, *parts: str) -> list[set[str]]:
    """The packages that a fresh interpreter has loaded after each part of some code."""
    say = "import sys; sys.stderr.write(' '.join({name.partition('.')[0] for name in sys.modules}) + '\\n')"
    code = "\n".join(f"{part}\n{say}" for part in parts)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=True)
    return [set(line.split()) for line in done.stderr.splitlines()]


# Help


def test_help_has_every_command_with_the_first_line_of_its_own_help(tmp_path: Path) -> None:
    for words in ([], ["--help"], ["-h"]):
        done = typed_here(words, tmp_path)
        assert re.findall(r"^  ([a-z]+)  ", done.stdout + done.stderr, re.MULTILINE) == list(COMMANDS)
    for name, line in COMMANDS.items():
        assert " ".join(typed_here([name, "--help"], tmp_path).stdout.split("\n\n")[1].split()) == line


def test_what_is_not_needed_is_not_loaded(tmp_path: Path) -> None:
    names = "r_eval.Grid; r_eval.run; r_eval.load_run"
    listing = "from r_eval.cli.app import app; app(['list', 'tasks'], standalone_mode=False)"
    (found,) = loaded(tmp_path, "from r_eval.cli.app import app; app(['--help'], standalone_mode=False)")
    assert (HEAVY | {"pydantic", "rich", "aiohttp"}) & found == set()
    package, interface, command = loaded(tmp_path, "import r_eval", names, listing)
    assert (HEAVY | OWN) & package == set()
    assert HEAVY & (interface | command) == set()


def test_the_package_can_be_run_as_a_module(tmp_path: Path) -> None:
    for options in ([], ["-I"], ["-OO"]):
        command = [sys.executable, *options, "-m", "r_eval", "run", "nowhere.yaml"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
        assert (done.returncode, done.stderr) == (2, "r-eval: nowhere.yaml: no such grid file\n")


# Mistakes


def test_debug_shows_the_traceback_wherever_it_stands(tmp_path: Path) -> None:
    for words in (["--debug", "score", "nowhere"], ["score", "--debug", "nowhere"], ["score", "nowhere", "--debug"]):
        with pytest.raises(Exception, match="nowhere is not a run"):
            typed_here(words, tmp_path)


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (TypeError("no\x1b[2J"), 70, r"internal error: TypeError: no\\u001b\[2J \(--debug"),
        (OSError(28, "No space left", "runs/x"), 1, "runs/x cannot be written"),
        (
            OSError(30, "Read-only file system", "runs/x"),
            1,
            "^r-eval: runs/x cannot be written: Read-only file system$",
        ),
        (OSError(24, "Too many open files", "runs/x"), 1, "kept; raise `ulimit -n` or lower connections, and the same"),
        (OSError(27, "File too large", "runs/x"), 1, "kept; raise `ulimit -f`, and the same"),
        (MemoryError(), 1, "^r-eval: the process has no memory left"),
        (RuntimeError("can't start new thread"), 1, "no further thread: raise `ulimit -u`"),
        (PermissionError(13, "Permission denied", "runs/x"), 2, "runs/x: Permission denied"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_every_end_has_its_status_and_one_line(
    error: BaseException, status: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing() -> None:
        raise error

    monkeypatch.setattr("r_eval.plugins.names", lambda *_: failing())
    done = typed_here(["list", "workflows"], tmp_path)
    assert done.returncode == status
    assert re.search(message, done.stderr)
    assert done.stderr.count("\n") <= 1


# Terminals and pipes


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_error(tmp_path: Path, closed: str) -> None:
    for words, status in (("list conditions", 0), ("run nowhere.yaml", 2)):
        command = ["sh", "-c", f"exec '{R_EVAL}' {words} {closed}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (status, False)


@pytest.mark.parametrize("words", ["list conditions", "list conditions --json"])
def test_a_full_disk_under_standard_output_is_one_sentence(words: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([str(R_EVAL), *words.split()], stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr.count(b"\n"), b"No space left" in done.stderr) == (1, 1, True)


def test_a_reader_that_went_away_is_no_error(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        command = [str(R_EVAL), "list", "metrics"]
        done = subprocess.run(command, cwd=tmp_path, stdout=gone, stderr=subprocess.PIPE, check=False)
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("workflows", {"react", "pal", "dfsdt", "fc", "rag", "direct", "oracle"}),
        ("llms", {"gguf/...", "openai/...", "responses/...", "scripted/...", "gguf/smollm2-135m"}),
        ("environments", {"aminer", "corpus", "wiki"}),
        ("tasks", {"wiki/high-freq", "wiki/hotpotqa", "aminer/soay-easy", "aminer/soay-hard"}),
        ("conditions", {"clean", "counterfactual", "noisy", "faulty", "slow"}),
        ("metrics", {"token_f1", "token_f1_published", "exact_match"}),
    ],
)
def test_lines_and_json_have_every_name(tmp_path: Path, kind: str, expected: set[str]) -> None:
    plain, data = typed_here(["list", kind], tmp_path), typed_here(["list", kind, "--json"], tmp_path)
    assert (plain.returncode, plain.stderr, data.returncode, data.stderr) == (0, "", 0, "")
    rows = json.loads(data.stdout)
    assert expected <= {row["name"] for row in rows}
    assert all(value != "" for row in rows for value in row.values())
    for row, line in zip(rows, plain.stdout.splitlines(), strict=True):
        assert row["name"] in line.split()
