"""What the check of a template file finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.checks import check_target as check

HEAD = "environment: ./recipes.py\ntemplates:\n"
GOOD = """  - id: minutes
    level: KS
    from: dish
    question: How long does {{ dish.name }} take?
    program: |
      answer = str(find_dish(name=dish["name"])[0]["dish_id"])
"""


FAULTS: dict[str, tuple[tuple[str, str], str, list[str]]] = {
    "records that are not there": (
        ("from: dish", "from: dishes"),
        "3: error",
        ["the environment has no records of kind 'dishes'; fix the template, or the environment's records()"],
    ),
    "programs that fail are counted with their reason and an example": (
        ("find_dish(name=", "find_dish(title="),
        "3: error",
        ["30 records dropped: program: bad_arguments, such as: line 1", "find_dish has no argument 'title'"],
    ),
    "a where that leaves everything out": (
        ("    question", '    where: dish["minutes"] > 999\n    question'),
        "3: error",
        ["it gives no question"],
    ),
    "ambiguous questions": (
        ("{{ dish.name }}", "a {{ dish.cuisine }} dish"),
        "3: warning",
        ["8 records dropped: ambiguous"],
    ),
    "answers that are in any text": (("answer = str(", "answer = len("), "3: warning", ["has no evidence"]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_at_the_templates_line(recipes: Path, name: str) -> None:
    (old, new), severity, parts = FAULTS[name]
    path = recipes / "templates.yaml"
    path.write_text(HEAD + GOOD.replace(old, new), encoding="utf-8")
    first = next(finding.line() for finding in check(str(path)) if finding.severity != "note")
    assert first.startswith(f"{path}:{severity}: template 'minutes': "), first
    assert [part for part in parts if part not in first] == []
