"""Tells from a target's name and content what kind it is, and has it checked."""

from __future__ import annotations

import dataclasses
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from r_eval.checks.finding import Finding, counted, of_user_error
from r_eval.environments.opening import SCHEMES, located
from r_eval.errors import UserError
from r_eval.files import is_file, is_folder, yaml_keys
from r_eval.tasks.base import task_files

DATA = (".json", ".csv", ".tsv")


def check_targets(
    targets: Sequence[str],
    call: bool = False,
    environment: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Finding]:
    """Everything that is found in targets, each finding once.

    Args:
        targets: As `check_target` takes them.
        call: Whether what is not ours to change, such as another's server, is called even where it does not declare
            that it only reads.
        environment: Over which the programs of question files run; None takes what their seasons say.
        settings: Of the environments among the targets, and of `environment`.
    """
    findings: dict[tuple[str, ...], Finding] = {}
    for target in targets:
        for finding in check_target(target, environment, call, settings):
            findings.setdefault((finding.place, finding.severity, finding.what), finding)
    return list(findings.values())


def check_target(
    target: str, environment: str | None = None, call: bool = False, settings: Mapping[str, Any] | None = None
) -> list[Finding]:
    """Everything that is found in a target; nothing is raised for what is wrong with it.

    Args:
        target: A question file (.jsonl), a template file or a grid (.yaml, .yml), an installed task or a glob that
            selects some (`wiki/*`), a graph or placeholder file, a published dataset (a file or folder), or an
            environment: a name, `file.py`, `module:Class`, `file.py:Class`, or one of the schemes that a grid takes.
        environment: Over which the programs of a question file run; None takes what its season says.
        call, settings: As `check_targets` takes them.
    """
    try:
        return _check(target, environment, call, settings or {})
    except UserError as error:
        return [of_user_error(target, error)]


def _check(target: str, environment: str | None, call: bool, settings: Mapping[str, Any]) -> list[Finding]:
    from r_eval.checks import environments, questions, templates

    path = Path(target)
    there = is_file(path) or is_folder(path)
    if target.partition(":")[0] in SCHEMES:
        return environments.check_environment(target, settings, call)
    if settings and not environment and (there or target in task_files() or "*" in target) and path.suffix != ".py":
        raise UserError("--set is for environments: name one as a target, or with --environment")
    if target in task_files() or ("/" in target and "*" in target and not path.suffix):
        return questions.check_tasks(target)
    if there and _is_data(path):
        return check_data(path)
    if path.suffix == ".jsonl":
        return questions.check_questions(path, (environment, settings) if environment else None, call)
    if path.suffix in (".yaml", ".yml"):
        keys = yaml_keys(path)
        if "graph" in keys:
            return templates.check_graph(path)
        if "templates" in keys:
            return templates.check_templates(path, call)
        return templates.check_world(path) if "placeholders" in keys else check_grid(path, call)
    if path.suffix == ".json":
        raise UserError(
            f"'{target}' is no target: expected an environment such as file.py, a question file (.jsonl), or a "
            "template file or grid (.yaml)"
        )
    return (
        check_data(path) if there and path.suffix != ".py" else environments.check_environment(target, settings, call)
    )


def _is_data(path: Path) -> bool:
    """Whether a path is a published dataset rather than a question file of our own, which is checked more closely."""
    from r_eval.tasks.loaders import format_of

    try:
        return path.suffix in DATA or (
            (is_folder(path) or path.suffix == ".jsonl") and format_of(path) not in (None, "jsonl")
        )
    except UserError:  # which the check itself says
        return True


def check_data(path: Path) -> list[Finding]:
    """What is found in a dataset, whose format is told from its first records; read as a stream.

    Raises:
        UserError: It cannot be read, or is of no format that is known.
    """
    from r_eval.tasks.loaders import format_of, formats, load

    target, name = str(path), format_of(path)
    needed = formats()[name].settings.model_fields.get("aliases") if name is not None else None
    if needed is not None and needed.is_required():
        text = f"of the format '{name}', which needs aliases: beside it"
        return [Finding(target, target, "note", text, "check the grid that names both")]
    data = load(path, name, samples=0, broken=1)
    findings = [
        Finding(target, fault.place, "warning", f"a broken record: {fault.why}", "mend it or leave it out")
        for fault in data.faults
    ]
    if data.broken > len(data.faults):
        findings.append(
            Finding(target, target, "warning", counted(data.broken, "broken record"), "see the grid's broken:")
        )
    levels = ", ".join(f"{number:,} {level}" for level, number in data.levels.items())
    questions = f"{counted(data.asked, 'question')} ({levels})"
    text = f"{counted(data.records, 'record')} of the format '{data.format}': {questions}"
    return [*findings, Finding(target, target, "note", "; ".join([text, *data.counts()]))]


