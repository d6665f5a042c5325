"""The questions of an embedded task made from its world, with the settings of their form: `noise`, `variants`, ..."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from r_eval.tasks.loaders import Data, load
from r_eval.tasks.placeholders.making import lines, made
from r_eval.tasks.placeholders.record import Kind
from r_eval.tasks.placeholders.world import read_world

SUFFIX = ".placeholders.yaml"


def world_data(world: Path, kind: Kind, settings: Mapping[str, Any]) -> Data:
    """The questions of one kind that a world makes; without settings, those of the embedded file.

    Args:
        settings: `noise`, `variants`, `resample`, as `data:` in this form takes them.

    Raises:
        UserError: The world or a setting is wrong.
    """
    text, programs = _records(world)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.jsonl"
        path.write_text(text, encoding="utf-8")
        data = load(path, "prgb", settings={"task": kind, **settings})
    solved = (q.model_copy(update={"program": programs[q.meta["document"]]}) for q in data.questions)
    return dataclasses.replace(data, questions=tuple(solved), left_out={})  # what is left out is other tasks' own


@functools.cache
def _records(world: Path) -> tuple[str, dict[str, str]]:
    """A world's records as JSON Lines, and the gold program of each."""
    records = made(read_world(world))
    return lines(records), {record["id"]: record["program"] for record in records}
