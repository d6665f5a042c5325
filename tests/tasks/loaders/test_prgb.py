"""PRGB's records in both of their forms, with every fault that a file of them can have."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.errors import UserError
from r_eval.tasks.loaders import Data, load
from r_eval.tasks.loaders.prgb import LESS_NOISE, LESS_VARIANTS, OTHER_LANGUAGE, OTHER_TASK, from_cells
from r_eval.tasks.loaders.reading import InvalidRecord
from tests.tasks.loaders.conftest import Write


def record(id: str = "filter-1", **changes: Any) -> dict[str, Any]:
    return {
        "id": id,
        "query": "When was the mill built?",
        "golden_doc": ["The mill was built in X1."],
        "noise_doc_level1": [f"The sea is {n} miles off." for n in range(6)],
        "noise_doc_level2": [f"Mill {n} was built by Bo." for n in range(6)],
        "noise_doc_level3": ["Most mills are old."],
        "placeholder_item": {
            "placeholders": [{"X1": str(1980 + n)} for n in range(4)],
            "answer": [str(1980 + n) for n in range(4)],
        },
        "comment": "passed over",
        **changes,
    }


def item(*answers: str) -> dict[str, Any]:
    return {"placeholders": [{"X1": str(n)} for n, _ in enumerate(answers)], "answer": list(answers)}


CHINESE = record("filter-2", query="磨坊建于何时？", golden_doc=["磨坊建于X1年。"])
RECORDS = [record(), CHINESE, record("combination_v2-1"), record("compare_ad-1")]

Cells = Callable[[list[dict[str, Any]]], Path]


@pytest.fixture
def mixed(write: Write) -> Path:
    return write("prgb.jsonl", RECORDS)


@pytest.fixture(params=[json.dumps, repr], ids=["json", "python"])
def as_table(tmp_path: Path, request: pytest.FixtureRequest) -> Cells:
    """Writes records in the older form."""

    def write(records: list[dict[str, Any]]) -> Path:
        path = tmp_path / "prgb.csv"
        rows = []
        for one in records:
            row = {key: value for key, value in one.items() if key not in ("placeholder_item", "noise_doc_level3")}
            values = one["placeholder_item"]["placeholders"]
            row["placeholder"] = {token: [variant[token] for variant in values] for token in values[0]}
            row["answer"] = one["placeholder_item"]["answer"]
            rows.append({key: v if isinstance(v, str) else request.param(v) for key, v in row.items()})
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
        return path

    return write


def read(path: Path, samples: int | None = None, seed: int = 0, broken: float = 0, **settings: Any) -> Data:
    return load(path, "prgb", settings=settings, samples=samples, seed=seed, broken=broken)


def test_each_variant_is_a_question(mixed: Path) -> None:
    data = read(mixed, variants=4)
    assert [q.id for q in data.questions][:5] == [*(f"filter-1#{n}" for n in (1, 2, 3, 4)), "filter-2#1"]
    assert (data.records, data.n_questions, data.n_broken) == (4, 16, 0)


def test_one_task_or_one_language_is_asked_where_it_is_named(mixed: Path) -> None:
    data = read(mixed, task="filtering", language="en")
    assert {q.meta["document"] for q in data.questions} == {"filter-1"}
    assert data.skipped == {OTHER_LANGUAGE: 1, OTHER_TASK: 2}


def test_the_older_form_makes_the_same_questions(as_table: Cells, mixed: Path) -> None:
    noise = {"weak": 4, "moderate": 2}
    assert read(as_table(RECORDS), noise=noise).questions == read(mixed, noise=noise).questions


def test_less_noise_and_fewer_variants_than_wanted_are_told(mixed: Path) -> None:
    data = read(mixed, variants=5, noise={"hard": 2})
    assert data.remarks == {LESS_VARIANTS: 4, LESS_NOISE: 4}
    assert {q.meta["noise"]["hard"] for q in data.questions} == {1}
    assert "4 used although a record has less noise than requested" in data.notes()


@pytest.mark.parametrize("size", [3, 7, 30])
def test_a_sample_is_of_whole_records(write: Write, size: int) -> None:
    path = write("many.jsonl", [record(f"filter-{n}") for n in range(10)])
    data = read(path, samples=size)
    assert len(data.questions) == min(size, 30)
    assert len({q.meta["document"] for q in data.questions}) == -(-size // 3)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"placeholder_item": item("1980", "a|")}, "placeholder_item: answer 2 ('a|'), column 3: a text is missing"),
        ({"placeholder_item": item("a & (b")}, "answer 1 ('a & (b'), column 5: a '(' that is not closed"),
        ({"placeholder_item": {"placeholders": [{"X1": "1"}], "answer": ["1", "2"]}}, "1 variants of the placeholders"),
        (
            {"placeholder_item": "nothing"},
            "placeholder_item: is neither JSON nor a list as Python writes it: 'nothing'",
        ),
        ({"golden_doc": None}, "golden_doc: must be a list"),
        ({"query": "\ud800?"}, "query: holds half of a surrogate pair"),
    ],
)
def test_a_broken_record_is_told_with_its_place_and_id(write: Write, changes: dict[str, Any], why: str) -> None:
    data = read(write("x.jsonl", [record(), record("filter-9", **changes)]), broken=0.5)
    (fault,) = data.faults
    assert fault.place.endswith("x.jsonl:2: record filter-9")
    assert why in fault.reason
    assert (data.records, data.n_questions, data.n_broken) == (2, 3, 1)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"variants": 0}, "variants"),
        ({"noise": {"weak": -1}}, "noise.weak"),
        ({"task": "filter"}, "task"),
        ({"variant": 1}, "unknown key 'variant'"),
    ],
)
def test_a_wrong_setting_is_told(mixed: Path, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError, match=f"format 'prgb': .*{why}"):
        load(mixed, "prgb", settings=settings)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("['it\\'s', 'x\\\\y', 'n\\nl']", ["it's", "x\\y", "n\nl"]),
        ("['\\u5317', '\\xe9', '\\U0001f600', '\\d']", ["北", "é", "😀", "\\d"]),
        ("", []),
    ],
)
def test_a_cell_holds_a_list_as_json_or_as_python_writes_it(cell: str, value: list[Any]) -> None:
    read = from_cells({"golden_doc": cell, "placeholder": '{"X1": []}', "answer": "[]"})
    assert read["golden_doc"] == value


@pytest.mark.parametrize("cell", ["__import__('os')", "[" * 9999, "[1+1]"])
def test_a_cell_that_is_no_list_is_refused(cell: str) -> None:
    with pytest.raises(InvalidRecord, match="golden_doc: is neither JSON nor a list"):
        from_cells({"golden_doc": cell, "placeholder": "{}", "answer": "[]"})
