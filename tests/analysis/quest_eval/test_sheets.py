"""The published caches of questions and answers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.quest_eval import UNANSWERABLE, Pair, Sheet, published, read_published, score
from r_eval.analysis.quest_eval.unanswerable import PUBLISHED
from r_eval.errors import UserError

DATA = os.environ.get("R_EVAL_DATA", "")
CACHE = Path(DATA, "crud", "QuestAnswer1Doc_quest_gt_save.json")


def write(folder: Path, data: Any) -> Path:
    path = folder / "cache.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_a_record_becomes_a_sheet_by_its_id(tmp_path: Path) -> None:
    record = {"key_info": ["肯尼亚"], "question": ["在哪里？", "何时？"], "answers": ["肯尼亚", "无法推断"]}
    (sheet,) = read_published(write(tmp_path, {"a1": record})).values()
    assert sheet == Sheet(("在哪里？", "何时？"), ("肯尼亚", UNANSWERABLE), ("肯尼亚",))
    assert sheet.usable


def test_answers_that_are_fewer_than_the_questions_belong_to_none(tmp_path: Path) -> None:
    record = {"key_info": [], "question": ["在哪里？", "何时？"], "answers": ["肯尼亚"]}
    sheet = read_published(write(tmp_path, {"a1": record}))["a1"]
    assert not sheet.aligned
    assert not sheet.usable
    assert score([Pair(gold, "肯尼亚") for gold in sheet.answers]).n_misaligned == 2


@pytest.mark.parametrize(
    "data", [[], {"a1": []}, {"a1": {"question": []}}, {"a1": {"key_info": [], "question": [], "answers": [1]}}]
)
def test_a_file_of_another_form_is_refused_with_its_name(tmp_path: Path, data: Any) -> None:
    with pytest.raises(UserError, match=r"cache\.json.*expected"):
        read_published(write(tmp_path, data))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache.json").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be read"):
        read_published(tmp_path / "cache.json")


@pytest.fixture(scope="module")
def records() -> dict[str, dict[str, list[str]]]:
    if not CACHE.is_file() or not DATA:
        pytest.skip(
            "the published cache is not here: R_EVAL_DATA names no folder with crud/QuestAnswer1Doc_quest_gt_save.json"
        )
    found: dict[str, dict[str, list[str]]] = json.loads(CACHE.read_text(encoding="utf-8"))
    return found


def test_the_published_cache_has_what_was_counted_in_it(records: dict[str, dict[str, list[str]]]) -> None:
    sheets = read_published(CACHE)
    aligned = [sheet for sheet in sheets.values() if sheet.aligned]
    usable = [sheet for sheet in aligned if sheet.usable]
    answers = [answer for record in records.values() for answer in record["answers"]]
    assert (len(sheets), len(aligned), len(usable)) == (800, 760, 751)
    assert sum(answer != UNANSWERABLE for sheet in usable for answer in sheet.answers) == 2149
    assert (answers.count(PUBLISHED), len(answers)) == (269, 2448)
    shares = [sum(a != UNANSWERABLE for a in sheet.answers) / len(sheet.answers) for sheet in aligned]
    assert sum(shares) / len(shares) == pytest.approx(0.917221, abs=5e-7)


def test_answers_fed_back_score_1_on_every_usable_record(records: dict[str, dict[str, list[str]]]) -> None:
    usable = {name: sheet for name, sheet in read_published(CACHE).items() if sheet.usable}
    ours = [score([Pair(answer, answer) for answer in sheet.answers]) for sheet in usable.values()]
    assert {(found.recall, found.precision, found.combined) for found in ours} == {(1.0, 1.0, 1.0)}
    theirs = {published(records[name]["answers"], records[name]["answers"]) for name in usable}
    assert theirs == {(1.0, 1.0)}
