"""examples/crud-paper: the 1,008 published cells, and the paper's advice against what `sweeps` makes of them."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pandas
import pytest

from r_eval.analysis.results import load
from r_eval.analysis.sweeps import components, recommend
from r_eval.folder import RunFolder
from tests.commands import typed_here

CRUD = Path(__file__).parents[1] / "examples" / "crud-paper"
README = (CRUD / "README.md").read_text(encoding="utf-8")
BASE = {"chunk_size": "128", "overlap": "0%", "retriever": "dense", "embedding": "bge-base", "top_k": "8"}
BASE |= {"llm": "gpt-3.5-turbo"}
METRICS = {"recall": "quest_eval_recall", "precision": "quest_eval_precision"}


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def cells() -> pandas.DataFrame:
    return components(load(RunFolder(CRUD)))


@pytest.fixture(scope="module")
def found() -> pandas.DataFrame:
    return recommend(load(RunFolder(CRUD)))


def test_every_cell_of_the_six_tables_is_there(cells: pandas.DataFrame) -> None:
    assert len(cells) == 1008 == 28 * 6 * 6
    assert cells.groupby("component")["table"].unique().str[0].to_dict() == {
        **{"chunk_size": "3", "overlap": "4", "retriever": "5", "embedding": "6", "top_k": "7", "llm": "8"},
    }
    assert "1,008 of 1,008 cells" in README


def test_the_base_run_is_printed_alike_in_all_six_tables(cells: pandas.DataFrame) -> None:
    base = cells[cells["setting"] == cells["component"].map(BASE)]
    value = base["score"].fillna(base["number"])
    different = base.assign(value=value).groupby(["task", "metric"])["value"].nunique()
    assert (len(base), int((different > 1).sum())) == (216, 0)


def test_every_printed_number_comes_back_from_the_command(tmp_path: Path) -> None:
    out = tmp_path / "report"
    done = typed_here(["report", str(CRUD), "--out", str(out), "--no-figures"], tmp_path)
    assert (done.returncode, done.stdout) == (0, f"Report    {out / 'index.html'}\n"), done.stderr
    assert "r-eval report examples/crud-paper --out runs/crud-paper-report" in README
    keys = ("component", "setting", "task", "metric")
    written = {
        tuple(line[key] for key in keys): 100 * float(line["score"]) if line["score"] else float(line["number"])
        for line in lines(out / "tables" / "components.csv")
    }
    printed = {tuple(line[key] for key in keys): float(line["value"]) for line in lines(CRUD / "components.csv")}
    assert written == pytest.approx(printed)


def agrees(word: str, best: str, settings: list[str], base: str) -> bool:
    """Whether the best setting is what the advice says: a setting, or one that is larger, smaller or in between."""
    names = best.split(", ")
    if word == "moderate":
        return any(name not in (settings[0], settings[-1]) for name in names)
    if word in ("larger", "smaller"):
        places = [settings.index(name) - settings.index(base) for name in names]
        return any(place > 0 if word == "larger" else place < 0 for place in places)
    return word in names


def test_the_advice_is_held_against_what_the_tables_recommend(cells: pandas.DataFrame, found: pandas.DataFrame) -> None:
    """Of each of the 25 cells of Table 9: by how many of its metrics the advised setting is best."""
    best = found.set_index(["task", "component", "metric"])["best"]
    order = cells.drop_duplicates(["component", "setting"]).groupby("component")["setting"].apply(list)
    counts: dict[str, Counter[str]] = {
        component: Counter() for component in ("top_k", "chunk_size", "overlap", "retriever", "llm")
    }
    for line in lines(CRUD / "advice.csv"):
        component = line["component"]
        verdicts = [
            agrees(line[name], best[task, component, metric], order[component], BASE[component])
            for task in line["task"].split(";")
            for name, metric in METRICS.items()
        ]
        counts[component]["all" if all(verdicts) else "some" if any(verdicts) else "none"] += 1
    assert sum(count.total() for count in counts.values()) == 25
    for component, count in counts.items():
        row = " | ".join(str(count[kind]) for kind in ("all", "some", "none"))
        assert f"| {component} | {row} |" in README, (component, row)


@pytest.mark.parametrize(
    ("metric", "trend", "best"),
    [
        ("quest_eval_recall", "rising", "512"),
        ("quest_eval_precision", "falling", "64"),
        ("bleu_published", "falling", "64"),
    ],
)
def test_the_advice_on_chunks_for_summaries_contradicts_the_papers_own_numbers(
    found: pandas.DataFrame, metric: str, trend: str, best: str
) -> None:
    own = found.set_index(["task", "component", "metric"]).loc["crud/summarization", "chunk_size", metric]
    assert (own["trend"], own["best"], own["choice"], own["significant"]) == (trend, best, "", False)
