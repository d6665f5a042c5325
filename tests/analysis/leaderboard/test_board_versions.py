"""Of which version a run's questions are: recognised by the questions themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.analysis.leaderboard.versions import Seasons
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.tasks.seasons.season import read_season, season_path, write_season
from r_eval.tasks.seasons.version import Version
from tests.analysis.leaderboard.conftest import TASK

Season = Callable[..., Path]
Over = Callable[..., RunFolder]


def test_a_run_is_of_the_season_that_has_its_questions(season: Season, over: Over) -> None:
    seasons = Seasons([season("1.9.0"), season("1.10.0")])
    assert seasons.of(over("a", "1.10.0", {"rag+m": "rr"}), TASK).version == Version(1, 10, 0)


def test_a_run_of_other_questions_is_of_no_season(season: Season, over: Over) -> None:
    assert Seasons([season("1.9.0")]).of(over("a", "1.10.0", {"rag+m": "rr"}), TASK).version is None


def test_a_run_that_asked_more_than_the_season_has_is_not_of_it(season: Season, over: Over) -> None:
    assert Seasons([season("1.0.0", 2)]).of(over("a", "1.0.0", {"rag+m": "rrr"}), TASK).version is None


def test_the_sidecar_beside_the_runs_own_copy_is_enough(season: Season, over: Over) -> None:
    run, found = over("a", "1.3.0", {"rag+m": "rr"}), read_season(season("1.3.0"))
    assert found is not None
    write_season(run.questions_file(TASK), found)
    assert Seasons().of(run, TASK).version == Version(1, 3, 0)


def test_the_file_that_the_grid_names_is_looked_at(
    season: Season, over: Over, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = over("a", "1.3.0", {"rag+m": "rr"})
    text = run.run_file.read_text(encoding="utf-8")
    named = text.replace('"grid": {}', f'"grid": {{"tasks": [{{"task": "{TASK}", "questions": "1.3.0.jsonl"}}]}}')
    run.run_file.write_text(named, encoding="utf-8")
    season("1.3.0")
    monkeypatch.chdir(tmp_path)
    assert Seasons().of(run, TASK).version == Version(1, 3, 0)


def test_a_file_without_a_season_is_refused_by_name(season: Season) -> None:
    path = season("1.0.0")
    season_path(path).unlink()
    with pytest.raises(UserError, match=r"1\.0\.0\.jsonl has no season beside it"):
        Seasons([path])


def test_two_versions_of_the_same_questions_are_refused(season: Season, over: Over) -> None:
    first, second = season("1.0.0"), season("1.0.0", name="copy")
    found = read_season(second)
    assert found is not None
    write_season(second, found.model_copy(update={"version": "1.1.0"}))
    with pytest.raises(UserError, match=r"versions 1\.0\.0 and 1\.1\.0"):
        Seasons([first, second]).of(over("a", "1.0.0", {"rag+m": "rr"}), TASK)
