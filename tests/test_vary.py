"""The form of a sweep: which variants `vary:` makes, their names, and what is refused."""

from __future__ import annotations

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
SIZE, TOP_K = "environment.chunk_size", "workflow.top_k"


def variants(vary: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return Vary.model_validate(vary).variants("rag")


def test_one_setting_at_a_time_differs_from_the_first_values() -> None:
    assert variants({SIZE: [128, 64], TOP_K: [8, 4, 2]}) == {
        "rag": {SIZE: 128, TOP_K: 8},
        "rag@chunk_size=64": {SIZE: 64, TOP_K: 8},
        "rag@top_k=4": {SIZE: 128, TOP_K: 4},
        "rag@top_k=2": {SIZE: 128, TOP_K: 2},
    }


def test_a_mapping_changes_several_settings_and_is_named_after_its_own_key() -> None:
    assert variants({SIZE: [128, {SIZE: 512, TOP_K: 2}], TOP_K: [8]}) == {
        "rag": {SIZE: 128, TOP_K: 8},
        "rag@chunk_size=512": {SIZE: 512, TOP_K: 2},
    }


SCALARS = st.one_of(st.text(min_size=1, max_size=12), st.integers(-9, 9), st.booleans(), st.floats(allow_nan=False))


@given(
    st.dictionaries(
        st.sampled_from([SIZE, "environment.retriever", TOP_K]),
        st.lists(SCALARS, min_size=1, max_size=4, unique_by=lambda v: file_name(str(v).lower())),
        min_size=1,
    ),
    st.sampled_from(["one", "cross"]),
)
def test_the_protocol_decides_how_many_variants_there_are(values: dict[str, list[Any]], protocol: str) -> None:
    found = variants({**values, "protocol": protocol})
    sizes = [len(own) for own in values.values()]
    assert len(found) == (math.prod(sizes) if protocol == "cross" else 1 + sum(size - 1 for size in sizes))
    assert all(list(settings) == list(values) for settings in found.values())
    assert found["rag"] == {key: own[0] for key, own in values.items()}


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, r":5: vary: name at least one setting"),
    "no list": ({TOP_K: 5}, r":6: vary\.workflow\.top_k: give a list of values"),
    "a list in the list": ({TOP_K: [[1]]}, r":6: vary\.workflow\.top_k: invalid value \[1\]"),
    "no owner": ({"chunk_size": [1]}, r":6: vary\.chunk_size: unknown setting 'chunk_size'\. Did you mean \S+chunk_s"),
    "a misspelt owner": ({"enviroment.overlap": [1]}, r"unknown .*\. Did you mean environment\.overlap\?"),
    "an LLM": ({"llm.temperature": [0]}, r":6: vary\.llm\.temperature: .* being listed in llms: several times"),
    "an unknown protocol": ({"protocol": "all", TOP_K: [1]}, r":6: vary\.protocol: .*'one' or 'cross'"),
    "a value twice": ({TOP_K: [1, 2, 1]}, r":6: vary\.workflow\.top_k: duplicate value 1,"),
    "two values alike in a path": ({"environment.embedding": ["a/b", "a__b"]}, r"embedding: duplicate value a__b"),
    "two settings of one name": ({"environment.top_k": [1], TOP_K: [2]}, r"cannot vary in one grid"),
    "a first value that sets what varies": (
        {SIZE: [128], TOP_K: [{TOP_K: 8, SIZE: 64}]},
        r":8: vary\.workflow\.top_k: it sets environment\.chunk_size, which varies by itself",
    ),
    "a cross that sets one twice": (
        {SIZE: [128, 64], TOP_K: [8, {TOP_K: 2, SIZE: 512}], "protocol": "cross"},
        r"vary\.workflow\.top_k: it sets environment\.chunk_size, which varies by itself",
    ),
}


@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_a_mistake_is_reported_with_file_line_and_key(tmp_path: Path, mistake: str) -> None:
    vary, message = MISTAKES[mistake]
    path = tmp_path / "grid.yaml"
    head = "llms: [openai/m]\nworkflows:\n- rag\ntasks: [aminer/soay-easy]\n"
    path.write_text(head + yaml.safe_dump({"vary": vary}, sort_keys=False), encoding="utf-8")
    with pytest.raises(UserError, match=rf"grid\.yaml(:\d+: .*)?{message}"):
        Grid.load(path)
