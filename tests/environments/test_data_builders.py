"""The builders of the embedded data, which are not installed: they import, and make again what is embedded."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.environments.aminer.environment import PROFILES, SNAPSHOT
from scripts.data.aminer.generate import EMBEDDED_SCHOLARS, EMBEDDED_SEED, generate
from scripts.data.crud import LANGUAGES, TOKENS, make, reports, tokens_of
from scripts.data.wiki import KINDS


def test_the_builders_import_and_make_what_is_embedded(tmp_path: Path) -> None:
    generate(EMBEDDED_SCHOLARS, EMBEDDED_SEED, tmp_path)
    for path in (SNAPSHOT, PROFILES):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    assert "country" in KINDS


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_the_reports_and_their_tasks_are_made_again_byte_for_byte(language: str) -> None:
    for path, text in make(language).items():
        assert path.read_text(encoding="utf-8") == text, path
    assert min(tokens_of(report["text"]) for report in reports(language)) >= TOKENS >= 600
