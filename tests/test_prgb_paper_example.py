"""examples/prgb-paper: the published tables, and what the aggregation over samples makes of them."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from r_eval.analysis.frame import roles
from r_eval.grid import Grid
from r_eval.runner.plan import resolve

PRGB = Path(__file__).parents[1] / "examples" / "prgb-paper"
README = (PRGB / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """What the check prints, by what it is about."""
    done = subprocess.run([sys.executable, str(PRGB / "check.py")], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    lines = (line.rpartition(": ") if ": " in line else (line, "", "") for line in done.stdout.splitlines())
    return {name: verdict for name, _, verdict in lines}


def verdicts(printed: dict[str, str], pattern: str) -> list[str]:
    return [verdict for name, verdict in printed.items() if re.match(pattern, name)]


def test_every_cell_is_there() -> None:
    with (PRGB / "tables.csv").open(encoding="utf-8", newline="") as file:
        cells = Counter(line["table"] for line in csv.DictReader(file))
    assert cells == {"1": 184, "3": 16, "4": 20, "5": 20, "6": 25, "7": 18, "8": 18}
    assert "the 301 cells" in README


def test_45_of_the_46_overall_scores_follow_from_their_parts(printed: dict[str, str]) -> None:
    assert "45 of 46 overall scores within 0.011" in printed
    found = [name for name, verdict in printed.items() if verdict == "differs" and "noise" not in name]
    assert found == ["en Qwen-2.5-MAX: 76.031 from the parts, 78.45 printed"]


def test_one_row_has_two_columns_exchanged(printed: dict[str, str]) -> None:
    found = {name.partition(":")[0] for name, verdict in printed.items() if verdict.endswith("exchanged")}
    assert found == {"zh Gemma3_12b"}


@pytest.mark.parametrize("part", ["combination", "reasoning"])
def test_the_scores_of_all_five_llms_follow_from_their_parts(printed: dict[str, str], part: str) -> None:
    assert verdicts(printed, f"zh Qwen2.5 .* {part}") == ["agrees"] * 5


@pytest.mark.parametrize(("noise", "verdict"), [("weak", "differs"), ("moderate", "differs"), ("hard", "agrees")])
def test_the_noise_per_sample_is_weighed_by_samples(printed: dict[str, str], noise: str, verdict: str) -> None:
    assert verdicts(printed, f"en {noise} noise") == [verdict]


def test_scores_that_no_verdicts_can_have_are_named(printed: dict[str, str]) -> None:
    assert printed["zh Gemma3_12b Multi-Level Filter 60.20"] == "impossible, but possible for Combination"
    assert len(verdicts(printed, r".* of table [34] ")) == 5


def test_the_noise_study_is_one_grid_in_which_every_llm_is_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    plan = resolve(Grid.load(PRGB / "noise.yaml"))
    mixtures = {
        planned.cell.workflow: tuple(planned.planned.questions[0].meta["noise"].values())
        for planned in plan.cells
        if planned.cell.task == "prgb/filtering"
    }
    wanted = {"": (5, 0, 0), "@moderate=2": (3, 2, 0), "@moderate=4": (1, 4, 0), "@moderate=3": (1, 3, 1)}
    assert mixtures == {f"direct{variant}": mixture for variant, mixture in wanted.items()}
    assert {planned.planned.passages for planned in plan.cells} == {"prompt"}
    cells = [{"workflow": planned.cell.workflow, "llm": planned.cell.llm} for planned in plan.cells]
    varied = {"workflows": {key: {} for key in mixtures}, "base": "direct"}
    found = roles({"cells": cells, "vary": varied, "grid": {"workflows": [{"workflow": "direct"}]}})
    assert (len(found), set(found.values())) == (12, {"baseline"})
