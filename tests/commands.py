"""Runs a command of `r-eval` in this process, where starting another one is not the point; reads what it wrote."""

from __future__ import annotations

import contextlib
import csv
import io
import subprocess
import sys
from pathlib import Path
from unittest import mock

from r_eval.cli.app import main

R_EVAL = Path(sys.executable).with_name("r-eval")
"""The program, for the tests that start it."""


def table_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV table."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def typed_here(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """What the program's entry point prints in a folder, and its exit status."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    status = 0
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["r-eval", *words]),
    ):
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
    printed, complained = (stream.buffer.getvalue().decode() for stream in (out, err))
    return subprocess.CompletedProcess(["r-eval", *words], status, printed, complained)
