"""examples/crud-paper: the published tables as far as they are known, and what comes of them."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

CRUD = Path(__file__).parents[1] / "examples" / "crud-paper"
README = (CRUD / "README.md").read_text(encoding="utf-8")
SUMMARIES = "crud/summarization"


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("crud") / "report"
    code = "from r_eval.cli.app import main; main()"
    command = [sys.executable, "-c", code, "report", str(CRUD), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout) == (0, f"Report    {out / 'index.html'}\n"), done.stderr
    return out


def test_the_base_run_is_the_same_in_all_six_tables() -> None:
    base = [line for line in lines(CRUD / "components.csv") if "the base run" in line["source"]]
    cells = {(line["task"], line["metric"], line["score"]) for line in base}
    assert (len(base), len(cells), len({line["component"] for line in base})) == (216, 36, 6)


@pytest.mark.parametrize(
    ("component", "metric", "best", "trend"),
    [
        ("chunk_size", "quest_eval_recall", "512", "rising"),
        ("chunk_size", "quest_eval_precision", "64", "falling"),
        ("chunk_size", "bleu_published", "64", "falling"),
        ("top_k", "quest_eval_recall", "10", "rising"),
        ("top_k", "quest_eval_precision", "2", "mixed"),
    ],
)
def test_what_to_take_is_computed_from_the_figures(
    report: Path, component: str, metric: str, best: str, trend: str
) -> None:
    found = {
        (line["best"], line["trend"], line["certain"])
        for line in lines(report / "tables" / "recommendations.csv")
        if (line["task"], line["component"], line["metric"]) == (SUMMARIES, component, metric)
    }
    assert found == {(best, trend, "unknown")}


def test_the_advice_on_summaries_contradicts_the_papers_own_figures(report: Path) -> None:
    first, *rest = lines(report / "tables" / "claims.csv")
    assert (first["source"], first["verdict"]) == ("table 9", "contradicted")
    assert first["figures"] == "rising: 64: 43.98; 128: 46.18; 256: 48.66; 512: 50.31"
    assert [line["verdict"] for line in rest] == ["cannot be checked"] * 4


def test_the_numbers_of_the_readme_are_those_of_the_table(report: Path) -> None:
    found = {
        (line["metric"], line["value"]): line["mean"]
        for line in lines(report / "tables" / "components.csv")
        if (line["component"], line["task"]) == ("chunk_size", SUMMARIES)
    }
    for name, metric in (
        ("recall", "quest_eval_recall"),
        ("precision", "quest_eval_precision"),
        ("BLEU", "bleu_published"),
    ):
        cells = [found.get((metric, value), "not known here") for value in ("64", "128", "256", "512")]
        assert f"| {name} | {' | '.join(cells)} |" in README
