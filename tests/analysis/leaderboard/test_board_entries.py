"""What a system reached on a version: retrieval, generation and total, with every question counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.analysis.leaderboard.entries import Entry, entries
from r_eval.analysis.leaderboard.versions import Seasons, ordered
from r_eval.folder import RunFolder
from r_eval.tasks.seasons import keep_season
from r_eval.tasks.seasons.version import Version
from tests.analysis.leaderboard.conftest import TASK

Season = Callable[..., Path]
Over = Callable[..., RunFolder]


def one(run: RunFolder) -> Entry:
    (found,) = entries([run], Seasons())
    return found


def test_generation_is_the_tasks_metric_and_retrieval_what_was_found(over: Over) -> None:
    found = one(over("a", "1.0.0", {"rag+m": "rggw"}))
    assert (found.generation.mean, found.retrieval.mean) == (0.25, 0.75)
    assert found.generation.low is not None


def test_questions_that_the_machinery_stopped_count_0_and_as_missing(over: Over) -> None:
    found = one(over("a", "1.0.0", {"rag+m": "rr!!"}))
    assert (found.generation.mean, found.retrieval.mean, found.missing, found.questions) == (0.5, 0.5, 2, 4)


def test_a_question_that_only_another_run_asked_counts_0_and_as_missing(season: Season, over: Over) -> None:
    runs = [over("a", "1.0.0", {"rag+m": "rr"}), over("b", "1.0.0", {"react+m": "rrrr"})]
    short, whole = entries(runs, Seasons([season("1.0.0")]))
    assert (short.generation.mean, short.retrieval.mean, short.missing) == (0.5, 0.5, 2)
    assert (whole.generation.mean, whole.missing) == (1.0, 0)


def test_a_question_of_the_season_that_no_run_asked_counts_0(season: Season, over: Over) -> None:
    (found,) = entries([over("a", "1.0.0", {"rag+m": "rr"})], Seasons([season("1.0.0", 8)]))
    assert (found.generation.mean, found.retrieval.mean) == (0.25, 0.25)
    assert (found.missing, found.questions, found.types["set"].questions) == (6, 8, 4)


def test_the_runs_own_season_file_says_how_many_there_are(season: Season, over: Over) -> None:
    run = over("a", "1.0.0", {"rag+m": "rr"})
    keep_season(season("1.0.0", 8), run.questions_file(TASK))
    found = one(run)
    assert (found.version, found.generation.mean, found.missing, found.questions) == (Version(), 0.25, 6, 8)


def test_a_question_that_a_condition_drops_counts_for_nobody(season: Season, over: Over) -> None:
    runs = [over("a", "1.0.0", {"rag+m": "rrww"}), over("b", "1.0.0", {"rag+m": "r!", "pal+m": "r"}, condition="noisy")]
    found = entries(runs, Seasons([season("1.0.0")]))
    said = [(one.condition, one.system, one.generation.mean, one.missing, one.questions) for one in found]
    assert said == [("clean", "rag+m", 0.5, 0, 4), ("noisy", "rag+m", 0.5, 1, 2), ("noisy", "pal+m", 0.5, 1, 2)]


def test_a_system_that_does_not_search_has_no_retrieval(over: Over) -> None:
    found = one(over("a", "1.0.0", {"direct+m": "rw"}))
    assert (found.retrieval.mean, found.generation.mean, found.reference) == (None, 0.5, False)


def test_the_types_of_questions_have_their_own_means(over: Over) -> None:
    found = one(over("a", "1.0.0", {"rag+m": "rgww"}))
    simple, of_set = found.types["simple"], found.types["set"]
    assert (simple.questions, simple.generation, simple.retrieval) == (2, 0.5, 0.5)
    assert (of_set.generation, of_set.retrieval) == (0.0, 0.5)


def test_versions_stand_in_the_order_of_their_numbers(season: Season, over: Over) -> None:
    versions = ["1.10.0", "1.9.0", "2.0.0"]
    runs = [over(version, version, {"rag+m": "rw"}) for version in versions]
    found = entries(runs, Seasons([season(version) for version in versions]))
    assert [str(entry.version) for entry in found] == ["1.9.0", "1.10.0", "2.0.0"]
    assert [entry.system for entry in found] == ["rag+m"] * 3


def test_what_has_no_version_comes_before_all() -> None:
    assert ordered([Version(0, 0, 1), None, Version()]) == [None, Version(0, 0, 1), Version()]


def test_a_system_that_two_runs_have_on_a_version_is_named_apart(over: Over) -> None:
    runs = [over(name, "1.0.0", {"rag+m": "rw"}) for name in ("a", "b")]
    assert [entry.system for entry in entries([*runs, runs[1]], Seasons())] == ["rag+m", "rag+m (b)", "rag+m (2)"]


def test_several_tasks_of_a_version_weigh_the_same(over: Over) -> None:
    found = one(over("a", "1.0.0", {"rag+m": "rw"}, tasks=("news/a", "news/b")))
    assert (found.questions, found.generation.tasks, found.generation.mean) == (4, 2, pytest.approx(0.5))
