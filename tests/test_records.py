"""Records: their names are those of the design, and what is not a record is refused."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from r_eval.records import SCHEMA, Episode
from tests.analysis.conftest import episode

KEYS = {
    "": "schema episode_id question_id task domain level workflow llm condition epoch question golds answer outcome "
    "steps usage seconds fingerprint",
    "outcome": "kind cause detail",
    "usage": "calls prompt_tokens completion_tokens cached_tokens cost retries estimated",
    "seconds": "total llm environment queue retry",
    "steps": "kind text api arguments observation error seconds",
}


def test_an_episode_has_the_keys_of_the_design() -> None:
    written = json.loads(episode().model_dump_json(by_alias=True))
    parts = {"": written, **written, "steps": written["steps"][0]}
    assert [name for part, names in KEYS.items() for name in names.split() if name not in parts[part]] == []
    assert written["schema"] == SCHEMA == 1


def test_unknown_keys_are_refused() -> None:
    written = json.loads(episode().model_dump_json(by_alias=True))
    written["steps"][0]["thought"] = ""
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Episode.model_validate(written)
