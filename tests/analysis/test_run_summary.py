"""The sentences that `run` and `report` end with, by what they name, count and conclude."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.results import load
from r_eval.analysis.run_summary import summary_lines
from r_eval.folder import RunFolder
from tests.analysis.answers import write_answers

PAPER = Path(__file__).parents[2] / "examples" / "paper"
Make = Callable[..., RunFolder]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A run from each workflow's answers; see `write_answers`."""
    return functools.partial(write_answers, tmp_path / "run")


def lines(*runs: RunFolder) -> list[str]:
    return summary_lines(load(*runs))


def line(run: RunFolder, word: str) -> str:
    """The sentence about something; "" where there is none."""
    found = [text for text in lines(run) if text.startswith(f"{word} ")]
    assert len(found) <= 1
    return found[0].removeprefix(word).strip() if found else ""


# The best system


@pytest.mark.parametrize(
    ("answers", "best", "facts"),
    [
        (
            {"react": "r" * 38 + "ww", "pal": "w" * 40},
            "react+m, 95.0 %",
            ["; significantly better than pal+m (by 95.0"],
        ),
        (
            {"react": "rrrrrrwwww", "pal": "rrrrrwwwww", "fc": "w" * 10},
            "react+m, 60.0 %",
            ["not significantly better than pal+m (50.0), fc+m (0.0) on 10 questions"],
        ),
        ({"react": "rrrw", "oracle": "rrrr"}, "react+m, 75.0 %", ["(95 % interval "]),
        ({"react": "rr", "pal": "oo"}, "so far react+m, 100.0 %", ["1 system without a score on every task"]),
        ({"oracle": "rr"}, "no system", ["references only"]),
        ({"react": "ww", "pal": "ww"}, "no system", ["answered any question"]),
        ({"react": "oo", "pal": "xx"}, "no system", ["every task"]),
    ],
)
def test_the_best_system_and_how_sure_that_is(make: Make, answers: dict[str, str], best: str, facts: list[str]) -> None:
    text = line(make(answers), "Best")
    assert text.startswith(best)
    assert [fact for fact in facts if fact not in text] == []


@pytest.mark.parametrize(
    ("answers", "first"),
    [
        (
            {"react": "rwww", "pal": "wwww", "direct": "rrrw"},
            "no tool-using system beats the baseline direct+m (75.0 %); ",
        ),
        ({"react": "rrww", "direct": "wwrr"}, "no tool-using system beats the baseline direct+m (50.0 %)"),
        ({"react": "rrrw", "direct": "rwww"}, "react+m, 75.0 %"),
        ({"react": "wwww", "direct": "wwww"}, "no system answered any question"),
        ({"direct": "rrrw", "oracle": "rrrr"}, "direct+m, 75.0 %"),
    ],
)
def test_the_first_line_says_where_no_system_beats_the_baseline(
    make: Make, answers: dict[str, str], first: str
) -> None:
    run = make(answers)
    assert lines(run)[0].removeprefix("Best").strip().startswith(first)


def test_published_means_have_no_significance_and_no_other_line() -> None:
    (found,) = lines(RunFolder(PAPER))
    assert found.startswith("Best      react+gpt-4-1106, 4")
    assert "; significance is unknown" in found


# Failures, and what is missing


@pytest.mark.parametrize(
    ("answers", "facts"),
    [
        ({"react": "rwww", "pal": "rrrw"}, ["4 of 8 episodes", "(empty_search, 4)"]),
        ({"react": "rrx", "direct": "www"}, ["none in 2 episodes"]),
    ],
)
def test_the_commonest_cause_is_that_of_systems(make: Make, answers: dict[str, str], facts: list[str]) -> None:
    text = line(make(answers), "Failures")
    assert [fact for fact in facts if fact not in text] == []


def test_missing_episodes_are_counted_by_reason(make: Make) -> None:
    assert line(make({"react": "rw"}), "Missing") == ""
    text = line(make({"react": "rxoo", "pal": "rrro"}, state="incomplete"), "Missing")
    assert text.startswith("4 of 8 episodes (3 not run yet, 1 failed")
    assert text.endswith("; the run is incomplete")


# Cost


def spent(cost: float | None, calls: int = 10, cached: int = 0) -> dict[str, Any]:
    return {"calls": calls, "cached": cached, "cost": cost, "tokens": 99}


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ({"m": spent(1.234)}, "1.23 USD for 10 replies"),
        ({"m": spent(0.00123)}, "0.0012 USD for 10 replies"),
        ({"m": spent(None)}, "unknown for 10 replies; no price for m"),
        ({"m": spent(0.5), "n": spent(None)}, "0.5 USD for 20 replies; no price for n"),
        ({"m": spent(0.5, 10, 30)}, "0.5 USD for 10 replies; 30 more from earlier runs"),
        ({"m": spent(0.0, 0, 7)}, "none: all 7 replies are from earlier runs"),
        ({}, "none: no LLM was called"),
    ],
)
def test_an_unknown_price_is_never_0(make: Make, entries: dict[str, Any], text: str) -> None:
    assert line(make({"react": "r"}, spent=entries), "Cost") == text


# Advice, and what scores do not say
