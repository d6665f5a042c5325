"""The questions of an embedded task made from its world, with the settings of their form: `noise`, `variants`, ..."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.tasks.files import complaint
from r_eval.tasks.loaders.data import Data
from r_eval.tasks.loaders.prgb import PrgbSettings, questions
from r_eval.tasks.placeholders.making import made
from r_eval.tasks.placeholders.record import Kind, Record
from r_eval.tasks.placeholders.world import read_world

SUFFIX = ".placeholders.yaml"


def world_data(world: Path, kind: Kind, settings: Mapping[str, Any]) -> Data:
    """The questions of one kind that a world makes; without settings, those of the embedded file.

    Args:
        settings: `noise`, `variants`, `resample`, as `data:` in this form takes them.

    Raises:
        UserError: The world or a setting is wrong.
    """
    try:
        wanted = PrgbSettings.model_validate(settings)
    except ValidationError as error:
        raise UserError(f"format 'prgb': {complaint(error, PrgbSettings)}") from None
    rows = _records(world)
    found = [record for row in rows if (record := Record.model_validate(row)).kind == kind]
    programs = {row["id"]: row["program"] for row in rows}
    data = Data("prgb")
    for one in questions(found, wanted, 0):
        if isinstance(one, Question):
            data.questions += (one.model_copy(update={"program": programs[one.meta["document"]]}),)
        else:
            data.remarks[one.what] += 1
    return data


@functools.cache
def _records(world: Path) -> list[dict[str, Any]]:
    return made(read_world(world))
