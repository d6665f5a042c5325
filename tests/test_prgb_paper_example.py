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


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("zh combination: 47.469", ": agrees"),
        ("zh reasoning: 26.923", ": agrees"),
        ("en weak noise", "5.8 printed: differs"),
        ("en moderate noise", "4.11 printed: differs"),
        ("en hard noise", "0.54 printed: agrees"),
        ("en Qwen-2.5-MAX: 76.031", ": differs"),
        ("zh DeepSeek-R1-0528: 87.537", ": differs"),
        *(
            (f"zh {model}: ", "agrees, filtering and combination exchanged")
            for model in ("Gemma3_12b", "Gemma3_27b", "Gemma3_4b", "Qwen3_32B w/o think", "Qwen3_8B w/o think")
        ),
    ],
)
def test_what_the_aggregation_makes_of_a_score(printed: str, begin: str, end: str) -> None:
    (line,) = [line for line in printed.splitlines() if line.startswith(begin)]
    assert line.endswith(end)


def test_44_of_46_published_scores_come_out_and_what_cannot_be_is_found(printed: str) -> None:
    assert len(lines("scores.csv")) == 46
    assert "44 of 46 overall scores within 0.011\n" in printed
    assert printed.count("exchanged\n") == 5
    assert "zh Gemma3_12b filtering 60.20: cannot be, but can be combination\n" in printed
    assert "table 3, any task of either language, 79.34: cannot be\n" in printed
