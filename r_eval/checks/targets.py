"""Tells from a target's name and content what kind it is, and has it checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from r_eval.analysis.warnings import counted
from r_eval.checks import environments, questions, templates
from r_eval.checks.finding import Finding, of_user_error
from r_eval.environments.opening import SCHEMES, located
from r_eval.errors import UserError
from r_eval.files import is_file, is_folder, yaml_keys

DATA = (".json", ".csv", ".tsv")
SAMPLE = 500
"""Questions of a dataset in which shortcuts are looked for."""


def check_target(
    *targets: str, environment: str | None = None, call: bool = False, settings: Mapping[str, Any] | None = None
) -> list[Finding]:
    """Everything that is found in targets, each finding once; nothing is raised for what is wrong with one.

    Args:
        targets: Question files (.jsonl), template files or grids (.yaml, .yml), published datasets (a file or
            folder), and environments: a name, `file.py`, `module:Class`, `file.py:Class`, or one of the schemes that a
            grid takes.
        environment: Over which the programs of a question file run; None takes what its season says.
        call: Whether what is not ours to change, such as another's server, is called even where it does not declare
            that it only reads.
        settings: Of the environment that is the target, or of `environment`.
    """
    findings: dict[tuple[str, ...], Finding] = {}
    for target in targets:
        try:
            found = _check(target, environment, call, settings or {})
        except UserError as error:
            found = [of_user_error(target, error)]
        for finding in found:
            findings.setdefault((finding.place, finding.severity, finding.what), finding)
    return list(findings.values())


def _check(target: str, environment: str | None, call: bool, settings: Mapping[str, Any]) -> list[Finding]:
    path = Path(target)
    there, suffix = is_file(path) or is_folder(path), path.suffix.lower()
    if target.partition(":")[0] in SCHEMES:
        return environments.check_environment(target, settings, call)
    if settings and not environment and there and suffix != ".py":
        raise UserError("--set is for environments: name one as a target, or with --environment")
    if there and _is_data(path):
        return check_data(path)
    if suffix == ".jsonl":
        return questions.check_questions(path, (environment, settings) if environment else None, call)
    if suffix in (".yaml", ".yml"):
        if {"graph", "placeholders"} & set(yaml_keys(path)):
            raise UserError(f"{target}: r-eval generate checks graph and world files")
        return templates.check_templates(path, call) if "templates" in yaml_keys(path) else check_grid(path, call)
    if there and suffix != ".py":
        return check_data(path)
    return environments.check_environment(target, settings, call)


def _is_data(path: Path) -> bool:
    """Whether a path is a published dataset rather than a question file of our own, which is checked more closely."""
    from r_eval.tasks.loaders import format_of

    suffix = path.suffix.lower()
    if suffix in DATA or is_folder(path):
        return True
    try:
        return suffix == ".jsonl" and format_of(path) not in (None, "jsonl")
    except UserError:  # which the check itself says
        return True


def check_data(path: Path) -> list[Finding]:
    """What is found in a dataset, read as a stream; a sample of it shows shortcuts.

    Raises:
        UserError: It cannot be read, or is of no format that is known.
    """
    from r_eval.tasks.loaders import format_of, load

    name = format_of(path)
    if name is None and is_folder(path):
        raise UserError(f"{path} is a folder: name its environment, template file, question file or grid")
    target, data = str(path), load(path, name, samples=SAMPLE, broken=1)
    todo = "fix it or leave it out"
    findings = [Finding(target, one.place, "warning", f"a broken record: {one.reason}", todo) for one in data.faults]
    if data.n_broken > len(findings):
        text = counted(data.n_broken, "broken record")
        findings.append(Finding(target, target, "warning", text, "see the grid's broken:"))
    levels = ", ".join(f"{number:,} {level}" for level, number in data.levels.items())
    text = f"{counted(data.records, 'record')} of the format '{data.format}': {counted(data.n_questions, 'question')}"
    findings += questions.shortcut_findings(target, target, data.questions)
    return [*findings, Finding(target, target, "note", "; ".join([f"{text} ({levels})", *data.counts()]))]


def check_grid(path: Path, call: bool = False) -> list[Finding]:
    """What is found in a grid and in everything that it names: environments, question files and the template files that
    these were made from. What comes with R-Eval is not checked again.

    Raises:
        UserError: It is no grid, or something in it is unknown or wrong.
    """
    from r_eval.grid import Grid
    from r_eval.runner.plan import resolve
    from r_eval.runner.terms import terms

    target, grid = str(path), Grid.load(path)
    plan = resolve(grid)
    findings = []
    for planned in plan.tasks:
        name, uses_gold = planned.task.name, any(c.workflow.uses_gold for c in plan.cells if c.planned is planned)
        without = next((q for q in planned.questions if not q.program), None) if uses_gold else None
        if without is not None:
            text = f"the question '{without.id}' of task '{name}' has no program, so the oracle gives up on it"
            findings.append(Finding(target, target, "warning", text, "give it its program, or leave oracle out"))
        if len(planned.demonstrations) < plan.grid.shots:
            text = f"task '{name}' has no demonstrations, though shots is {plan.grid.shots}"
            findings.append(Finding(target, target, "warning", text, "name a file: demonstrations: FILE.jsonl"))
    parts = [f for f in _named_by(grid, plan, call) if f.severity != "note" or f.todo]  # what was left out, too
    findings += [dataclasses.replace(finding, target=target) for finding in parts]
    size = f"{counted(len(plan.cells), 'cell')}, {counted(plan.episodes(), 'episode')}"
    return [*findings, *(Finding(target, target, "note", text) for text in (*terms(plan), size))]


def _named_by(grid: Any, plan: Any, call: bool) -> Iterator[Finding]:
    """What is found in the environments and files that a grid names, each checked once."""
    checks: dict[str, tuple[Callable[..., list[Finding]], tuple[Any, ...]]] = {}

    def add(check: Callable[..., list[Finding]], *arguments: Any) -> None:
        checks.setdefault(f"{check.__name__} {arguments}", (check, arguments))

    for planned in plan.tasks:
        task, environment = planned.task, planned.environment
        if not type(environment).__module__.startswith("r_eval.") or environments.is_foreign(environment):
            add(environments.check_environment, task.environment, task.settings, call)
        for entry in (entry for entry in grid.tasks if entry.task == task.name):
            for name in filter(None, dict.fromkeys((entry.questions, entry.demonstrations))):
                file, is_shown = grid.folder / name, name == entry.demonstrations != entry.questions
                add(questions.check_questions, file, (task.environment, task.settings), call, is_shown)
                made_from = questions.template_file(file)
                if made_from is not None and _is_over(made_from, task.environment):
                    add(templates.check_templates, made_from, call)
    for check, arguments in checks.values():
        try:
            yield from check(*arguments)
        except UserError as error:
            yield of_user_error(str(arguments[0]), error)


def _is_over(file: Path, environment: str) -> bool:
    """Whether a template file is over an environment: questions may name a file with another, but not have it run."""
    from r_eval.tasks.templates import read_templates

    try:
        return located(read_templates(file).environment, file.parent) == environment
    except UserError:
        return False
