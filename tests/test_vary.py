"""The form of a sweep: which variants `vary:` makes, what they are called, and what is wrong with one."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from r_eval import Grid, UserError
from r_eval.folder import file_name
from r_eval.vary import Vary

PARTS: dict[str, Any] = {"llms": ["openai/m"], "workflows": ["rag"], "tasks": ["aminer/soay-easy"]}


def names(**vary: Any) -> list[str]:
    return [variant.name("rag") for variant in Vary(**vary).variants()]


def settings(**vary: Any) -> list[dict[str, Any]]:
    return [dict(variant.settings) for variant in Vary(**vary).variants()]


# Variants


def test_one_setting_is_moved_at_a_time_from_the_first_values() -> None:
    vary = {"chunk_size": [128, 64], "top_k": [8, 4, 2]}
    assert names(**vary) == ["rag", "rag@chunk_size=64", "rag@top_k=4", "rag@top_k=2"]
    assert settings(**vary)[0] == {"chunk_size": 128, "top_k": 8}
    assert settings(**vary)[1] == {"chunk_size": 64, "top_k": 8}
    assert settings(**vary)[3] == {"chunk_size": 128, "top_k": 2}


def test_a_cross_takes_every_value_with_every_other_and_names_what_is_not_the_bases() -> None:
    found = names(chunk_size=[128, 64], retriever=["bm25", "dense"], protocol="cross")
    assert found == ["rag", "rag@retriever=dense", "rag@chunk_size=64", "rag@chunk_size=64,retriever=dense"]


def test_a_mapping_moves_several_settings_and_is_called_after_its_own_key() -> None:
    vary = {"chunk_size": [128, {"chunk_size": 512, "top_k": 2}], "top_k": [8]}
    assert names(**vary) == ["rag", "rag@chunk_size=512"]
    assert settings(**vary)[1] == {"chunk_size": 512, "top_k": 2}


def test_what_a_mapping_in_the_base_sets_holds_for_the_others() -> None:
    assert settings(top_k=[{"top_k": 8, "chunk_size": 128}, 4]) == [
        {"top_k": 8, "chunk_size": 128},
        {"top_k": 4, "chunk_size": 128},
    ]


def test_a_setting_that_only_one_value_moves_is_set_there_alone() -> None:
    assert settings(top_k=[8, {"top_k": 2, "chunk_size": 512}]) == [{"top_k": 8}, {"top_k": 2, "chunk_size": 512}]


def test_a_value_keeps_its_type() -> None:
    found = settings(a=[True, 1, 1.5, "1.5x"])
    assert [type(entry["a"]) for entry in found] == [bool, int, float, str]
    assert names(a=[True, 1, 1.5, "1.5x"]) == ["rag", "rag@a=1", "rag@a=1.5", "rag@a=1.5x"]


def test_true_is_not_taken_for_one() -> None:
    assert names(rewrite=[1, True]) == ["rag", "rag@rewrite=true"]


SCALARS = st.one_of(st.text(min_size=1, max_size=12), st.integers(-9, 9), st.booleans(), st.floats(allow_nan=False))


@given(
    st.dictionaries(
        st.sampled_from(["chunk_size", "retriever", "top_k"]),
        st.lists(SCALARS, min_size=1, max_size=4, unique_by=lambda v: file_name(str(v).lower())),
        min_size=1,
    ),
    st.sampled_from(["one", "cross"]),
)
def test_variants_are_as_many_as_the_protocol_says_and_each_has_a_name_of_its_own(
    values: dict[str, list[Any]], protocol: str
) -> None:
    found = list(Vary(**values, protocol=protocol).variants())
    sizes = [len(own) for own in values.values()]
    assert len(found) == (math.prod(sizes) if protocol == "cross" else 1 + sum(size - 1 for size in sizes))
    assert len({variant.name("rag") for variant in found}) == len(found)
    assert all(list(variant.settings) == list(values) for variant in found)
    assert found[0].settings == {key: own[0] for key, own in values.items()}


# In a grid


@pytest.mark.parametrize("protocol", ["one", "cross"])
def test_what_the_run_folder_keeps_of_a_grid_makes_the_same_grid_again(protocol: str) -> None:
    vary = {"chunk_size": [128, 64, True, "10%"], "top_k": [8, {"top_k": 2, "overlap": 3}], "protocol": protocol}
    workflows = [{"workflow": "rag", "environment": {"chunk_size": 3}}, "react"]
    grid = Grid(**{**PARTS, "workflows": workflows}, vary={**vary, "workflow": "rag"})
    kept = json.loads(json.dumps(grid.model_dump(mode="json", exclude_none=True)))
    assert Grid(**kept) == grid


def test_a_grid_that_varies_nothing_is_kept_without_a_word_of_it() -> None:
    kept = Grid(**PARTS).model_dump(mode="json", exclude_none=True)
    assert "vary" not in kept
    assert kept["workflows"] == [{"workflow": "rag"}]


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, r":5: vary: name at least one setting"),
    "no list": ({"top_k": 5}, r":6: vary\.top_k: give a list of values"),
    "an empty list": ({"overlap": [0], "top_k": []}, r":8: vary\.top_k: give a list of values"),
    "no value": ({"top_k": [None]}, r":6: vary\.top_k: None is neither a text"),
    "an empty text": ({"top_k": [""]}, r":6: vary\.top_k: an empty text"),
    "a list in the list": ({"top_k": [[1]]}, r":6: vary\.top_k: \[1\] is neither a text"),
    "names that are no texts": ({"top_k": [{"top_k": 1, 2: 3}]}, r":6: vary\.top_k: .* their names are texts"),
    "an unknown protocol": ({"protocol": "all", "top_k": [1]}, r":6: vary\.protocol: .*'one' or 'cross'"),
    "a value twice": ({"top_k": [1, 2, 1]}, r":6: vary\.top_k: the value 1 stands twice"),
    "a value twice in a mapping": ({"top_k": [2, {"top_k": 2, "a": 1}]}, r"vary\.top_k: the value 2 stands twice"),
    "two values alike in a path": ({"embedding": ["a/b", "a__b"]}, r"vary\.embedding: the value a__b stands twice, or"),
    "a mapping without its key": ({"top_k": [8, {"size": 2}]}, r":6: vary\.top_k: .* must set top_k itself"),
    "first values that differ": (
        {"size": [128], "top_k": [{"top_k": 8, "size": 64}]},
        r":8: vary\.top_k: its first value sets size to 64, that of size to 128",
    ),
    "a cross from two sides": (
        {"size": [128, 64], "top_k": [8, {"top_k": 2, "size": 512}], "protocol": "cross"},
        r"vary\.top_k: it sets size too, as size does; under protocol: cross only one",
    ),
}


@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_a_mistake_is_told_with_its_file_line_and_key(tmp_path: Path, mistake: str) -> None:
    vary, said = MISTAKES[mistake]
    path = tmp_path / "grid.yaml"
    head = "llms: [openai/m]\nworkflows:\n- rag\ntasks: [aminer/soay-easy]\n"
    path.write_text(head + yaml.safe_dump({"vary": vary}, sort_keys=False), encoding="utf-8")
    with pytest.raises(UserError, match=rf"grid\.yaml{said}|grid\.yaml:\d+: {said}"):
        Grid.load(path)
