"""A run's folder that a runr made is data: no command that reads it runs code, asks an LLM or writes elsewhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.compare_runs import compare_runs
from r_eval.analysis.leaderboard_page import write_leaderboard
from r_eval.analysis.report import write_report
from r_eval.analysis.results import load
from r_eval.analysis.scoring import ensure_scored, score_run
from r_eval.api import load_run
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from tests.security.conftest import change_manifest

EVIL = "from pathlib import Path\n\nPath({mark!r}).touch()\n\n\ndef metric(prediction, golds):\n    return 1.0\n"


def rename_metric(run: RunFolder, metric: str) -> None:
    """Change the metric that the record of a run names."""

    def change(manifest: dict[str, Any]) -> dict[str, Any]:
        manifest["tasks"][0]["metric"] = metric
        return manifest

    change_manifest(run, change)
    shutil.rmtree(run.scores_root, ignore_errors=True)


READERS: dict[str, Callable[[RunFolder, Path], Any]] = {
    "score": lambda run, out: score_run(run),
    "report": lambda run, out: write_report(load(run), out, figures=False),
    "compare": lambda run, out: compare_runs([run], ("direct+ada", "react+ada"), None),
    "leaderboard": lambda run, out: write_leaderboard([run], out),
    "table": lambda run, out: load_run(run.path).to_pandas(),
}


@pytest.mark.parametrize("reader", sorted(READERS))
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
