"""The published tables in examples/: each comes back from the report, and says what the READMEs and docs say of it."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pandas
import pytest

from r_eval.analysis.results import load
from r_eval.analysis.scores import averages
from r_eval.analysis.sweeps import components, recommend
from r_eval.folder import RunFolder
from r_eval.grid import Grid
from r_eval.runner.plan import resolve
from tests import documents
from tests.commands import table_rows as lines

ROOT = Path(__file__).parents[2]
PAPER, CRUD, PRGB, DRAGON = (ROOT / "examples" / f"{name}paper" for name in ("", "crud-", "prgb-", "dragon-"))
PAGE = ROOT / "docs" / "reproducing-the-paper.md"


def readme(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


# R-Eval


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the page's command, in a copy of the repository's examples."""
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("paper")
    (folder / "examples").symlink_to(ROOT / "examples")
    documents.follow(PAGE, folder)
    return folder / "runs" / "paper-report"


def test_the_tables_have_the_printed_averages_and_ranks_but_one(report: Path) -> None:
    """Averages agree within the rounding of the printed scores. Two systems that are both printed as 2.3 tie here,
    while unrounded values decided there.
    """
    found = {line["system"]: line for line in lines(report / "tables" / "scores.csv")}
    assert (len(found), len(lines(PAPER / "scores.csv"))) == (21, 252)
    pairs = [(found[f"{line['workflow']}+{line['llm']}"], line) for line in lines(PAPER / "published.csv")]
    means = [(float(own[f"average_{line['group']}"]), float(line["average"])) for own, line in pairs if line["average"]]
    assert (len(means), max(abs(own - printed) for own, printed in means) <= 0.1) == (63, True)
    differing = [(own["system"], line["group"]) for own, line in pairs if own[f"rank_{line['group']}"] != line["rank"]]
    assert (len(pairs), differing) == (189, [("pal+vicuna-13b", "aminer_KA")])


def test_the_numbers_and_the_contradictions_of_the_page_are_in_the_scores() -> None:
    code = documents.block(PAGE, "python", "averages")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert (done.stdout, done.stderr) == (documents.block(PAGE, "text", "react 24.4"), "")
    frame = averages(load(RunFolder(PAPER))).set_index(["system", "group"])["score"]
    cells = [(f"pal+{llm}", "wiki_KU") for llm in ("gpt-3.5-turbo", "llama2-13b")] + [("dfsdt+gpt-4-1106", "wiki_KA")]
    assert [round(100 * frame[cell], 1) for cell in cells] == [40.2, 37.9, 10.0]


def test_the_grid_has_the_papers_systems_settings_and_one_shot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    grid = Grid.load(PAPER / "grid.yaml")
    cells = [planned.cell for planned in resolve(grid).cells]
    published = {(line["workflow"], line["llm"]) for line in lines(PAPER / "scores.csv")}
    assert {(cell.workflow, cell.llm) for cell in cells} == published
    assert (len(cells), grid.samples, grid.shots) == (252, 100, 1)
    assert {(llm.settings["temperature"], llm.settings["max_tokens"]) for llm in grid.llms} == {(0, 128)}


# CRUD-RAG

BASE = {"chunk_size": "128", "overlap": "0%", "retriever": "dense", "embedding": "bge-base", "top_k": "8"}
BASE |= {"llm": "gpt-3.5-turbo"}
METRICS = {"recall": "quest_eval_recall", "precision": "quest_eval_precision"}


@pytest.fixture(scope="module")
def crud() -> pandas.DataFrame:
    return components(load(RunFolder(CRUD)))


@pytest.fixture(scope="module")
def best_of_crud() -> pandas.DataFrame:
    return recommend(load(RunFolder(CRUD))).set_index(["task", "component", "metric"])


def test_all_1008_cells_of_crud_rag_come_back_and_the_base_is_the_same_in_six_tables(crud: pandas.DataFrame) -> None:
    keys = ["component", "setting", "task", "metric"]
    crud = crud.assign(value=(100 * crud["score"]).fillna(crud["number"]))
    printed = {tuple(line[key] for key in keys): float(line["value"]) for line in lines(CRUD / "components.csv")}
    assert len(printed) == 1008
    assert crud.set_index(keys)["value"].to_dict() == pytest.approx(printed)
    assert "1,008 of 1,008 cells" in readme(CRUD)
    base = crud[crud["setting"] == crud["component"].map(BASE)]
    assert (len(base), base.groupby(["task", "metric"])["value"].nunique().max()) == (216, 1)


