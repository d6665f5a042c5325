"""Checks installed tasks: the questions and demonstrations of each, together, over its environment."""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis import metrics
from r_eval.checking.finding import Finding, of_user_error
from r_eval.checking.golds import nearly_repeated
from r_eval.checking.grouped import Group
from r_eval.checking.programs import check_programs
from r_eval.checking.questions import form, read, summary
from r_eval.checking.seasons import template_ids
from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.tasks.base import Task, installed, matching, open_environment, task_files
from r_eval.tasks.questions import folded


def check_tasks(pattern: str) -> list[Finding]:
    """What is found in the installed tasks that a name or glob selects.

    Raises:
        UserError: The glob selects none.
    """
    findings: list[Finding] = []
    opened: dict[str, Environment] = {}
    with Sandbox() as sandbox:
        for name in matching(pattern):
            try:
                findings += _check(pattern, installed(name), opened, sandbox)
            except UserError as error:
                findings.append(of_user_error(pattern, error, name))
    return findings


def _check(target: str, task: Task, opened: dict[str, Environment], sandbox: Sandbox) -> list[Finding]:
    path = task_files()[task.name]
    metrics.get(task.metric)
    files = [
        (read(target, found), home)
        for kind, home in (("questions", None), ("demonstrations", task.home))
        if (found := path.with_name(f"{path.stem}.{kind}.jsonl")).exists()
    ]
    findings: list[Finding] = []
    for file, home in files:
        environment = _opened(task, home, opened)
        written = task.long and not any(q.program for q in file.questions)
        groups = form(file.questions, template_ids(file.path), programs=not written)
        groups += check_programs(file.questions, environment, sandbox, task.metric)
        findings += file.findings(groups)
    if len(files) == 2:
        asked, shown = files[0][0], files[1][0]
        findings += shown.findings(_asked_and_shown(asked.questions, shown.questions))
    counts = [summary(file.questions) for file, _ in files]
    said = counts[0] if len(counts) == 1 else f"{counts[0]}; to show, {counts[1]}"
    return [*findings, Finding(target, task.name, "note", said)]


def _opened(task: Task, home: str | None, opened: dict[str, Environment]) -> Environment:
    name, settings = (home, {}) if home else (task.environment, dict(task.settings))
    key = f"{name} {sorted(settings.items())}"
    if key not in opened:
        opened[key] = open_environment(name, settings)
    return opened[key]


def _asked_and_shown(asked: Sequence[Question], shown: Sequence[Question]) -> list[Group]:
    ids, texts = {q.id for q in asked}, {folded(q.question) for q in asked}
    again = [q for q in shown if q.id in ids or folded(q.question) in texts]
    nearly = nearly_repeated(shown, asked)
    return [
        Group("error", "a place among the demonstrations, though they are asked", "leave them out of one file", again),
        Group("warning", "the words and answers of a question that is asked", "leave them out of one file", nearly),
    ]
