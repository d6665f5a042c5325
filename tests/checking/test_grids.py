"""What the check of a grid finds."""

from __future__ import annotations

from pathlib import Path

from r_eval.checking import Finding, check


def found(recipes: Path, old: str, new: str) -> list[Finding]:
    path = recipes / "grid.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return check(str(path))


def test_a_grid_that_is_right_is_counted(recipes: Path) -> None:
    (finding,) = found(recipes, "", "")
    assert (finding.severity, finding.what) == ("note", "5 cells, 15 episodes")


def test_a_key_that_is_unknown_is_an_error_at_its_line(recipes: Path) -> None:
    (finding,) = found(recipes, "samples:", "sample:")
    assert finding.place.rpartition("grid.yaml:")[2].isdigit()
    assert finding.what.startswith("unknown key 'sample'. Did you mean samples?")


def test_a_name_that_is_unknown_is_an_error(recipes: Path) -> None:
    (finding,) = found(recipes, "- react", "- reacts")
    assert (finding.severity, finding.place) == ("error", str(recipes / "grid.yaml"))
    assert "unknown workflow 'reacts'. Did you mean react?" in finding.what


def test_an_oracle_without_programs_and_shots_without_demonstrations_are_warnings(recipes: Path) -> None:
    questions = recipes / "questions.jsonl"
    questions.write_text('{"id": "1", "question": "?", "answers": ["a"], "level": "KS"}\n', encoding="utf-8")
    findings = found(recipes, "    demonstrations: questions.jsonl", "    #")
    assert [f.severity for f in findings] == ["warning", "warning", "note"]
    assert "has no program" in findings[0].what
    assert "has no demonstrations, though shots is 2" in findings[1].what
