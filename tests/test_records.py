"""Records: what is not one is refused, and what is not said of one counts as nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from r_eval.records import Episode, Seconds, Step, Tokens, Usage
from r_eval.text import clean_data
from tests.analysis.conftest import episode


def test_unknown_keys_are_refused() -> None:
    written = json.loads(episode().model_dump_json(by_alias=True))
    written["steps"][0]["thought"] = ""
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Episode.model_validate(written)


def test_what_is_not_said_of_a_record_is_nothing_used() -> None:
    for part in (Tokens(), Usage(), Seconds(), Step.of(kind="thought")):
        assert [value for value in part.model_dump().values() if isinstance(value, int | float) and value] == []


@pytest.mark.parametrize(
    ("total", "queue", "retry", "own"), [(5.0, 1.0, 0.5, 3.5), (5.0, 0.0, 0.0, 5.0), (1.0, 0.75, 0.5, 0.0)]
)
def test_a_systems_own_seconds_are_without_its_waits(total: float, queue: float, retry: float, own: float) -> None:
    assert Seconds(total=total, queue=queue, retry=retry).own == own


@pytest.mark.parametrize("wrap", [lambda data: [data], lambda data: {"键": data}], ids=["lists", "mappings"])
def test_data_of_strangers_may_be_nested_to_a_bound(wrap: Callable[[Any], Any]) -> None:
    data: Any = "x"
    for _ in range(201):
        data = wrap(data)
    assert clean_data(data) == data
    with pytest.raises(ValueError, match="nested deeper than 200 levels"):
        clean_data(wrap(data))
