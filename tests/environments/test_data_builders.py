"""The builders of the embedded data, which are not installed: they import, and make what the environments read."""

from __future__ import annotations

from pathlib import Path

from r_eval.environments.aminer import AMiner
from scripts.data.aminer.generate import generate
from scripts.data.wiki import KINDS


def test_the_builders_import_and_make_what_is_read(tmp_path: Path) -> None:
    generate(5, 1, tmp_path / "world.jsonl")
    assert len(AMiner(str(tmp_path / "world.jsonl")).records("person")) == 5
    assert "country" in KINDS
