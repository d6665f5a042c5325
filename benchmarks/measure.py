"""What several benchmarks measure with: the peak of memory, and a process of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any


def peak() -> float:
    """The most memory that this process has held, in MiB; of Linux, whose getrusage begins with what the parent had."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError("this system does not tell the peak of memory (no VmHWM in /proc/self/status)")


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of its own, whose memory is its alone."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)
