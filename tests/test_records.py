"""Records: what is written can be read, what is not a record is refused, and the names are those of the design."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from r_eval.records import SCHEMA, Episode

EPISODE: dict[str, Any] = {
    "episode_id": "e",
    "question_id": "q",
    "task": "wiki/high-freq",
    "domain": "wiki",
    "level": "KS",
    "workflow": "react",
    "llm": "gguf/smollm2-135m",
    "condition": "clean",
    "question": "Which city?",
    "golds": ["Nairobi"],
    "answer": "Nairobi",
    "outcome": {"kind": "finished"},
}


def test_an_episode_has_the_keys_of_the_design() -> None:
    step = {"kind": "call", "api": "Search", "arguments": {"entity": "Kenya"}, "observation": "A country."}
    written = json.loads(Episode.model_validate({**EPISODE, "steps": [step]}).model_dump_json())
    design = """schema episode_id question_id task domain level workflow llm condition epoch question golds answer
    outcome steps usage seconds fingerprint"""
    assert set(design.split()) <= set(written)
    assert list(written)[:2] == ["schema", "episode_id"]
    assert set(written["outcome"]) == {"kind", "cause", "detail"}
    assert {"kind", "text", "api", "arguments", "observation", "error", "seconds"} <= set(written["steps"][0])
    assert {"calls", "prompt_tokens", "completion_tokens", "cached_tokens", "cost"} <= set(written["usage"])
    assert set(written["seconds"]) == {"total", "llm", "environment", "queue", "retry"}
    assert written["schema"] == SCHEMA == 1


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Episode.model_validate({**EPISODE, "steps": [{"kind": "thought", "thought": ""}]})
