"""examples/dragon-paper: the published cells, and what is best by them."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from r_eval.analysis.results import load
from r_eval.analysis.sweeps import components, recommend
from r_eval.folder import RunFolder

DRAGON = Path(__file__).parents[1] / "examples" / "dragon-paper"
NAMES = {"Hit Rate": "hit_rate", "Rouge-L": "rouge_l", "SM": "substring_match", "Judge Score": "judge_six"}


def printed() -> list[dict[str, str]]:
    with (DRAGON / "tables.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_score_of_the_first_three_tables_comes_back() -> None:
    found = components(load(RunFolder(DRAGON)))
    keys = zip(found["table"], found["component"], found["setting"], found["metric"], strict=True)
    scores = dict(zip(keys, found["score"], strict=True))
    for line in printed():
        metric = NAMES.get(line["column"], line["column"].lower())
        embedding, _, llm = line["row"].partition(" | ")
        key = {
            "1": ("1", "month", line["column"], line["row"].lower().replace(" ", "_")),
            "2": ("2", "embedding", line["row"], metric),
            "3": ("3", f"llm with {embedding}", llm, metric),
        }.get(line["table"])
        if key is not None:
            assert scores.pop(key) == pytest.approx(float(line["value"])), line
    assert scores == {}
    assert Counter(line["table"] for line in printed()) == {
        **{"1": 24, "2": 12, "3": 72, "4": 6, "5": 4, "6": 16, "8": 12},
    }


def test_what_the_readme_calls_the_best_is_the_best() -> None:
    found = recommend(load(RunFolder(DRAGON))).set_index(["component", "metric"])["best"]
    assert found["embedding", "recall"] == found["embedding", "ndcg"] == "Qwen 3 Embedding 8b"
    by_judge = found.xs("judge_six", level="metric")
    assert all("Qwen 2.5 32b Instruct" in best for best in by_judge)
    assert sum("," in best for best in by_judge) == 2
    assert all("Gemma 3 12b it" in best for best in found.xs("rouge_l", level="metric"))


def test_no_printed_recall_exceeds_the_hit_rate() -> None:
    cells = {(line["row"], line["column"]): float(line["value"]) for line in printed() if line["table"] == "2"}
    assert all(cells[row, "Recall"] <= cells[row, "Hit Rate"] for row, _ in cells)
