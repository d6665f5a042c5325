"""Tells from a target's name and content what kind it is, and has it checked by what is imported for that kind only."""

from __future__ import annotations

from pathlib import Path

from r_eval.checking.finding import Finding, of_user_error
from r_eval.environments.opening import SCHEMES
from r_eval.errors import UserError
from r_eval.files import is_file, is_folder, yaml_keys
from r_eval.tasks.base import task_files


def check(target: str, environment: str | None = None) -> list[Finding]:
    """Everything that is found in a target.

    Args:
        target: A question file (.jsonl), a template file or a grid (.yaml, .yml), an installed task or a glob that
            selects some (`wiki/*`), a graph or placeholder file, a published dataset (a file or folder), or an
            environment: a name, `module:Class`, `file.py:Class`, or one of the schemes that a grid takes.
        environment: Over which the programs of a question file run; None takes what its season says.
    """
    try:
        return _check(target, environment)
    except UserError as error:
        return [of_user_error(target, error)]


def _check(target: str, environment: str | None) -> list[Finding]:
    path = Path(target)
    there = is_file(path) or is_folder(path)
    if target.partition(":")[0] in SCHEMES:
        return _environment(target)
    if names_tasks(target):
        from r_eval.checking.tasks import check_tasks

        return check_tasks(target)
    if there:
        from r_eval.checking.data import check_data, check_text, is_data, is_text

        if is_data(path):
            return check_data(path)
        if is_text(path):
            return check_text(path)
    if path.suffix == ".jsonl":
        from r_eval.checking.questions import check_questions

        return check_questions(path, environment)
    if path.suffix in (".yaml", ".yml"):
        return _by_keys(path)
    if path.suffix in (".py", ".json"):
        raise UserError(
            f"'{target}' is no target: expected an environment such as file.py:Class, a question file (.jsonl), or a "
            "template file or grid (.yaml)"
        )
    if there:
        return check_data(path)
    return _environment(target)


def _environment(target: str) -> list[Finding]:
    from r_eval.checking.environments import check_environment

    return check_environment(target)


def _by_keys(path: Path) -> list[Finding]:
    """What is found in a YAML file, whose kind is told from its keys."""
    keys = yaml_keys(path)
    if "graph" in keys:
        from r_eval.checking.graphs import check_graph

        return check_graph(path)
    if "templates" in keys:
        from r_eval.checking.templates import check_templates

        return check_templates(path)
    if "placeholders" in keys:
        from r_eval.checking.worlds import check_world

        return check_world(path)
    from r_eval.checking.grids import check_grid

    return check_grid(path)


def names_tasks(target: str) -> bool:
    """Whether a target is the name of an installed task, or a glob and no file's name."""
    if target in task_files():
        return True
    return "/" in target and "*" in target and not Path(target).suffix
