"""The frame of a run: its columns, their types whatever a run holds, and what a row says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

from r_eval import Run
from r_eval.analysis.frame import frame
from r_eval.analysis.scoring import score_run
from r_eval.analysis.tables import episode_sheets
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Outcome, Seconds, Step, Usage
from tests.analysis.conftest import call, episode, write_manifest

MakeRun = Callable[..., RunFolder]
INTERFACE = [
    *("run", "system", "workflow", "llm", "condition", "domain", "level", "task", "question_id", "cluster", "template"),
    *("epoch", "score", "metric", "response_type", "cause", "supported", "answer", "outcome", "outcome_cause", "calls"),
    *("prompt_tokens", "completion_tokens", "cached_tokens", "cost", "seconds", "llm_seconds", "environment_seconds"),
    *("queue_seconds", "retry_seconds", "replayed", "truncated", "steps", "role", "missing", "scorer_version"),
]
CUT = Step(kind="thought", text="Die Hauptstadt ist 内罗", error="length")
CELL = Cell("react", "m", "clean", "wiki/high-freq")


def write(folder: Path, *episodes: dict[str, Any], workflow: str = "react", expected: int | None = None) -> RunFolder:
    """A run of one cell with these episodes."""
    run, cell = RunFolder(folder), CELL._replace(workflow=workflow)
    writer = CellWriter(cell.path(run.episodes_root))
    for number, fields in enumerate(episodes):
        own = {"episode_id": f"e{number}", "question_id": f"q{number}", "workflow": workflow, "llm": "m"} | fields
        writer.append(episode(**own).model_dump_json(by_alias=True))
    writer.close()
    write_manifest(run.path, [cell], len(episodes) if expected is None else expected)
    return run


@pytest.fixture
def failed(tmp_path: Path) -> RunFolder:
    """Nothing but infrastructure failures: no score, no price, no answer."""
    return write(
        tmp_path / "failed", {"outcome": Outcome(kind="llm_failure", cause="timeout"), "answer": "", "steps": []}
    )


def test_the_columns_are_those_of_the_interface(run: RunFolder) -> None:
    assert list(frame(run).columns) == INTERFACE


def test_types_are_the_same_whatever_a_run_holds(run: RunFolder, failed: RunFolder, tmp_path: Path) -> None:
    empty = write(tmp_path / "empty", expected=3)
    types = frame(run).dtypes.astype(str).to_dict()
    assert frame(empty).dtypes.astype(str).to_dict() == types
    assert frame(failed).dtypes.astype(str).to_dict() == types
    assert len(frame(empty)) == 0


def test_an_infrastructure_failure_is_a_row_without_a_score(failed: RunFolder) -> None:
    (row,) = frame(failed).to_dict("records")
    assert (row["missing"], row["response_type"], row["cause"], row["outcome"], row["outcome_cause"]) == (
        *(True, "ME", "llm_timeout"),
        *("llm_failure", "timeout"),
    )
    assert all(pandas.isna(row[name]) for name in ("score", "cost", "supported"))


def test_a_row_says_what_the_episode_took(tmp_path: Path) -> None:
    one = {
        "answer": "Mombasa — 蒙巴萨",
        "steps": [CUT, Step(kind="thought", replayed=True), call("Nairobi")],
        "usage": Usage(calls=2, prompt_tokens=30, completion_tokens=4, cached_tokens=8, cost=0.25),
        "seconds": Seconds(total=9, llm=7, environment=1, queue=2, retry=3),
    }
    (row,) = frame(write(tmp_path / "one", one)).to_dict("records")
    expected = {
        **{"run": "one", "system": "react+m", "answer": "Mombasa — 蒙巴萨", "cluster": "q0", "template": ""},
        **{"calls": 2, "prompt_tokens": 30, "completion_tokens": 4, "cached_tokens": 8, "cost": 0.25},
        **{"seconds": 4.0, "llm_seconds": 2.0, "environment_seconds": 1.0, "queue_seconds": 2.0, "retry_seconds": 3.0},
        **{"replayed": 1, "truncated": 1, "steps": 3, "role": "system", "missing": False, "scorer_version": 1},
    }
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize(("workflow", "role"), [("react", "system"), ("direct", "baseline"), ("oracle", "reference")])
def test_the_role_is_that_of_the_workflow(tmp_path: Path, workflow: str, role: str) -> None:
    assert frame(write(tmp_path / "one", {}, workflow=workflow))["role"].tolist() == [role]


def test_further_metrics_have_a_column_after_the_metric(run: RunFolder, tmp_path: Path, make_run: MakeRun) -> None:
    other = make_run(tmp_path / "other", questions=1)
    score_run(other, ["exact_match"])
    found = frame(other)
    assert list(found.columns)[list(found.columns).index("metric") + 1] == "exact_match"
    assert found["exact_match"].dtype == "float64"
    assert frame(run, other)["exact_match"].notna().sum() == found["exact_match"].notna().sum() > 0


def test_parquet_files_of_several_runs_are_read_together(failed: RunFolder, run: RunFolder, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for number, one in enumerate((run, failed)):
        Run(one.path).to_parquet(tmp_path / f"{number}.parquet")
    read = pandas.read_parquet([tmp_path / "0.parquet", tmp_path / "1.parquet"])
    assert len(read) == len(frame(run)) + 1
    assert list(read.columns) == INTERFACE


# views


def test_causes_are_the_same_in_the_frame_the_view_and_the_table(run: RunFolder) -> None:
    episodes = Run(run.path).to_pandas()
    counts = episodes[episodes["cause"] != ""].groupby(["system", "cause"]).size().to_dict()
    found = Run(run.path).causes()
    assert dict(zip(zip(found["system"], found["cause"], strict=True), found["episodes"], strict=True)) == counts
    (sheet,) = [one for one in episode_sheets([run], []) if one.name == "causes"]
    at = [sheet.header.index(name) for name in ("system", "cause", "episodes")]
    assert {(line[at[0]], line[at[1]]): line[at[2]] for line in sheet.lines} == counts


def test_responses_have_all_six_types_of_every_system_and_shares_that_add_up(run: RunFolder) -> None:
    found = Run(run.path).responses()
    assert found.groupby("system").size().unique().tolist() == [6]
    assert found.groupby("system")["share"].sum().round(9).unique().tolist() == [1.0]


def test_deployment_is_over_everything_and_by_domain(run: RunFolder) -> None:
    found = Run(run.path).deployment()
    own = found[found["system"] == "react+openai/gpt-4o-mini"].set_index("domain")
    assert own.index.tolist() == ["all", "wiki", "aminer"]
    assert own.loc["all", "quality"] == pytest.approx((own.loc["wiki", "quality"] + own.loc["aminer", "quality"]) / 2)
    assert own.loc["all", "episodes"] == own.loc["wiki", "episodes"] + own.loc["aminer", "episodes"]


def test_views_of_a_run_without_episodes_are_empty_with_the_same_types(run: RunFolder, tmp_path: Path) -> None:
    empty, full = Run(write(tmp_path / "empty", expected=3).path), Run(run.path)
    for name in ("causes", "responses"):
        found = getattr(empty, name)()
        assert len(found) == 0
        assert found.dtypes.astype(str).to_dict() == getattr(full, name)().dtypes.astype(str).to_dict()
    assert empty.deployment().dtypes.astype(str).to_dict() == full.deployment().dtypes.astype(str).to_dict()


def test_replayed_episodes_have_no_latency_and_are_counted(tmp_path: Path) -> None:
    replayed = {"steps": [Step(kind="thought", replayed=True)], "seconds": Seconds(total=100)}
    mixed = Run(write(tmp_path / "mixed", replayed, {"seconds": Seconds(total=3)}).path).deployment().iloc[0]
    assert (mixed["seconds_mean"], mixed["replayed"], mixed["episodes"]) == (3.0, 1, 2)
    run = write(tmp_path / "all", replayed)
    whole = Run(run.path).deployment().iloc[0]
    assert (pandas.isna(whole["seconds_mean"]), whole["replayed"]) == (True, 1)
