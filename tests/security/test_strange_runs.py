"""A run's folder that a stranger made or chance damaged is data: it is refused with a message or repaired, and no
command that reads it runs code, asks an LLM or writes elsewhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.compare_runs import compare_runs
from r_eval.analysis.leaderboard import write_leaderboard
from r_eval.analysis.report import write_report
from r_eval.analysis.results import load
from r_eval.analysis.scoring import ensure_scored, score_run
from r_eval.api import load_run
from r_eval.errors import UserError
from r_eval.folder import RunFolder

DEEP = '{"a":' * 100_000
GONE = object()
Change = Callable[[dict[str, Any]], Any]
READERS: dict[str, Callable[[RunFolder, Path], Any]] = {
    "state": lambda run, out: run.state(),
    "score": lambda run, out: score_run(run),
    "report": lambda run, out: write_report(load(run), out, figures=False),
    "compare": lambda run, out: compare_runs([run], ("direct+ada", "react+ada"), None),
    "leaderboard": lambda run, out: write_leaderboard([run], out),
    "table": lambda run, out: load_run(run.path).to_pandas(),
}


def change_manifest(run: RunFolder, change: Change) -> None:
    """Replace the record of a run by what a function makes of it."""
    manifest = change(json.loads(run.run_file.read_text(encoding="utf-8")))
    run.run_file.write_text(json.dumps(manifest), encoding="utf-8")


def put(*keys: str | int, value: Any = GONE) -> Change:
    """A change that puts a value at a place of a record, or takes the key out."""

    def change(record: dict[str, Any]) -> Any:
        inner: Any = record
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        if value is GONE:
            del inner[keys[-1]]
        return record

    return change


RECORDS: dict[str, Change] = {
    "a metric that is a number": put("tasks", 0, "metric", value=3),
    "tasks of text": put("tasks", value="aminer"),
    "a cell of a task that is not there": put("cells", 0, "task", value="aminer/soay-hard"),
    "episodes of text": put("cells", 0, "episodes", value="many"),
    "spending of text": put("spent", value={"ada": {"cost": "much"}}),
    "a name that is nothing": put("name", value=None),
    "no tasks": put("tasks"),
    "half a pair of surrogates": put("tasks", 0, "domain", value="\ud800"),
    "a time without end": put("seconds", value=1e308),
    "more calls than there can be": put("spent", value={"ada": {"calls": 10**400}}),
    "a hash that is a number": put("cells", 0, "parts", value={"llm": 3}),
    "nothing": lambda manifest: None,
}


@pytest.mark.parametrize("damage", sorted(RECORDS))
def test_a_damaged_record_of_a_run_is_refused_in_words(damage: str, run: RunFolder, tmp_path: Path) -> None:
    change_manifest(run, RECORDS[damage])
    for reader in ("state", "score", "table", "report"):
        with pytest.raises(UserError, match=r"run\.json: damaged"):
            READERS[reader](run, tmp_path / "out")


def test_a_run_whose_record_names_no_metric_stands_on_a_leaderboard(run: RunFolder, tmp_path: Path) -> None:
    change_manifest(run, put("tasks", 0, "metric"))
    page, _ = write_leaderboard([run], tmp_path / "board")
    assert page.is_file()


@pytest.mark.parametrize("text", [DEEP, "[" * 100_000, "\x00", '{"schema": NaN}'], ids=len)
def test_a_record_of_a_run_that_is_no_json_is_refused_in_words(text: str, run: RunFolder) -> None:
    run.run_file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"run\.json"):
        run.manifest()


SCORES: dict[str, Change] = {
    "a type that there is not": put("response_type", value="XX"),
    "no id": put("episode_id"),
    "a score of text": put("score", value="good"),
    "retrieval of text": put("retrieval", value="well"),
    "a list": lambda record: [record],
}


@pytest.mark.parametrize("damage", sorted(SCORES))
def test_damaged_scores_are_computed_again(damage: str, run: RunFolder) -> None:
    ensure_scored(run)
    path = min(run.scores_root.rglob("*.jsonl"))
    whole = path.read_text(encoding="utf-8")
    first, *others = whole.splitlines()
    damaged = json.dumps(SCORES[damage](json.loads(first)))
    for text in ("\n".join([damaged, *others]) + "\n", f"{first}\n{damaged}\n", f"{first}\n{DEEP}\n", whole[:-9]):
        path.write_text(text, encoding="utf-8")
        ensure_scored(run)
        assert path.read_text(encoding="utf-8") == whole


# Code and paths

EVIL = "from pathlib import Path\n\nPath({mark!r}).touch()\n\n\ndef metric(prediction, golds):\n    return 1.0\n"


def rename_metric(run: RunFolder, metric: str) -> None:
    """Change the metric that the record of a run names."""
    change_manifest(run, put("tasks", 0, "metric", value=metric))
    shutil.rmtree(run.scores_root, ignore_errors=True)


@pytest.mark.parametrize("reader", ["score", "report", "compare", "leaderboard", "table"])
def test_a_metric_of_a_strange_run_is_not_run(reader: str, run: RunFolder, tmp_path: Path) -> None:
    evil, mark = run.path / "evil.py", tmp_path / "mark"
    evil.write_text(EVIL.format(mark=str(mark)), encoding="utf-8")
    rename_metric(run, f"{evil}:metric")
    with pytest.raises(UserError, match=r"stands for code, a file or an LLM.*--metric"):
        READERS[reader](run, tmp_path / "out")
    assert not mark.exists()


@pytest.mark.parametrize(
    "name", ["os:execv", "subprocess:call", "judge@openai/m", "quest_eval@./llm.yaml", "bert_score@/x"]
)
def test_a_metric_that_means_code_a_file_or_an_llm_is_refused(name: str, run: RunFolder) -> None:
    rename_metric(run, name)
    with pytest.raises(UserError, match="name the metric yourself"):
        ensure_scored(run)


def test_a_metric_that_a_person_names_as_well_or_that_is_builtin_is_run(run: RunFolder, tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text("def half(prediction, golds):\n    return 0.5\n", encoding="utf-8")
    rename_metric(run, f"{own}:half")
    score_run(run, [f"{own}:half"])
    assert {record["score"] for cell in run.cells() for record in run.scores(cell).values()} == {0.5}
    rename_metric(run, "rouge_l@ru")
    score_run(run)
    assert sum(len(run.scores(cell)) for cell in run.cells()) == 4


def test_a_further_metric_of_its_kept_scores_is_left_out_and_told(
    run: RunFolder, caplog: pytest.LogCaptureFixture
) -> None:
    score_run(run)
    changed = {"metrics": {"os:remove": 1.0, "exact_match": 1.0}, "scorer_version": 0}
    for path in run.scores_root.rglob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        text = "".join(json.dumps(line | changed) + "\n" for line in lines)
        path.write_text(text, encoding="utf-8")
    ensure_scored(run)
    assert "os:remove is not computed again" in caplog.text
    (cell, *_) = run.cells()
    assert {tuple(record["metrics"]) for record in run.scores(cell).values()} == {("exact_match",)}


def test_names_in_a_run_lead_nowhere(run: RunFolder, tmp_path: Path) -> None:
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(run.path)}

    def change(manifest: dict[str, Any]) -> dict[str, Any]:
        for cell in manifest["cells"]:
            cell["task"] = "../../../evil"
        manifest["tasks"][0]["name"] = "../../../evil"
        return manifest | {"name": "../../evil"}

    change_manifest(run, change)
    write_report(load(run), run.path / "report", figures=False)
    with pytest.raises(UserError, match="the leaderboard would be empty"):
        write_leaderboard([run], run.path / "board")
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(run.path)} == before
