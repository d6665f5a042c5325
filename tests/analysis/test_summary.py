"""The scores of a run as a terminal and a notebook show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.analysis.results import Results, load
from r_eval.analysis.summary import text_summary
from r_eval.folder import RunFolder
from tests.analysis.report import makers

PAPER = Path(__file__).parents[2] / "examples" / "paper"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return load(makers.small(tmp_path_factory.mktemp("summary") / "run", questions=4))


def test_a_run_has_scores_and_response_types_best_first(small: Results) -> None:
    text = text_summary(small)
    assert max(map(len, text.splitlines())) <= 100
    assert text.index("Scores, percent") < text.index("Response types")
    means = [float(line.split()[5]) for line in text.split("Response types")[0].splitlines() if "+" in line]
    assert len(means) == 9
    assert means == sorted(means, reverse=True)


def test_many_tasks_are_shown_some_at_a_time_after_the_averages() -> None:
    text = text_summary(load(RunFolder(PAPER)))
    assert text.count("Scores, percent") == 2
    assert text.index("Average scores, percent") < text.index("Scores, percent")
    assert max(map(len, text.splitlines())) <= 100
