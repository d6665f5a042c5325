"""Builds the questions of an embedded task from its world, with settings such as `noise` and `variants`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from r_eval.errors import UserError
from r_eval.tasks.files import validation_message
from r_eval.tasks.loaders.base import Data
from r_eval.tasks.loaders.prgb import PrgbSettings, questions
from r_eval.tasks.placeholders.making import make_records
from r_eval.tasks.placeholders.record import Kind, PlaceholderRecord
from r_eval.tasks.placeholders.world import read_world

SUFFIX = ".placeholders.yaml"


def world_data(world: Path, kind: Kind, settings: Mapping[str, Any]) -> Data:
    """The questions of one kind from a world; without settings, those of the embedded file.

    Args:
        settings: `noise`, `variants` and `resample`, as in `data:` with this format.

    Raises:
        UserError: The world or a setting is wrong.
    """
    try:
        prgb_settings = PrgbSettings.model_validate(settings)
    except ValidationError as error:
        raise UserError(f"format 'prgb': {validation_message(error, PrgbSettings)}") from None
    data = Data("prgb")
    data.questions = tuple(
        questions((record for record in _records(world) if record.kind == kind), prgb_settings, data)
    )
    return data


@functools.cache
def _records(world: Path) -> list[PlaceholderRecord]:
    return [PlaceholderRecord.model_validate(record) for record in make_records(read_world(world))]
