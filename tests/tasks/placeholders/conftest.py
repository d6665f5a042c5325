"""A record with everything in it, of our own content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from r_eval.tasks.placeholders.record import PlaceholderRecord

Make = Callable[..., PlaceholderRecord]


@pytest.fixture
def make() -> Make:
    """Makes a record; what is given replaces its parts, and the parts of its `placeholder_item`."""

    def record(**changes: Any) -> PlaceholderRecord:
        item = {
            "placeholders": [{"X1": f"Ann{n}", "X10": f"{1980 + n}"} for n in range(1, 7)],
            "answer": [f"Ann{n} & {1980 + n}" for n in range(1, 7)],
        }
        item.update({key: changes.pop(key) for key in list(changes) if key in item})
        data = {
            "id": "combination_v1-7",
            "query": "Who built the mill, and when?",
            "golden_doc": ["X1 built the mill.", "The mill was built in X10."],
            "noise_doc_level1": [f"The sea is {n} miles off." for n in range(9)],
            "noise_doc_level2": [f"Mill {n} was built by Bo." for n in range(5)],
            "noise_doc_level3": ["Most mills are old."],
            "placeholder_item": item,
            **changes,
        }
        return PlaceholderRecord.model_validate(data)

    return record
