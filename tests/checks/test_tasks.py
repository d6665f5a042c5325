"""Installed tasks as targets of a check."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.checks import check_target as check
from r_eval.checks import questions, targets
from r_eval.tasks import base

Installed = Callable[..., None]
ASKED = {
    "id": "capital-of-kenya",
    "question": "What is the capital of Kenya?",
    "answers": ["Nairobi"],
    "level": "KS",
    "program": "import re\nanswer = re.search('capital is ([^.;]+)[.;]', Search(entity='Kenya')).group(1)",
}


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Installs a task `geo/capitals` with the given questions and demonstrations."""

    def write(asked: list[dict[str, Any]], shown: list[dict[str, Any]]) -> None:
        folder = tmp_path / "geo"
        folder.mkdir()
        path = folder / "capitals.yaml"
        path.write_text("environment: wiki\nmetric: token_f1\n", encoding="utf-8")
        for kind, some in (("questions", asked), ("demonstrations", shown)):
            lines = "\n".join(json.dumps({**ASKED, **q}) for q in some)
            path.with_name(f"capitals.{kind}.jsonl").write_text(lines, encoding="utf-8")
        for module in (base, targets, questions):
            monkeypatch.setattr(module, "task_files", lambda: {"geo/capitals": path})
        base.installed.cache_clear()

    return write


def amiss(target: str = "geo/capitals") -> list[tuple[str, str]]:
    return [(f.severity, f.what) for f in check(target) if f.severity != "note"]


def test_a_task_is_checked_over_its_environment_with_its_demonstrations(install: Installed) -> None:
    wrong = {"id": "x", "question": "And of Chad?", "answers": ["Paris"]}
    install([{}], [wrong])
    ((severity, what),) = amiss()
    assert severity == "error"
    assert what == "1 question (x) with a program that gives another answer (Nairobi in place of Paris)"


@pytest.mark.parametrize("again", [{}, {"id": "other", "question": "what is the  capital of KENYA?"}])
def test_a_demonstration_that_is_also_asked_is_an_error(install: Installed, again: dict[str, str]) -> None:
    install([{}], [again])
    ((severity, what),) = amiss()
    assert (severity, "a place among the demonstrations, though" in what) == ("error", True)


def test_a_glob_selects_tasks_and_one_that_selects_none_is_an_error(install: Installed) -> None:
    install([{}], [{"id": "b", "question": "Which capital has Kenya today?"}])
    assert [f.place for f in check("geo/*")][-1] == "geo/capitals"
    ((severity, what),) = amiss("goe/*")
    assert (severity, "goe/*" in what) == ("error", True)


def test_a_task_that_cannot_be_read_leaves_the_others_to_be_checked(install: Installed, tmp_path: Path) -> None:
    install([{}], [{"id": "b", "question": "Which capital has Kenya today?"}])
    (tmp_path / "geo" / "capitals.questions.jsonl").write_text("{", encoding="utf-8")
    (finding,) = check("geo/*")
    assert (finding.severity, finding.place.endswith("capitals.questions.jsonl:1")) == ("error", True)


def test_the_embedded_tasks_are_clean() -> None:
    findings = [f for pattern in ("wiki/*", "aminer/*", "crud/*", "prgb/*") for f in check(pattern)]
    assert [f.line() for f in findings if f.severity != "note"] == []
    assert {f.place for f in findings} >= base.task_files().keys()
