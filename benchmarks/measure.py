"""Shared by several benchmarks: peak memory and a separate process."""

from __future__ import annotations

import multiprocessing
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
