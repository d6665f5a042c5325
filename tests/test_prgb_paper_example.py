"""examples/prgb-paper: the published numbers, and what the aggregation makes of them."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

PRGB = Path(__file__).parents[1] / "examples" / "prgb-paper"


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


def test_44_of_the_46_published_overall_scores_come_out_of_the_aggregation(printed: str) -> None:
    assert len(lines("scores.csv")) == 46
    assert "44 of 46 overall scores within 0.011\n" in printed


@pytest.mark.parametrize("score", ["en Qwen-2.5-MAX: 76.031", "zh DeepSeek-R1-0528: 87.537"])
def test_the_two_exceptions_are_told(printed: str, score: str) -> None:
    (line,) = [line for line in printed.splitlines() if line.startswith(score)]
    assert line.endswith(": differs")


@pytest.mark.parametrize(
    "model", ["Gemma3_12b", "Gemma3_27b", "Gemma3_4b", "Qwen3_32B w/o think", "Qwen3_8B w/o think"]
)
def test_exchanged_columns_are_told(printed: str, model: str) -> None:
    (line,) = [line for line in printed.splitlines() if line.startswith(f"zh {model}: ")]
    assert line.endswith("agrees, filtering and combination exchanged")


def test_no_other_row_is_exchanged(printed: str) -> None:
    assert printed.count("exchanged\n") == 5


@pytest.mark.parametrize(
    "score",
    [
        "zh Gemma3_12b filtering 60.20: cannot be, but can be combination",
        "table 3, any task of either language, 79.34: cannot be",
    ],
)
def test_scores_that_cannot_be_are_found(printed: str, score: str) -> None:
    assert f"{score}\n" in printed
