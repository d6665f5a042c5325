"""The builders of the embedded data, which are not installed, make again what is embedded, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.environments.aminer.environment import PROFILES, SNAPSHOT
from r_eval.environments.wiki.environment import SNAPSHOT as PAGES
from scripts.data.aminer.__main__ import generate
from scripts.data.crud import LANGUAGES, TOKENS, make, reports, tokens_of
from scripts.data.wiki import build


def test_the_scholars_and_their_profiles_are_made_again(tmp_path: Path) -> None:
    generate(tmp_path)
    for path in (SNAPSHOT, PROFILES):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_the_pages_of_the_wiki_are_made_again(tmp_path: Path) -> None:
    build(tmp_path / "pages.jsonl")
    assert (tmp_path / "pages.jsonl").read_bytes() == PAGES.read_bytes()


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_the_reports_and_their_tasks_are_made_again(language: str) -> None:
    for path, text in make(language).items():
        assert path.read_text(encoding="utf-8") == text, path
    assert min(tokens_of(report["text"]) for report in reports(language)) >= TOKENS >= 600
