"""examples/placeholder.yaml: a grid over the tasks prgb/*, and what its tables say of one that reads or remembers."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import yaml

from tests import documents

EXAMPLE = Path(__file__).parents[1] / "examples" / "placeholder.yaml"
LLMS = Path(__file__).parent / "placeholder_llms.py"


def carried_out(folder: Path, llms: list[dict[str, object]]) -> Path:
    """The folder of a run of the example with other LLMs."""
    keys = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    keys["llms"] = llms
    (folder / "grid.yaml").write_text(yaml.safe_dump(keys, sort_keys=False), encoding="utf-8")
    done = documents.typed("r-eval run grid.yaml --out run", folder)
    assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    llms: list[dict[str, object]] = [
        {"llm": f"scripted/{LLMS}:{name}", "name": name} for name in ("reads", "remembers")
    ]
    return carried_out(tmp_path_factory.mktemp("example"), llms) / "report" / "tables"


def lines(table: Path, task: str) -> dict[str, dict[str, str]]:
    """The lines of a task, by system."""
    with table.open(encoding="utf-8", newline="") as file:
        return {line["system"]: line for line in csv.DictReader(file) if line["task"] == task}


def test_one_that_reads_is_right_in_every_variant(tables: Path) -> None:
    line = lines(tables / "stability.csv", "all tasks")["direct+reads"]
    assert (line["samples"], float(line["all_right_share"]), float(line["all_wrong_share"])) == ("9", 1.0, 0.0)


def test_one_that_remembers_is_right_in_one_variant_of_three(tables: Path) -> None:
    line = lines(tables / "stability.csv", "all tasks")["direct+remembers"]
    assert float(line["all_right_share"]) == 0.0
    assert float(line["right_of_partly_share"]) == pytest.approx(1 / 3, abs=0.04)


def test_the_scores_of_the_sub_tasks_are_there(tables: Path) -> None:
    with (tables / "placeholder_scores.csv").open(encoding="utf-8", newline="") as file:
        assert {"direct+reads", "rag+remembers"} <= {line["system"] for line in csv.DictReader(file)}
