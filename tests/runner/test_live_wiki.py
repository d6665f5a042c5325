"""A grid over a live wiki can be run again without the network."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, run
from tests import mediawiki

SCRIPT = """
    ACTIONS = ["Search[Kenya]", "Lookup[Nairobi]", "Search[Kenia]", "Finish[Nairobi]"]

    def answer(request):
        asked = max(i for i, m in enumerate(request.messages) if m.content.startswith("Question"))
        return "Action 1: " + ACTIONS[sum(m.role == "assistant" for m in request.messages[asked:])]
"""
PAGES = {"Kenya": "Kenya is a country in Africa.\n\n== History ==\n\nNairobi was founded in 1899."}


def records(folder: Path, out: Path, api_url: str) -> list[str]:
    """The records of a run, without the times."""
    wiki: dict[str, Any] = {"environment": "wiki", "source": "live", "api_url": api_url}
    wiki["cache"] = str(folder / "wiki.sqlite")
    grid = Grid(
        llms=[{"llm": f"scripted/{folder / 'llm.py'}:answer"}],
        workflows=["react"],
        tasks=[{"task": "wiki/high-freq", "environment": wiki}],
        samples=3,
    )
    path = run(grid, out).path
    lines = "".join(p.read_text(encoding="utf-8") for p in sorted((path / "episodes").rglob("*.jsonl")))
    return re.sub(r'"(seconds|total|llm|environment|queue|retry)":[\d.e-]+|"checksum":"\w+"', "", lines).splitlines()


def test_two_runs_have_the_same_records_though_the_network_is_cut_in_the_second(tmp_path: Path) -> None:
    if why := mediawiki.missing():
        pytest.skip(why)
    (tmp_path / "llm.py").write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    (tmp_path / "wiki").mkdir()
    with mediawiki.MediaWiki(tmp_path / "wiki", PAGES).running() as served:
        first = records(tmp_path, tmp_path / "first", served.api_url)
    second = records(tmp_path, tmp_path / "second", served.api_url)
    assert first == second
    assert len(first) == 3
    assert "(Result 1 / 1) Nairobi was founded in 1899." in first[0]
    assert "Similar: [Kenya]" in first[0]
