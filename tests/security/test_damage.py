"""A damaged run is refused with a message or repaired: what random damage has found, and what is like it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.leaderboard_page import write_leaderboard
from r_eval.analysis.report import write_report
from r_eval.analysis.results import load
from r_eval.analysis.scoring import ensure_scored, score_run
from r_eval.api import load_run
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from tests.security.conftest import change_manifest

DEEP = '{"a":' * 100_000
GONE = object()
Change = Callable[[dict[str, Any]], Any]


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
    readers: list[Callable[[], Any]] = [run.state, lambda: score_run(run), lambda: load_run(run.path).to_pandas()]
    for read in (*readers, lambda: write_report(load(run), tmp_path / "report", figures=False)):
        with pytest.raises(UserError, match=r"run\.json: damaged"):
            read()


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
