"""What the check of a template file finds."""

from __future__ import annotations

from pathlib import Path

from r_eval.checks import Finding
from r_eval.checks import check_target as check

HEAD = "environment: ./recipes.py\ntemplates:\n"
GOOD = """  - id: minutes
    level: KS
    from: dish
    question: How long does {{ dish.name }} take?
    program: |
      answer = str(find_dish(name=dish["name"])[0]["dish_id"])
"""


def found(recipes: Path, text: str, *severities: str) -> list[Finding]:
    path = recipes / "templates.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    return [f for f in check(str(path)) if f.severity in (severities or ("error", "warning"))]


def test_records_that_are_not_there_are_an_error_at_the_templates_line(recipes: Path) -> None:
    (finding,) = found(recipes, GOOD + GOOD.replace("minutes", "second").replace("from: dish", "from: dishes"))
    assert finding.what == "template 'second': the environment has no records of kind 'dishes'"
    assert finding.place == f"{recipes / 'templates.yaml'}:9"
    assert "records()" in finding.todo


def test_programs_that_fail_are_counted_with_their_reason_and_an_example(recipes: Path) -> None:
    findings = found(recipes, GOOD.replace("find_dish(name=", "find_dish(title="))
    assert findings[0].severity == "error"
    assert "'minutes': 30 records dropped: program: bad_arguments, such as: line 1" in findings[0].what
    assert "find_dish has no argument 'title'" in findings[0].what
    assert findings[1].what == "template 'minutes': it gives no question"


def test_a_where_that_leaves_everything_out_is_an_error(recipes: Path) -> None:
    text = GOOD.replace("    question", '    where: dish["minutes"] > 999\n    question')
    assert [f.what for f in found(recipes, text)] == ["template 'minutes': it gives no question"]
    assert "30 records dropped: where" in found(recipes, text, "note")[0].what


def test_ambiguous_questions_are_found(recipes: Path) -> None:
    findings = found(recipes, GOOD.replace("{{ dish.name }}", "a {{ dish.cuisine }} dish"))
    assert findings[0].what == "template 'minutes': 8 records dropped: ambiguous"


def test_answers_that_are_in_any_text_need_evidence(recipes: Path) -> None:
    (finding,) = found(recipes, GOOD.replace("answer = str(", "answer = len("))
    assert finding.severity == "warning"
    assert "has no evidence" in finding.what
