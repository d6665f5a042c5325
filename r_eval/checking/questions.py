"""Checks a question file: its form, questions that stand twice, golds that nothing can match or nothing can judge, and,
where its environment is known, what its programs give.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from pathlib import Path

from r_eval.checking.finding import Finding, counted
from r_eval.checking.golds import judged_by_containment, leaked, nearly_repeated
from r_eval.checking.grouped import Group, QuestionFile
from r_eval.checking.programs import check_programs, parses
from r_eval.checking.seasons import check_season, environment_for, template_ids
from r_eval.environments.sandbox import Sandbox
from r_eval.records import Question
from r_eval.tasks.base import open_environment
from r_eval.tasks.questions import folded, read_questions

__all__ = ["check_questions", "form", "judged_by_containment", "read", "summary"]


def check_questions(path: Path, environment: str | None = None) -> list[Finding]:
    """What is found in a question file.

    Args:
        environment: Over which its programs run; None takes that of its season, if it has one.

    Raises:
        UserError: It cannot be read, or the environment cannot be opened; names the line.
    """
    file = read(str(path), path)
    groups = form(file.questions, template_ids(path))
    over = (environment, {}) if environment else environment_for(path)
    programs = [q for q in file.questions if parses(q.program)]
    notes = [file.note(summary(file.questions))]
    if over is not None:
        with Sandbox() as sandbox:
            groups += check_programs(file.questions, open_environment(*over), sandbox)
    elif programs:
        todo = "its environment is not known or not beside it: --environment NAME"
        notes.append(file.note(f"its programs were not run, since {todo}"))
    return [*file.findings(groups), *check_season(file), *notes]


def read(target: str, path: Path) -> QuestionFile:
    """A question file with the line of each question.

    Raises:
        UserError: It cannot be read; names the line.
    """
    questions = read_questions(path)
    lines = [n for n, text in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1) if text.strip()]
    return QuestionFile(target, path, questions, {q.id: n for q, n in zip(questions, lines, strict=True)})


def summary(questions: Sequence[Question]) -> str:
    """How many questions there are of which level."""
    levels = collections.Counter(q.level for q in questions)
    shares = ", ".join(f"{number} {level}" for level, number in sorted(levels.items()))
    return f"{counted(len(questions), 'question')}: {shares}"


def form(questions: Sequence[Question], templates: frozenset[str] | None = None, programs: bool = True) -> list[Group]:
    """What can be told without running a program.

    Args:
        programs: Whether a question should have a program, as it can where the answer is no text to be written.
        templates: The ids of the template file that they were made from; None where it is not known.
    """
    return [
        Group(
            "error",
            "an empty gold answer",
            "give the answer, or leave the question out",
            [q for q in questions if not all(answer.strip() for answer in q.answers)],
        ),
        Group(
            "error",
            "the text of an earlier question, with other answers",
            "say in the question what makes its answer the only one",
            _repeated(questions, same=False),
        ),
        Group(
            "warning", "the text and answers of an earlier question", "leave it out", _repeated(questions, same=True)
        ),
        Group(
            "warning",
            "the words and answers of an earlier question, in another order or form",
            "leave it out: it asks the same",
            nearly_repeated(questions),
        ),
        Group(
            "error",
            "a program that is not Python",
            "mend it: the oracle and demonstrations run it",
            [q for q in questions if q.program and not parses(q.program)],
        ),
        Group(
            "warning",
            "no program",
            "give one where you can: without it the oracle gives up and it cannot be a demonstration",
            [q for q in questions if programs and not q.program],
        ),
        Group(
            "warning",
            "a gold that containment cannot judge (yes/no, a count, nothing, a long text) and name no evidence",
            "name in evidence what an observation must hold, or its response type stays undecided",
            [q for q in questions if not judged_by_containment(q)],
        ),
        Group(
            "warning",
            "an answer that stands in the question",
            "ask without naming it, or offer a choice (A or B) that it is one of",
            [q for q in questions if leaked(q)],
        ),
        Group(
            "warning",
            "a template that the template file does not have",
            "generate them again, or mend meta.template",
            [q for q in questions if templates is not None and q.meta.get("template", "") not in {"", *templates}],
        ),
    ]


def _repeated(questions: Sequence[Question], same: bool) -> list[Question]:
    """Questions whose text an earlier one has, over the same documents, with the same answers or with others."""
    first: dict[tuple[str, ...], Question] = {}
    found = []
    for question in questions:
        documents = (document.text for document in question.context)
        earlier = first.setdefault((folded(question.question), *documents), question)
        if earlier is not question and (set(earlier.answers) == set(question.answers)) is same:
            found.append(question)
    return found
