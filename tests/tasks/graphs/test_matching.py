"""Names as a reference list writes them: candidates by spelling and by embedding, and an LLM's decision."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from r_eval.errors import UserError
from r_eval.tasks.graphs.matching import NameList, default_model, match, read_names
from r_eval.tasks.llm_client import LLMClient
from tests.tasks.graphs.scripts import name

PEOPLE = [("Roman Miroshnichenko", "R. Miroshnichenko"), ("Ryan Otter",), ("Oslo",), ("Marie Curie",), ("1867",)]
TEXT = "The guitarist Roman Miroshnishenko played in oslo, at the Marie Curie University, in 1867."
embedded = pytest.mark.skipif(default_model() is None, reason="the extra dense is not installed")


def matched(raws: list[str], names: list[tuple[str, ...]], chooser: str, text: str = TEXT) -> dict[str, str]:
    return asyncio.run(match(raws, NameList(names), text, LLMClient(name(chooser))))


@pytest.mark.parametrize(
    ("raw", "chooser", "expected"),
    [
        ("  OSLO ", "fails", "Oslo"),
        ("R. Miroshnichenko", "fails", "Roman Miroshnichenko"),
        ("Roman Miroshnishenko", "takes_the_first", "Roman Miroshnichenko"),
        ("Roman Miroshnishenko", "takes_the_first_in_capitals", "Roman Miroshnichenko"),
        ("Marie Curie University", "takes_none", "Marie Curie University"),
        ("Marie Curie University", "takes_what_is_not_listed", "Marie Curie University"),
        ("1868", "fails", "1868"),
    ],
)
def test_only_a_name_that_is_not_spelt_as_in_the_list_needs_the_llm(raw: str, chooser: str, expected: str) -> None:
    assert matched([raw], PEOPLE, chooser) == {raw: expected}


def test_the_llm_sees_the_text_and_five_candidates_and_decides_by_them() -> None:
    names = [("Paris, France", "Paris"), ("Paris, Texas", "Paris"), *((f"Paris {n}",) for n in range(9)), ("Oslo",)]
    text = "The rodeo of Paris drew crowds from all of Texas."
    assert matched(["Paris"], names, "knows_texas", text) == {"Paris": "Paris, Texas"}
    (candidates,) = NameList(names).candidates(["Paris"])
    assert (len(candidates), candidates[:2]) == (5, ["Paris, France", "Paris, Texas"])


@embedded
@pytest.mark.parametrize(
    ("raw", "expected"),
    [("United States of America", "USA"), ("car maker", "automobile company"), ("the Nobel award", "Nobel Prize")],
)
def test_an_embedding_finds_what_is_spelt_otherwise(raw: str, expected: str) -> None:
    names = ["USA", "United Airlines", "Nobel Prize", "automobile company", "carpet weaver", "noble title", "Ural"]
    (near,) = NameList([(one,) for one in names], default_model()).candidates([raw])
    assert near[0] == expected


def test_a_list_is_read_with_other_spellings_after_tabs(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("Oslo\tChristiania\n\nBergen\n", encoding="utf-8")
    assert read_names(tmp_path / "names.txt").exact("christiania") == "Oslo"
    (tmp_path / "names.txt").write_text("\n \n", encoding="utf-8")
    with pytest.raises(UserError, match="holds no name"):
        read_names(tmp_path / "names.txt")
