"""A run's folder that a stranger made or chance damaged is data: it is refused with a message or repaired, and no
command that reads it runs code, asks an LLM or writes elsewhere."""

from __future__ import annotations

import contextlib
import functools
import json
import operator
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.leaderboard import write_leaderboard
from r_eval.analysis.report import write_report
from r_eval.analysis.results import load
from r_eval.analysis.scoring import ensure_scored, score_run
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from tests.security.conftest import READERS

DEEP = '{"a":' * 100_000
GONE = object()
Change = Callable[[dict[str, Any]], Any]


def change_manifest(run: RunFolder, change: Change) -> None:
    """Replace the record of a run by what a function makes of it."""
    manifest = change(json.loads(run.run_file.read_text(encoding="utf-8")))
    run.run_file.write_text(json.dumps(manifest), encoding="utf-8")


def put(*keys: str | int, value: Any = GONE) -> Change:
    """A change that puts a value at a place of a record, or takes the key out."""

    def change(record: dict[str, Any]) -> Any:
        *outer, last = keys
        inner: Any = functools.reduce(operator.getitem, outer, record)
        inner[last] = value
        if value is GONE:
            del inner[last]
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
    "a cell twice": lambda manifest: manifest | {"cells": manifest["cells"] * 2},
    "a task twice": lambda manifest: manifest | {"tasks": manifest["tasks"] * 2},
    "nothing": lambda manifest: None,
}


@pytest.mark.parametrize("damage", sorted(RECORDS))
def test_a_damaged_record_of_a_run_is_refused_in_words(damage: str, run: RunFolder, tmp_path: Path) -> None:
    change_manifest(run, RECORDS[damage])
    for reader in ("state", "score", "table", "report"):
        with pytest.raises(UserError, match=r"run\.json: damaged") as raised:
            READERS[reader](run, tmp_path / "out")
        assert not re.search(r"Value error|Input should|validation", str(raised.value))


def test_a_run_whose_record_names_no_metric_stands_on_a_leaderboard(run: RunFolder, tmp_path: Path) -> None:
    change_manifest(run, put("tasks", 0, "metric"))
    page, _ = write_leaderboard([run], tmp_path / "board")
    assert page.is_file()


@pytest.mark.parametrize("reader", READERS)
def test_a_run_without_its_questions_is_read_or_refused_in_words(reader: str, run: RunFolder, tmp_path: Path) -> None:
    shutil.rmtree(run.path / "questions")
    with contextlib.suppress(UserError):
        READERS[reader](run, tmp_path / "out")


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


@pytest.mark.parametrize(
    "name",
    ["{run}/evil.py:metric", "os:execv", "subprocess:call", "judge@openai/m", "quest_eval@./llm.yaml", "bert_score@/x"],
)
def test_a_metric_of_a_strange_run_that_means_code_a_file_or_an_llm_is_refused(
    name: str, run: RunFolder, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    (run.path / "evil.py").write_text(EVIL.format(mark=str(mark)), encoding="utf-8")
    rename_metric(run, name.format(run=run.path))
    for reader in ("score", "report", "compare", "leaderboard", "table"):
        with pytest.raises(UserError, match=r"stands for code, a file or an LLM.*name the metric yourself.*--metric"):
            READERS[reader](run, tmp_path / "out")
    assert not mark.exists()


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
        records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        path.write_text("".join(json.dumps(record | changed) + "\n" for record in records), encoding="utf-8")
    ensure_scored(run)
    assert "os:remove is not computed again" in caplog.text
    (cell, *_) = run.cells()
    assert {tuple(record["metrics"]) for record in run.scores(cell).values()} == {("exact_match",)}


def test_names_in_a_run_lead_nowhere(run: RunFolder, tmp_path: Path) -> None:
    for keys in (("cells", 0, "task"), ("cells", 1, "task"), ("tasks", 0, "name"), ("name",)):
        change_manifest(run, put(*keys, value="../../../evil"))
    write_report(load(run), run.path / "report", figures=False)
    with pytest.raises(UserError, match="the leaderboard would be empty"):
        write_leaderboard([run], run.path / "board")
    assert {*tmp_path.iterdir()} == {run.path}
