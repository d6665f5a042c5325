"""No file makes a loader raise anything but an error for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r_eval.errors import UserError
from r_eval.tasks.loaders import formats, load
from tests.tasks.loaders.test_formats import RECORDS

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)

KEYS = sorted({key for record in RECORDS.values() for key in record} | {"name", "text", "instance", "request_states"})
LOOSE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=30)


def tried(path: Path, name: str | None) -> None:
    needed = {"aliases": str(path)} if name == "wikidata5m" else {}
    try:
        data = load(path, name, settings=needed, broken=1)
    except UserError as error:
        told = str(error)
    else:
        told = str(path)
        assert len(data.questions) <= data.n_questions <= data.records
        assert all(q.question.strip() and all(a.strip() for a in q.answers) for q in data.questions)
    assert str(path) in told


@pytest.mark.parametrize("name", sorted(set(formats()) - {"huggingface"}))
@given(st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8) | VALUES, max_size=4), st.booleans())
@LOOSE
def test_arbitrary_json_is_counted_or_refused(tmp_path: Path, name: str, records: list[Any], lines: bool) -> None:
    path = tmp_path / "x.json"
    path.write_text("\n".join(map(json.dumps, records)) if lines else json.dumps(records), encoding="utf-8")
    tried(path, name)


@given(st.binary(max_size=80) | st.text('Q1P\t\n[]{}",:ab', max_size=60).map(str.encode))
@LOOSE
def test_arbitrary_bytes_are_counted_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    for name in [*sorted(set(formats()) - {"huggingface"}), None]:
        tried(path, name)