def agrees(advice: str, best: str, settings: list[str], base: str) -> bool:
    """Whether the best setting is what the advice says: a setting, or one that is larger, smaller or in between."""
    names = best.split(", ")
    if advice == "moderate":
        return any(name not in (settings[0], settings[-1]) for name in names)
    if advice in ("larger", "smaller"):
        places = [settings.index(name) - settings.index(base) for name in names]
        return any(place > 0 if advice == "larger" else place < 0 for place in places)
    return advice in names


def test_the_25_pieces_of_advice_are_compared_with_the_recommendations(
    crud: pandas.DataFrame, best_of_crud: pandas.DataFrame
) -> None:
    order = crud.drop_duplicates(["component", "setting"]).groupby("component")["setting"].apply(list)
    counts: dict[str, Counter[str]] = {}
    for line in lines(CRUD / "advice.csv"):
        component = line["component"]
        verdicts = [
            agrees(line[name], best_of_crud["best"][task, component, metric], order[component], BASE[component])
            for task in line["task"].split(";")
            for name, metric in METRICS.items()
        ]
        verdict = "all" if all(verdicts) else "some" if any(verdicts) else "none"
        counts.setdefault(component, Counter())[verdict] += 1
    assert sum(count.total() for count in counts.values()) == 25
    for component, count in counts.items():
        row = " | ".join(str(count[kind]) for kind in ("all", "some", "none"))
        assert f"| {component} | {row} |" in readme(CRUD), (component, row)


def test_the_advice_on_chunks_for_summaries_contradicts_the_papers_own_numbers(best_of_crud: pandas.DataFrame) -> None:
    own = best_of_crud.loc["crud/summarization"].loc["chunk_size"]
    found = [(own.loc[metric, "trend"], own.loc[metric, "best"]) for metric in METRICS.values()]
    assert found == [("rising", "512"), ("falling", "64")]


# PRGB


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    """What the check of PRGB's tables prints, by subject."""
    done = subprocess.run([sys.executable, str(PRGB / "check.py")], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    parts = (line.rpartition(": ") if ": " in line else (line, "", "") for line in done.stdout.splitlines())
    return {name: verdict for name, _, verdict in parts}


def test_prgbs_overall_scores_follow_from_their_parts_but_one(verdicts: dict[str, str]) -> None:
    assert Counter(line["table"] for line in lines(PRGB / "tables.csv")).total() == 301
    assert "the 301 cells" in readme(PRGB)
    assert "45 of 46 overall scores within 0.011" in verdicts
    differing = [name for name, verdict in verdicts.items() if verdict == "differs" and "noise" not in name]
    assert differing == ["en Qwen-2.5-MAX: 76.031 from the parts, 78.45 printed"]
    exchanged = {name.partition(":")[0] for name, verdict in verdicts.items() if verdict.endswith("exchanged")}
    assert exchanged == {"zh Gemma3_12b"}


# DRAGON

COLUMNS = {"Hit Rate": "hit_rate", "Rouge-L": "rouge_l", "SM": "substring_match", "Judge Score": "judge_six"}


def test_every_score_of_dragons_first_three_tables_comes_back() -> None:
    found = components(load(RunFolder(DRAGON)))
    keys = zip(found["table"], found["component"], found["setting"], found["metric"], strict=True)
    scores = dict(zip(keys, found["score"], strict=True))
    cells = lines(DRAGON / "tables.csv")
    for line in cells:
        metric = COLUMNS.get(line["column"], line["column"].lower())
        embedding, _, llm = line["row"].partition(" | ")
        key = {
            "1": ("1", "month", line["column"], line["row"].lower().replace(" ", "_")),
            "2": ("2", "embedding", line["row"], metric),
            "3": ("3", f"llm with {embedding}", llm, metric),
        }.get(line["table"])
        if key is not None:
            assert scores.pop(key) == pytest.approx(float(line["value"])), line
    assert (scores, len(cells)) == ({}, 146)
