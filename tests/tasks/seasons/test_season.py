"""What stands beside a question file, beside its halves, and beside the copy that a run keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.tasks.seasons import Season, keep_season, read_season, season_path, write_season
from r_eval.tasks.seasons.making import write_set
from r_eval.tasks.seasons.season import Previous

SEASON = Season(
    version="1.2.0",
    environment="../news/reports.py:Reports",
    environment_version="9",
    seed=7,
    count=1,
    file="../words/graph.yaml",
    previous=Previous(version="1.1.0", questions="ab", file="../old/private.jsonl"),
)
QUESTION = Question(id="q", question="Who?", answers=["Ida"], level="KS")


def test_the_halves_say_which_they_are(tmp_path: Path) -> None:
    public, private = tmp_path / "public.jsonl", tmp_path / "private.jsonl"
    write_set([QUESTION], public, SEASON, private, seed=0)
    parts = [found.part for half in (public, private) if (found := read_season(half)) is not None]
    assert parts == ["public", "private"]


def test_a_whole_set_says_nothing_of_parts(tmp_path: Path) -> None:
    write_set([QUESTION], tmp_path / "whole.jsonl", SEASON, None, seed=0)
    assert "part" not in json.loads(season_path(tmp_path / "whole.jsonl").read_text(encoding="utf-8"))


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    write_season(tmp_path / "a.jsonl", SEASON)
    path = season_path(tmp_path / "a.jsonl")
    path.write_text(path.read_text(encoding="utf-8").replace('"count": 1', '"count": 1, "part": "half"'), "utf-8")
    with pytest.raises(UserError, match="part"):
        read_season(tmp_path / "a.jsonl")


def test_a_runs_copy_names_files_without_their_folders(tmp_path: Path) -> None:
    write_season(tmp_path / "a.jsonl", SEASON)
    keep_season(tmp_path / "a.jsonl", tmp_path / "copy.jsonl")
    found = read_season(tmp_path / "copy.jsonl")
    assert found is not None
    assert (found.version, found.environment, found.file) == ("1.2.0", "reports.py:Reports", "graph.yaml")
    assert found.previous == Previous(version="1.1.0", questions="ab", file="private.jsonl")


def test_questions_without_a_season_leave_none(tmp_path: Path) -> None:
    keep_season(tmp_path / "a.jsonl", tmp_path / "copy.jsonl")
    assert not season_path(tmp_path / "copy.jsonl").exists()
