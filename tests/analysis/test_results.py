"""The frames of runs and published results: columns, types, order, names; what a row says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import pytest

from r_eval.analysis.results import CELLS, TASKS, episodes_of, load
from r_eval.analysis.scores import scores_table
from r_eval.analysis.scoring import score_run
from r_eval.analysis.sweeps import components, recommend
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.records import Question, Seconds, Step, Usage
from tests.analysis.answers import KS, SOAY, write_answers
from tests.analysis.conftest import call, write_run

INTERFACE = [
    *("run", "system", "workflow", "llm", "condition", "domain", "level", "task", "question_id", "cluster", "template"),
    *("epoch", "score", "metric", "response_type", "cause", "supported", "answer", "outcome", "outcome_cause", "calls"),
    *("prompt_tokens", "completion_tokens", "cached_tokens", "cost", "seconds", "llm_seconds", "environment_seconds"),
    *("queue_seconds", "retry_seconds", "replayed", "truncated", "steps", "role", "missing", "scorer_version"),
]
CUT = Step(kind="thought", text="Die Hauptstadt ist 内罗", error="length")
HEADS = {"scores.csv": "workflow,llm,task,score", "components.csv": "table,component,setting,task,metric,value"}
PAPER = Path(__file__).parents[2] / "examples" / "paper"


def types(frame: pandas.DataFrame) -> dict[str, str]:
    return frame.dtypes.astype(str).to_dict()


@pytest.fixture
def failed(tmp_path: Path) -> RunFolder:
    """Nothing but infrastructure failures: no score, no price, no answer."""
    return write_answers(tmp_path / "failed", {"react": "x"}, changes=lambda cell, number: {"answer": "", "steps": []})


def test_the_columns_begin_with_those_of_the_interface(run: RunFolder) -> None:
    assert list(episodes_of(run).columns)[: len(INTERFACE)] == INTERFACE


def test_types_are_the_same_whatever_a_run_holds(run: RunFolder, failed: RunFolder, tmp_path: Path) -> None:
    empty = write_answers(tmp_path / "empty", {"react": "ooo"})
    assert types(episodes_of(empty)) == types(episodes_of(run)) == types(episodes_of(failed))
    assert len(episodes_of(empty)) == 0
    assert types(load(empty).cells) == types(load(run).cells) == types(load(RunFolder(PAPER)).cells)


def test_a_row_says_what_the_episode_took(tmp_path: Path) -> None:
    one = {
        "answer": "Mombasa — 蒙巴萨",
        "steps": [CUT, Step(kind="thought", replayed=True), call("Nairobi")],
        "usage": Usage(calls=2, prompt_tokens=30, completion_tokens=4, cached_tokens=8, cost=0.25),
        "seconds": Seconds(total=9, llm=7, environment=1, queue=2, retry=3),
    }
    (row,) = episodes_of(write_answers(tmp_path / "one", {"react": "r"}, changes=lambda *_: one)).to_dict("records")
    expected = {
        **{"run": "one", "system": "react+m", "answer": "Mombasa — 蒙巴萨", "cluster": "q0", "template": ""},
        **{"calls": 2, "prompt_tokens": 30, "completion_tokens": 4, "cached_tokens": 8, "cost": 0.25},
        **{"seconds": 4.0, "llm_seconds": 2.0, "environment_seconds": 1.0, "queue_seconds": 2.0, "retry_seconds": 3.0},
        **{"replayed": 1, "truncated": 1, "steps": 3, "role": "system", "missing": False, "characters": 13.0},
    }
    assert {name: row[name] for name in expected} == expected


def test_questions_are_clustered_by_document_and_the_template_stands_apart(tmp_path: Path) -> None:
    metas: list[dict[str, Any]] = [{"template": "t1", "document": "d1"}, {"template": "t1"}, {"documents": ["a", "b"]}]
    asked = [
        Question(id=f"q{n}", question="Which?", answers=["Nairobi"], level="KS", meta=m) for n, m in enumerate(metas)
    ]
    found = episodes_of(write_answers(tmp_path / "run", {"react": "rrr"}, questions={KS: asked}))
    assert found["cluster"].tolist() == ["d1", "q1", "['a', 'b']"]
    assert found["template"].tolist() == ["t1", "t1", ""]


def test_further_metrics_have_a_column_after_the_metric(run: RunFolder, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", questions=1)
    score_run(other, ["exact_match"])
    found = load(run, other).episodes
    assert list(found.columns)[list(found.columns).index("metric") + 1] == "exact_match"
    assert found["exact_match"].dtype == "float64"
    assert found.loc[found["run"] == "synthetic", "exact_match"].isna().all()


def test_parquet_files_of_several_runs_are_read_together(failed: RunFolder, run: RunFolder, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for number, one in enumerate((run, failed)):
        episodes_of(one).to_parquet(tmp_path / f"{number}.parquet")
    read = pandas.read_parquet([tmp_path / "0.parquet", tmp_path / "1.parquet"])
    assert len(read) == len(episodes_of(run)) + 1


def test_cells_stand_in_the_order_of_the_grid_with_clean_first(tmp_path: Path) -> None:
    answers = {("react", SOAY): "ro", ("react", KS): "r", ("agent", SOAY): "x"}
    found = load(write_answers(tmp_path / "run", answers, ("noisy", "clean")))
    assert list(found.cells.columns) == list(CELLS)
    assert list(found.tasks.columns) == list(TASKS)
    assert found.conditions == ["clean", "noisy"]
    order = {task: place for place, task in enumerate(found.tasks["name"])}
    react = [("react+m", task) for task in sorted((KS, SOAY), key=order.__getitem__)]
    places = list(found.cells[["condition", "system", "task"]].itertuples(index=False, name=None))
    assert places == [(one, *pair) for one in ("clean", "noisy") for pair in (*react, ("agent+m", SOAY))]
    assert found.cells.loc[found.cells["task"] == SOAY, "episodes"].tolist() == [1, 1, 1, 1]
    assert found.cells.loc[found.cells["task"] == SOAY, "expected"].tolist() == [2, 1, 2, 1]


def test_cells_have_the_settings_of_their_llm_and_whether_they_were_stopped(tmp_path: Path) -> None:
    grid = {"llms": [{"llm": "openai/y", "name": "m", "connections": 16}]}
    run = write_answers(tmp_path / "run", {"react": "r", "pal": "r"}, grid=grid)
    text = run.run_file.read_text(encoding="utf-8").replace('"episodes": 1', '"skipped": 3, "episodes": 1', 1)
    run.run_file.write_text(text, encoding="utf-8")
    cells = load(run).cells
    assert cells["connections"].tolist() == [16, 16]
    assert cells["stopped"].tolist() == [True, False]


def test_runs_of_the_same_cell_stay_apart_even_under_one_name(tmp_path: Path) -> None:
    runs = [write_answers(tmp_path / folder / "run", {"react": "r"}) for folder in "abc"]
    found = load(*runs)
    assert found.suffixes == ("", " (run)", " (run, 2)")
    assert found.cells["system"].tolist() == ["react+m", "react+m (run)", "react+m (run, 2)"]
    assert found.cells["llm"].tolist() == ["m", "m (run)", "m (run, 2)"]
    assert found.episodes["system"].tolist() == found.cells["system"].tolist()


def published(folder: Path, *lines: str, file: str = "scores.csv") -> RunFolder:
    folder.mkdir(exist_ok=True)
    (folder / file).write_text("\n".join([HEADS[file], *lines, ""]), encoding="utf-8")
    return RunFolder(folder)


@pytest.mark.parametrize(
    ("file", "lines", "message"),
    [
        ("scores.csv", "react,gpt-4,1-1,abc", "2: score is 'abc'; expected a number from 0 to 100"),
        ("scores.csv", "react,gpt-4,1-1,140", "2: score is '140'"),
        ("scores.csv", "react,gpt-4,,40", "2: a value is missing"),
        ("scores.csv", "r,m,1-1,4\nr,m,wiki/high-freq,4", r"3: r\+m has a second score for wiki"),
        ("components.csv", "3,k,1,t,bleu,140", "2: value is '140'; expected a number from 0 to 100"),
        ("components.csv", "3,k,1,t,length,nan", "2: value is 'nan'; expected a number of 0 or more"),
        ("components.csv", "3,k,1,t,,1", "2: a value is missing"),
        ("components.csv", "3,k,1,t,bleu", "2: a value is missing"),
        ("components.csv", "3,k,1,t,bleu,1\n3,k,1,t,bleu,2", "3: a second value for k 1, t, bleu"),
    ],
)
def test_a_bad_line_of_published_means_is_named(tmp_path: Path, file: str, lines: str, message: str) -> None:
    with pytest.raises(UserError, match=f"{file}:{message}"):
        components(load(published(tmp_path, lines, file=file)))


@pytest.mark.parametrize(
    ("tasks", "domains"),
    [
        (["all/t", "b/t"], ["all_", "b"]),
        (["all/t", "all_/t"], ["all__", "all_"]),
        (["1-1", "wiki_KS/t"], ["wiki", "wiki_KS_"]),
        (["system", "rank_all"], ["system", "rank_all"]),
    ],
)
def test_a_domain_or_a_task_may_be_called_as_what_tables_have(
    tmp_path: Path, tasks: list[str], domains: list[str]
) -> None:
    results = load(published(tmp_path, *(f"react,m,{task},5" for task in tasks)))
    assert results.domains == domains
    table = scores_table(results)
    assert (table.columns.is_unique, table["average_all"].tolist()) == (True, [5.0])


def test_published_tables_are_read_as_people_write_them(tmp_path: Path) -> None:
    lines = "Workflow, LLM, Task, Score, episodes\nreact, m, a/t, 5, 0\nreact, m, b/t, 6,\n"
    (tmp_path / "scores.csv").write_text(lines, encoding="utf-8")
    results = load(RunFolder(tmp_path))
    assert scores_table(results)["average_all"].tolist() == [5.5]
    assert results.cells["expected"].isna().all()


def test_published_settings_stand_in_order_and_have_a_best_and_a_trend_but_no_choice(
    tmp_path: Path,
) -> None:
    lines = ("3,k,128,t,bleu,2.5", "3,k,64,t,bleu,1", "3,k,64,t,rouge_l,5", "3,k,128,t,rouge_l,4")
    results = load(published(tmp_path, *lines, file="components.csv"))
    found = components(results)
    assert found[["setting", "metric", "table"]].to_numpy().tolist()[:2] == [["64", "bleu", "3"], ["128", "bleu", "3"]]
    assert found["score"].to_list() == pytest.approx([0.01, 0.025, 0.05, 0.04])
    assert found["score_low"].isna().all()
    assert found["ordinal"].all()
    best = recommend(results)
    shown = best[["metric", "best", "trend", "choice", "significant"]].to_numpy().tolist()
    assert shown == [["bleu", "128", "rising", "", False], ["rouge_l", "64", "falling", "", False]]