def check_grid(path: Path, call: bool = False) -> list[Finding]:
    """What is found in a grid and in everything that it names: environments, question files and the template files that
    these were made from, agents' commands. What comes with R-Eval is not checked again.

    Raises:
        UserError: It is no grid, or something in it is unknown or wrong.
    """
    from r_eval.grid import Grid
    from r_eval.runner import budget
    from r_eval.runner.plan import resolve
    from r_eval.runner.terms import terms

    target, grid = str(path), Grid.load(path)
    plan = resolve(grid)
    budget.check(plan)
    findings = []
    for planned in plan.tasks:
        cells = [c for c in plan.cells if c.planned.task is planned.task and c.workflow.uses_gold]
        without = next((q for q in planned.questions if not q.program), None) if cells else None
        if without is not None:
            name = planned.task.name
            text = f"the question '{without.id}' of task '{name}' has no program, so the oracle gives up on it"
            findings.append(Finding(target, target, "warning", text, "give it its program, or leave oracle out"))
        if len(planned.demonstrations) < plan.grid.shots:
            text = f"task '{planned.task.name}' has no demonstrations, though shots is {plan.grid.shots}"
            findings.append(Finding(target, target, "warning", text, "name a file: demonstrations: FILE.jsonl"))
    for workflow in grid.workflows:
        for word in _not_there(workflow.settings.get("command"), grid.folder):
            text = f"workflow '{workflow.workflow}': its command names {word}, which is not there"
            findings.append(Finding(target, target, "error", text, "install it, or give its path"))
    named = [f for f in _named_by(grid, plan, call) if f.severity != "note" or f.todo]  # what was left out is told too
    findings += [dataclasses.replace(finding, target=target) for finding in named]
    size = f"{counted(len(plan.cells), 'cell')}, {counted(plan.episodes(), 'episode')}"
    return [*findings, *(Finding(target, target, "note", text) for text in (*terms(plan), size))]


def _not_there(command: Any, folder: Path) -> list[str]:
    """What an agent's command names and nobody finds: its program, and Python files."""
    words = [str(word) for word in (shlex.split(command) if isinstance(command, str) else command or ())]
    files = [word for word in words[1:] if word.endswith(".py")]
    known = [word for word in words[:1] if shutil.which(word)]
    return [word for word in [*words[:1], *files] if word not in known and not is_file(folder / word)]


def _named_by(grid: Any, plan: Any, call: bool) -> list[Finding]:
    """What is found in the environments and files that a grid names."""
    from r_eval.checks.environments import check_environment, is_foreign
    from r_eval.checks.questions import check_questions, template_file
    from r_eval.checks.templates import check_templates

    findings: list[Finding] = []
    done: set[str] = set()

    def once(check: Any, what: Any, settings: Mapping[str, Any] | None, *others: Any) -> None:
        key = f"{check.__name__} {what} {settings}"
        if key not in done:
            done.add(key)
            try:
                findings.extend(check(what, *others))
            except UserError as error:
                findings.append(of_user_error(str(what), error))

    for planned in plan.tasks:
        task, environment = planned.task, planned.environment
        if not type(environment).__module__.startswith("r_eval.") or is_foreign(environment):
            once(check_environment, task.environment, task.settings, task.settings, call)
        for entry in grid.tasks:
            if entry.task == task.name:
                for name in filter(None, (entry.questions, entry.demonstrations)):
                    file = grid.folder / name
                    once(check_questions, file, task.settings, (task.environment, task.settings), call)
                    made_from = template_file(file)
                    if made_from is not None and _is_over(made_from, task.environment):
                        once(check_templates, made_from, None, call)
    return findings


def _is_over(templates: Path, environment: str) -> bool:
    """Whether a template file is over an environment: questions may name a file with another, but not have it run."""
    from r_eval.tasks.templates import read_templates

    try:
        return located(read_templates(templates).environment, templates.parent) == environment
    except UserError:
        return False
