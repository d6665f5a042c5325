"""Tells from a target's name and content what kind it is, and has it checked."""

from __future__ import annotations

from pathlib import Path

from r_eval.checking.data import check_data, check_text, is_data, is_text
from r_eval.checking.environments import check_environment
from r_eval.checking.finding import Finding, of_user_error
from r_eval.checking.graphs import check_graph
from r_eval.checking.grids import check_grid
from r_eval.checking.questions import check_questions
from r_eval.checking.tasks import check_tasks, names_tasks
from r_eval.checking.templates import check_templates
from r_eval.checking.worlds import check_world
from r_eval.environments.opening import SCHEMES
from r_eval.errors import UserError
from r_eval.files import yaml_keys


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
    if target.partition(":")[0] in SCHEMES:
        return check_environment(target)
    if names_tasks(target):
        return check_tasks(target)
    path = Path(target)
    if is_data(path):
        return check_data(path)
    if is_text(path):
        return check_text(path)
    if path.suffix == ".jsonl":
        return check_questions(path, environment)
    if path.suffix in (".yaml", ".yml"):
        keys = yaml_keys(path)
        by_key = {"graph": check_graph, "templates": check_templates, "placeholders": check_world}
        return next((kind for key, kind in by_key.items() if key in keys), check_grid)(path)
    if path.suffix in (".py", ".json"):
        raise UserError(
            f"'{target}' is no target: expected an environment such as file.py:Class, a question file (.jsonl), or a "
            "template file or grid (.yaml)"
        )
    return check_data(path) if path.exists() else check_environment(target)
