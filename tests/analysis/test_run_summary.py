"""The sentences that `run` and `report` end with, by what they name, count and conclude, and the tables above them."""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from r_eval.analysis.results import load
from r_eval.analysis.run_summary import summary_lines
from r_eval.analysis.summary import summary_tables, text_summary
from r_eval.folder import RunFolder
from tests.analysis.answers import write_answers
from tests.analysis.report import makers

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


@pytest.mark.parametrize(
    ("answers", "best", "fact"),
    [
        ({"react": "r" * 38 + "ww", "pal": "w" * 40}, "react+m, 95.0 %", "; significantly better than pal+m (by 95.0"),
        (
            {"react": "rrrrrrwwww", "pal": "rrrrrwwwww", "fc": "w" * 10},
            *("react+m, 60.0 %", "not significantly better than pal+m (50.0), fc+m (0.0) on 10 questions"),
        ),
        ({"react": "rrrw", "oracle": "rrrr"}, "react+m, 75.0 %", "(95 % interval "),
        ({"react": "rr", "pal": "oo"}, "so far react+m, 100.0 %", "1 system without a score on every task"),
        ({"oracle": "rr"}, "no system", "references only"),
        ({"react": "ww", "direct": "ww"}, "no system", "answered any question"),
        ({"react": "oo", "pal": "xx"}, "no system", "every task"),
        ({"react": "rwww", "direct": "rrrw"}, "no tool-using system", "beats the baseline direct+m (75.0 %); "),
        ({"react": "rrww", "direct": "wwrr"}, "no tool-using system", "beats the baseline direct+m (50.0 %)"),
        ({"react": "rrrw", "direct": "rwww"}, "react+m, 75.0 %", ""),
        ({"direct": "rrrw", "oracle": "rrrr"}, "direct+m, 75.0 %", ""),
    ],
)
def test_the_first_line_says_which_is_best_how_sure_that_is_and_where_none_beats_the_baseline(
    make: Make, answers: dict[str, str], best: str, fact: str
) -> None:
    text = lines(make(answers))[0].removeprefix("Best").strip()
    assert text.startswith(best)
    assert fact in text


def test_published_means_have_no_significance_and_no_other_line() -> None:
    (found,) = lines(RunFolder(PAPER))
    assert found.startswith("Best      react+gpt-4-1106, 4")
    assert "; significance is unknown" in found


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ({"react": "rwww", "pal": "rrrw"}, r"4 of 8 episodes of tool-using systems; .* \(empty_search, 4\)"),
        ({"react": "rrx", "direct": "www"}, "none in 2 episodes of tool-using systems"),
        ({"direct": "www"}, ""),
    ],
)
def test_the_commonest_cause_is_that_of_systems(make: Make, answers: dict[str, str], text: str) -> None:
    assert re.fullmatch(text, line(make(answers), "Failures"))


def test_missing_episodes_are_counted_by_reason(make: Make) -> None:
    assert line(make({"react": "rw"}), "Missing") == ""
    text = line(make({"react": "rxoo", "pal": "rrro"}, state="incomplete"), "Missing")
    assert text.startswith("4 of 8 episodes (3 not run yet, 1 failed")
    assert text.endswith("; the run is incomplete")


def spent(cost: float | None, calls: int = 10, cached: int = 0) -> dict[str, Any]:
    return {"calls": calls, "cached": cached, "cost": cost, "tokens": 99}


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ({"m": spent(1.234)}, "1.23 USD for 10 replies"),
        ({"m": spent(0.00123)}, "0.0012 USD for 10 replies"),
        ({"m": spent(None)}, "unknown for 10 replies; no price for m"),
        ({"m": spent(0.5), "n": spent(None)}, "0.5 USD for 10 of 20 replies; no price for n"),
        ({"m": spent(0.5, 10, 30)}, "0.5 USD for 10 replies; 30 more from earlier runs"),
        ({"m": spent(0.0, 0, 7)}, "none: all 7 replies are from earlier runs"),
        ({}, "none: no LLM was called"),
    ],
)
def test_an_unknown_price_is_never_0(make: Make, entries: dict[str, Any], text: str) -> None:
    assert line(make({"react": "r"}, spent=entries), "Cost") == text


def test_a_run_has_scores_and_response_types_best_first(tmp_path: Path) -> None:
    text = text_summary(load(makers.small(tmp_path / "run", questions=4)))
    assert max(map(len, text.splitlines())) <= 100
    assert text.index("Scores, percent") < text.index("Response types")
    means = [float(line.split()[5]) for line in text.split("Response types")[0].splitlines() if "+" in line]
    assert len(means) == 9
    assert means == sorted(means, reverse=True)


@pytest.mark.parametrize("width", [80, 100, 250])
def test_tables_fit_the_line_and_averages_come_before_many_tasks(tmp_path: Path, width: int) -> None:
    text = (PAPER / "scores.csv").read_text(encoding="utf-8")
    (tmp_path / "scores.csv").write_text(
        text.replace("gpt-4-1106", "ai/Llama-3.1-70B-Instruct-Turbo"), encoding="utf-8"
    )
    console = Console(file=io.StringIO(), width=width, color_system=None)
    tables = summary_tables(load(RunFolder(tmp_path)), width)
    titles = [str(one.title) for one in tables]
    assert titles == ["Scores, percent"] if width == 250 else titles == sorted(titles)
    console.print(*tables)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, shown.splitlines())) <= width
    assert shown.count("react+ai/Llama-") == len(tables), "a name is broken between its words"
