"""A format is found by its name, and told from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r_eval.errors import UserError
from r_eval.tasks.loaders import format_of
from r_eval.tasks.loaders.data import format_by_name
from tests.tasks.loaders import test_concepts as single
from tests.tasks.loaders import test_multihop as multihop
from tests.tasks.loaders import test_soay as soay
from tests.tasks.loaders.conftest import Write

RECORDS: dict[str, Any] = {
    "2wikimultihopqa": multihop.TWO_WIKI,
    "copen-cic": single.CIC,
    "copen-cpj": single.CPJ,
    "copen-csj": single.CSJ,
    "hotpotqa": multihop.HOTPOT,
    "jsonl": {"question": "Where?", "answers": ["here"]},
    "kqapro": single.KQA,
    "musique": multihop.MUSIQUE,
    "profiling": single.PROFILE,
    "soay": soay.RECORD,
}


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_file_is_told_by_its_first_records_as_list_and_as_lines(as_list: Write, as_lines: Write, name: str) -> None:
    records = [RECORDS[name]] * 2
    assert format_of(as_list("one", records)) == format_of(as_lines("two", records)) == name


def test_triples_are_told_by_their_first_line(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("Q1\tP31\tQ2\n", encoding="utf-8")
    assert format_of(tmp_path / "t.txt") == "wikidata5m"


@pytest.mark.parametrize("text", ["", "text", '[{"a": 1}]'])
def test_a_file_of_no_format_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text, encoding="utf-8")
    assert format_of(tmp_path / "x") is None


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(UserError, match=r"unknown format 'hotpot'\. Did you mean hotpotqa"):
        format_by_name("hotpot")


def test_a_broken_record_among_the_first_does_not_hide_the_format(as_list: Write) -> None:
    assert format_of(as_list("h.json", [{"question": "What?"}, multihop.HOTPOT])) == "hotpotqa"
