"""Results of systems that R-Eval did not run, beside runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.analysis.leaderboard.entries import Entry, entries
from r_eval.analysis.leaderboard.versions import Seasons
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.tasks.seasons.version import Version

Season = Callable[..., Path]
Over = Callable[..., RunFolder]
RIGHT = {"found_ids": ["right", "right"], "model_answer": "Nairobi"}
WRONG = {"found_ids": ["no", "right"], "model_answer": "Nakuru"}


def written(folder: Path, results: dict[str, object], name: str = "theirs") -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(results), encoding="utf-8")
    return path


def beside(run: RunFolder, season: Path, results: Path) -> dict[str, Entry]:
    return {entry.system: entry for entry in entries([run], Seasons([season]), [results])}


def test_they_are_scored_as_runs_are(season: Season, over: Over, tmp_path: Path) -> None:
    path = written(tmp_path, {f"q{number}": RIGHT for number in range(4)})
    found = beside(over("a", "1.1.0", {"rag+m": "rrrr"}), season("1.1.0"), path)
    ours, theirs = found["rag+m"], found["theirs"]
    assert theirs.version == ours.version == Version(1, 1, 0)
    assert (theirs.retrieval.mean, theirs.generation.mean) == (ours.retrieval.mean, ours.generation.mean) == (1.0, 1.0)


def test_what_they_lack_is_missing_and_counts_0(season: Season, over: Over, tmp_path: Path) -> None:
    path = written(tmp_path, {"q0": RIGHT, "q1": {"found_ids": ["right"], "model_answer": " "}})
    theirs = beside(over("a", "1.1.0", {"rag+m": "rrrr"}), season("1.1.0"), path)["theirs"]
    assert (theirs.generation.mean, theirs.missing, theirs.questions) == (0.25, 3, 4)
    assert theirs.retrieval.mean == 0.5


def test_a_document_found_twice_counts_at_its_first_rank(season: Season, over: Over, tmp_path: Path) -> None:
    twice = {f"q{number}": {**WRONG, "found_ids": ["no", "no", "right"]} for number in range(4)}
    once = {f"q{number}": WRONG for number in range(4)}
    run, questions = over("a", "1.1.0", {"rag+m": "rrrr"}), season("1.1.0")
    means = [beside(run, questions, written(tmp_path, one))["theirs"].retrieval.mean for one in (once, twice)]
    assert means[0] == means[1]


def test_a_system_that_found_nothing_has_no_retrieval(season: Season, over: Over, tmp_path: Path) -> None:
    path = written(tmp_path, {"q0": {"model_answer": "Nairobi"}})
    theirs = beside(over("a", "1.1.0", {"rag+m": "rrrr"}), season("1.1.0"), path)["theirs"]
    assert theirs.retrieval.mean is None


def test_they_need_no_run_beside_them(season: Season, tmp_path: Path) -> None:
    path = written(tmp_path, {"q0": RIGHT, "q2": WRONG})
    (theirs,) = entries([], Seasons([season("1.1.0")]), [path])
    assert (theirs.generation.mean, theirs.missing, sorted(theirs.types)) == (0.25, 2, ["set", "simple"])


def test_two_of_one_name_are_told_apart(season: Season, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    paths = [written(folder, {"q0": RIGHT}) for folder in (tmp_path, tmp_path / "b")]
    assert [one.system for one in entries([], Seasons([season("1.1.0")]), paths)] == ["theirs", "theirs (b)"]


def test_results_of_no_known_season_are_refused(season: Season, tmp_path: Path) -> None:
    path = written(tmp_path, {"elsewhere": RIGHT})
    with pytest.raises(UserError, match=r"theirs\.json: no known season has a question of these ids.*--season"):
        entries([], Seasons([season("1.1.0")]), [path])


def test_ids_of_two_seasons_are_refused(season: Season, tmp_path: Path) -> None:
    path = written(tmp_path, {"q0": RIGHT})
    with pytest.raises(UserError, match=r"the versions 1\.0\.0 and 1\.1\.0"):
        entries([], Seasons([season("1.0.0"), season("1.1.0")]), [path])
