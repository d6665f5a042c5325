"""`r-eval list`: everything that a grid can name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import typed_here


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("workflows", {"react", "pal", "dfsdt", "fc", "rag", "direct", "oracle"}),
        ("llms", {"gguf/...", "openai/...", "responses/...", "scripted/...", "gguf/smollm2-135m"}),
        ("environments", {"aminer", "corpus", "wiki"}),
        ("tasks", {"wiki/high-freq", "wiki/hotpotqa", "aminer/soay-easy", "aminer/soay-hard"}),
        ("conditions", {"clean", "counterfactual", "noisy", "faulty", "slow"}),
        ("metrics", {"token_f1", "token_f1_published", "exact_match"}),
    ],
)
def test_lines_and_json_have_every_name(tmp_path: Path, kind: str, expected: set[str]) -> None:
    plain, data = typed_here(["list", kind], tmp_path), typed_here(["list", kind, "--json"], tmp_path)
    assert (plain.returncode, plain.stderr, data.returncode, data.stderr) == (0, "", 0, "")
    rows = json.loads(data.stdout)
    assert expected <= {row["name"] for row in rows}
    assert all(value != "" for row in rows for value in row.values())
    for row, line in zip(rows, plain.stdout.splitlines(), strict=True):
        assert row["name"] in line.split()
