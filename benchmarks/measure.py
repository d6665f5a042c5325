"""Shared by the benchmarks: peak memory, a separate process, and the machine."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any


def peak() -> float:
    """Peak memory of this process in MiB; on Linux only, where getrusage starts with the parent's peak."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError("this system does not report peak memory (no VmHWM in /proc/self/status)")


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a separate process with its own memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def machine() -> str:
    """Python, processors and their load, for the first line that is printed."""
    return f"Python {platform.python_version()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"


def options(doc: str | None, **defaults: Any) -> argparse.Namespace:
    """The options of the command line, each of its default's type.

    Args:
        doc: The module's docstring, which `--help` prints.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    return parser.parse_args()
