"""A sample takes the memory of the sample, however long the file is."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from r_eval.tasks.loaders import load
from tests.tasks.loaders.test_multihop import HOTPOT, MUSIQUE

MEGABYTES = 40
BOUND = 12
"""MiB that a sample of ten may take: the window of the file, a few records, and what is imported."""


def records(record: dict[str, Any], key: str) -> Iterator[str]:
    """Records of about 20 KB, until there are enough."""
    padded = {**record, "padding": "x" * 20_000}
    for number in range(MEGABYTES * 50):
        yield json.dumps({**padded, key: f"{number:024x}"})


def write(path: Path, texts: Iterator[str], begin: str, between: str, end: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(begin + next(texts))
        for text in texts:
            file.write(between + text)
        file.write(end)


@pytest.mark.parametrize("name", ["hotpotqa", "musique"])
def test_a_long_file_is_sampled_in_little_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "long"
    if name == "hotpotqa":
        write(path, records(HOTPOT, "_id"), "[", ", ", "]")
    else:
        write(path, records(MUSIQUE, "id"), "", "\n", "\n")
    assert path.stat().st_size > MEGABYTES * 10**6
    tracemalloc.start()
    try:
        data = load(path, name, samples=10)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(data.questions), data.asked) == (10, MEGABYTES * 50)
    assert peak < BOUND * 2**20
