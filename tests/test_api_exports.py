"""A run as a notebook shows it."""

from __future__ import annotations

import pytest

from r_eval import Grid, Run, run

LLM = '''"""An LLM that answers with markup."""


def markup(request):
    return "<script>alert(1)</script>"
'''


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    (folder / "llm.py").write_text(LLM, encoding="utf-8")
    llm = {"llm": f"scripted/{folder / 'llm.py'}:markup", "name": "<b>markup</b>"}
    grid = Grid(workflows=["direct", "oracle"], llms=[llm], tasks=["wiki/high-freq"], samples=3)
    return run(grid, out=folder / "run")


def test_a_notebook_shows_the_tables_of_scores_and_response_types(done: Run) -> None:
    assert "100.0" in done._repr_html_()


def test_a_name_is_no_markup_in_a_notebook(done: Run) -> None:
    assert "<b>markup" not in done._repr_html_()
    assert "&lt;b&gt;" in done._repr_html_()
