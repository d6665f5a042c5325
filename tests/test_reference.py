"""docs/reference/ is what the code says: `python -m scripts.reference` writes it."""

from __future__ import annotations

import pytest

from scripts import reference


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_reference_page_is_what_the_code_says(name: str) -> None:
    page = (reference.FOLDER / name).read_text(encoding="utf-8")
    assert page == reference.PAGES[name](), "python -m scripts.reference writes the pages"


@pytest.mark.parametrize("name", ["grid.md", "records.md"])
def test_every_key_has_a_meaning(name: str) -> None:
    rows = [line for line in reference.PAGES[name]().splitlines() if line.startswith("| `")]
    assert [row for row in rows if row.endswith("|  |")] == []
