"""examples/prgb-paper: the published numbers as far as they are known, and what comes of them."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

PRGB = Path(__file__).parents[1] / "examples" / "prgb-paper"
README = (PRGB / "README.md").read_text(encoding="utf-8")


def lines(name: str) -> list[dict[str, str]]:
    with (PRGB / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def printed() -> str:
    command = [sys.executable, str(PRGB / "check.py")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_sizes_of_the_parts_add_up_to_those_of_the_task() -> None:
    for task in ("combination", "reasoning"):
        own = [line for line in lines("sizes.csv") if line["language"] == "zh" and line["task"] == task]
        (whole,) = [int(line["samples"]) for line in own if not line["part"]]
        assert sum(int(line["samples"]) for line in own if line["part"]) == whole


@pytest.mark.parametrize("score", ["combination: 47.469", "reasoning: 26.923"])
def test_the_scores_of_the_parts_give_the_score_of_the_task(printed: str, score: str) -> None:
    (line,) = [line for line in printed.splitlines() if score in line]
    assert line.endswith(": agrees")


@pytest.mark.parametrize(
    ("what", "end"),
    [("weak", "5.8 printed: differs"), ("moderate", "4.11 printed: differs"), ("hard", "0.54 printed: agrees")],
)
def test_the_noise_that_a_sample_has_is_weighed_by_samples(printed: str, what: str, end: str) -> None:
    (line,) = [line for line in printed.splitlines() if line.startswith(f"en {what} noise")]
    assert line.endswith(end)


def test_the_exceptions_are_told(printed: str) -> None:
    assert "en Qwen-2.5-MAX: 76.03 from the parts, 78.45 printed" in printed
    assert "zh Gemma3_12b: 64.10 from the parts" in printed


@pytest.mark.parametrize("cell", ["60.20, zh filtering", "74.03, en reasoning", "79.34, any task of either language"])
def test_scores_that_cannot_be_are_found(printed: str, cell: str) -> None:
    assert f"{cell}: cannot be\n" in printed


def test_every_score_of_the_parts_can_be(printed: str) -> None:
    own = [line for line in printed.splitlines() if line.startswith("table 5 and 6 ")]
    assert len(own) == 7
    assert all(": can be " in line for line in own)


def test_the_readme_says_what_is_not_known() -> None:
    assert "the parts of those 46 rows are not known here" in README
