"""docs/records.md says what the models in `r_eval.records` say, and names every key of a score."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from r_eval.analysis.scoring import score_episode
from r_eval.records import Episode, Outcome, Record

PAGE = Path(__file__).parents[1] / "docs" / "records.md"
TEXT = PAGE.read_text(encoding="utf-8")
EPISODE = Episode(
    episode_id="e",
    question_id="q",
    task="t",
    domain="d",
    level="KS",
    workflow="react",
    llm="m",
    condition="clean",
    question="?",
    golds=["a"],
    answer="a",
    outcome=Outcome(kind="finished"),
)


def test_the_types_of_the_page_are_those_of_the_models() -> None:
    made = runpy.run_path(str(PAGE.with_name("record_types.py")))
    assert made["page"]() == TEXT, "python docs/record_types.py writes the table"


def test_the_table_has_every_record() -> None:
    made = runpy.run_path(str(PAGE.with_name("record_types.py")))
    known = {model.__name__ for model in Record.__subclasses__() if model.__module__ == "r_eval.records"}
    assert {model.__name__ for model in made["MODELS"]} == known


def test_every_key_of_a_score_is_in_the_page() -> None:
    section = TEXT.partition("\n## Score\n")[2]
    assert [key for key in score_episode(EPISODE) if f"`{key}`" not in section] == []


@pytest.mark.parametrize("key", sorted(json.loads(EPISODE.model_dump_json())))
def test_every_key_of_an_episode_is_explained(key: str) -> None:
    section = TEXT.partition("\n## Episode\n")[2].partition("\n## Step\n")[0]
    assert f"`{key}`" in section
