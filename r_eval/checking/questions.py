"""Checks a question file: its form, questions that stand twice, golds that nothing can match or nothing can judge."""

from __future__ import annotations

import ast
import collections
from collections.abc import Sequence
from pathlib import Path

from r_eval.analysis.responses import classify
from r_eval.checking.finding import Finding, Severity, counted
from r_eval.records import Episode, Outcome, Question, Step
from r_eval.tasks.questions import read_questions

NAMED = 3


def check_questions(path: Path) -> list[Finding]:
    """What is found in a question file.

    Raises:
        UserError: It cannot be read; names the line.
    """
    questions = read_questions(path)
    lines = [n for n, text in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1) if text.strip()]
    line_of = {q.id: n for q, n in zip(questions, lines, strict=True)}
    groups: list[tuple[Severity, str, str, list[Question]]] = [
        (
            "error",
            "an empty gold answer",
            "give the answer, or leave the question out",
            [q for q in questions if not all(answer.strip() for answer in q.answers)],
        ),
        (
            "error",
            "the text of an earlier question, with other answers",
            "say in the question what makes its answer the only one",
            _repeated(questions, same=False),
        ),
        ("warning", "the text and answers of an earlier question", "leave it out", _repeated(questions, same=True)),
        (
            "error",
            "a program that is not Python",
            "mend it: the oracle and demonstrations run it",
            [q for q in questions if q.program and not _parses(q.program)],
        ),
        (
            "warning",
            "no program",
            "give one where you can: without it the oracle gives up and it cannot be a demonstration",
            [q for q in questions if not q.program],
        ),
        (
            "warning",
            "a gold that is in any text by chance (yes/no, a count, nothing) and name no evidence",
            "name in evidence what an observation must hold, or its response type stays undecided",
            [q for q in questions if not judged_by_containment(q)],
        ),
    ]
    target = str(path)
    findings = [
        Finding(target, f"{path}:{line_of[found[0].id]}", severity, f"{_some(found)} with {what}", todo)
        for severity, what, todo, found in groups
        if found
    ]
    levels = collections.Counter(q.level for q in questions)
    shares = ", ".join(f"{number} {level}" for level, number in sorted(levels.items()))
    return [*findings, Finding(target, target, "note", f"{counted(len(questions), 'question')}: {shares}")]


def judged_by_containment(question: Question) -> bool:
    """Whether the evidence of an episode can show that it was supported.

    Asked of the rule itself: an observation that holds the golds must not leave the response type undecided.
    """
    seen = Step.model_construct(kind="call", observation="\n".join(question.answers))
    episode = Episode.model_construct(
        evidence=question.evidence, golds=question.answers, steps=[seen], outcome=Outcome(kind="finished")
    )
    return not classify(episode, 0.0).undecided


def _some(questions: Sequence[Question]) -> str:
    ids = ", ".join(q.id for q in questions[:NAMED])
    return f"{counted(len(questions), 'question')} ({ids}{', ...' if len(questions) > NAMED else ''})"


def _repeated(questions: Sequence[Question], same: bool) -> list[Question]:
    """Questions whose text an earlier one has, with the same answers or with others."""
    first: dict[str, Question] = {}
    found = []
    for question in questions:
        earlier = first.setdefault(" ".join(question.question.split()).casefold(), question)
        if earlier is not question and (set(earlier.answers) == set(question.answers)) is same:
            found.append(question)
    return found


def _parses(program: str) -> bool:
    try:
        ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
