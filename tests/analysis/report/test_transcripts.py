"""An episode as the transcript view gets it."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.analysis.report.transcripts import transcript
from r_eval.analysis.scoring import score_episode
from tests.analysis.conftest import call, episode

Made = dict[str, Any]


def made(right: dict[str, list[str]] | None = None, **changes: Any) -> Made:
    """The data of an episode with an observation that holds the gold; any field can be changed."""
    found = episode(**changes)
    return transcript(found, score_episode(found, relevant=right))


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({}, [0]),
        ({"golds": ["Grace Ogot;Mombasa"], "steps": [call("Mombasa is where Grace Ogot went.")]}, [0, 1]),
        ({"evidence": ["1963", "the capital"]}, [1]),
        ({"golds": ["André"], "steps": [call('["Andr\\u00e9"]')]}, [0]),
        ({"golds": ["yes"], "steps": [call("yes")]}, []),
        ({"steps": [call("No API is called Nairobi.", "unknown_api")]}, None),
        ({"steps": [call("Could not find Nairobi.", "not_found", entity="Nairobi")]}, []),
    ],
    ids=["gold", "values of a gold", "named evidence", "escaped", "by chance", "refused call", "echoed argument"],
)
def test_a_step_names_the_evidence_that_it_holds(changes: Made, holds: list[int] | None) -> None:
    assert made(**changes)["steps"][0].get("holds") == holds


def test_the_steps_that_hold_a_gold_are_named() -> None:
    data = made(steps=[call("Nothing."), call("Nairobi"), call("nairobi!")])
    assert data["wanted"] == [{"text": "Nairobi", "chance": False, "steps": [1, 2]}]
    assert made(golds=["yes"], steps=[call("yes")])["wanted"] == [{"text": "yes", "chance": True, "steps": []}]
