"""A run's folder that a stranger made is data: no command that reads it runs code, asks an LLM or writes elsewhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis import metrics
from r_eval.analysis.compare_runs import compare_runs
from r_eval.analysis.leaderboard_page import write_leaderboard
from r_eval.analysis.report import write_report
from r_eval.analysis.results import load
from r_eval.analysis.scoring import ensure_scored, score_run
from r_eval.api import load_run
from r_eval.errors import UserError
from r_eval.folder import RunFolder

EVIL = "from pathlib import Path\n\nPath({mark!r}).touch()\n\n\ndef metric(prediction, golds):\n    return 1.0\n"


@pytest.fixture
def strange(good: Path, tmp_path: Path) -> RunFolder:
    """A copy of it, to be changed."""
    shutil.copytree(good, tmp_path / "run")
    return RunFolder(tmp_path / "run")


def change(run: RunFolder, **keys: Any) -> None:
    """Change what the record of a run says of its first task."""
    manifest = json.loads(run.run_file.read_text(encoding="utf-8"))
    manifest["tasks"][0] |= keys
    run.run_file.write_text(json.dumps(manifest), encoding="utf-8")
    shutil.rmtree(run.scores_root, ignore_errors=True)


READERS: dict[str, Callable[[RunFolder, Path], Any]] = {
    "score": lambda run, out: score_run(run),
    "report": lambda run, out: write_report(load(run), out, figures=False),
    "compare": lambda run, out: compare_runs([run], ("direct+ada", "react+ada"), None),
    "leaderboard": lambda run, out: write_leaderboard([run], out),
    "table": lambda run, out: load_run(run.path).to_pandas(),
}


@pytest.mark.parametrize("reader", sorted(READERS))
def test_a_metric_of_a_strange_run_is_not_run(reader: str, strange: RunFolder, tmp_path: Path) -> None:
    evil, mark = strange.path / "evil.py", tmp_path / "mark"
    evil.write_text(EVIL.format(mark=str(mark)), encoding="utf-8")
    change(strange, metric=f"{evil}:metric")
    with pytest.raises(UserError, match=r"stands for code, a file or an LLM.*--metric"):
        READERS[reader](strange, tmp_path / "out")
    assert not mark.exists()


@pytest.mark.parametrize(
    "name", ["os:execv", "subprocess:call", "judge@openai/m", "quest_eval@./llm.yaml", "bert_score@/x"]
)
def test_a_metric_that_means_code_a_file_or_an_llm_is_refused(name: str, strange: RunFolder) -> None:
    change(strange, metric=name)
    for read in (score_run, ensure_scored):
        with pytest.raises(UserError, match="name the metric yourself"):
            read(strange)


def test_a_further_metric_of_its_kept_scores_is_left_out_and_told(
    strange: RunFolder, caplog: pytest.LogCaptureFixture
) -> None:
    score_run(strange)
    changed = {"metrics": {"os:remove": 1.0, "exact_match": 1.0}, "scorer_version": 0}
    for path in strange.scores_root.rglob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        text = "".join(json.dumps(line | changed) + "\n" for line in lines)
        path.write_text(text, encoding="utf-8")
    ensure_scored(strange)
    assert "os:remove is not computed again" in caplog.text
    (cell, *_) = strange.cells()
    assert {tuple(record["metrics"]) for record in strange.scores(cell).values()} == {("exact_match",)}


def test_a_metric_that_a_person_names_as_well_is_run(strange: RunFolder, tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text("def half(prediction, golds):\n    return 0.5\n", encoding="utf-8")
    change(strange, metric=f"{own}:half")
    score_run(strange, [f"{own}:half"])
    assert {record["score"] for cell in strange.cells() for record in strange.scores(cell).values()} == {0.5}


def test_a_metric_with_a_language_needs_no_person(strange: RunFolder) -> None:
    change(strange, metric="rouge_l@ru")
    score_run(strange)
    assert sum(len(strange.scores(cell)) for cell in strange.cells()) == 4
    with pytest.raises(UserError, match="name the metric yourself"):
        metrics.get_trusted("bert_score@../x")


def test_names_in_a_run_lead_nowhere(strange: RunFolder, tmp_path: Path) -> None:
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(strange.path)}
    manifest = json.loads(strange.run_file.read_text(encoding="utf-8"))
    for cell in manifest["cells"]:
        cell["task"] = "../../../evil"
    manifest["tasks"][0]["name"] = "../../../evil"
    manifest["name"] = "../../evil"
    strange.run_file.write_text(json.dumps(manifest), encoding="utf-8")
    write_report(load(strange), strange.path / "report", figures=False)
    with pytest.raises(UserError, match="the leaderboard would be empty"):
        write_leaderboard([strange], strange.path / "board")
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(strange.path)} == before
