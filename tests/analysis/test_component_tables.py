"""The tables of components, of what to take, and of claims."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from r_eval.analysis.claims import check, read_claims
from r_eval.analysis.published_components import read_components, studies
from r_eval.analysis.recommend import recommendations
from r_eval.analysis.tables.components import component_sheets
from r_eval.analysis.tables.formats import write_sheet
from tests.analysis.sweeping import ONE, write_sweep

CRUD = Path(__file__).parents[2] / "examples" / "crud-paper"


def lines(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("swept")
    right = dict(zip(ONE, (4, 9, 5, 4, 3), strict=True))
    run = write_sweep(folder / "run", lambda cell, number: number % 10 < right[cell.workflow])
    found = studies(run)
    for sheet in component_sheets(found, recommendations(found), []):
        write_sheet(sheet, folder)
    return folder


def test_each_value_and_metric_has_a_line_with_its_interval(swept: Path) -> None:
    found = lines(swept, "components")
    (one,) = (
        line for line in found if (line["component"], line["value"], line["metric"]) == ("chunk_size", "64", "token_f1")
    )
    assert (one["mean"], one["unit"], one["questions"], one["episodes"]) == ("90.00", "percent", "40", "40")
    assert float(one["low"]) < 90 < float(one["high"])
    (tokens,) = (line for line in found if (line["value"], line["metric"]) == ("64", "prompt_tokens"))
    assert (tokens["mean"], tokens["unit"]) == ("1000.0", "tokens")


def test_what_moves_along_with_a_value_stands_in_its_line(swept: Path) -> None:
    assert {line["moved_along"] for line in lines(swept, "components") if line["value"] == "2"} == {"chunk_size 512"}


def test_programs_get_a_line_for_each_value_behind_the_best(swept: Path) -> None:
    found = [line for line in lines(swept, "recommendations") if line["component"] == "chunk_size"]
    assert [(line["best"], line["value"], line["difference"], line["told_apart"]) for line in found] == [
        ("64", "256", "40.00", "yes"),
        ("64", "128", "50.00", "yes"),
    ]
    assert {line["certain"] for line in found} == {"yes"}


def test_people_get_a_line_for_each_task_and_component(swept: Path) -> None:
    text = (swept / "recommendations.md").read_text(encoding="utf-8")
    assert text.count("| wiki/facts |") == 3
    assert "256, 40.00 (" in text
    assert "| no, 40 questions |" in text


def test_claims_have_a_table_of_their_own(tmp_path: Path) -> None:
    study = read_components(CRUD)
    for sheet in component_sheets([study], recommendations([study]), check(read_claims(CRUD), study)):
        write_sheet(sheet, tmp_path)
    verdicts = [line["verdict"] for line in lines(tmp_path, "claims")]
    assert verdicts == ["contradicted", *["cannot be checked"] * 4]
    assert {line["certain"] for line in lines(tmp_path, "recommendations")} == {"unknown"}


def test_without_components_there_is_no_table() -> None:
    assert component_sheets([], [], []) == []
