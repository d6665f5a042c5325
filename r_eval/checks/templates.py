"""Checks template files: every template makes a few questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from r_eval.analysis.warnings import counted
from r_eval.checks.environments import is_foreign
from r_eval.checks.finding import Finding, Severity, of_user_error
from r_eval.checks.questions import judged_by_containment
from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.opening import located
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.event_loops import in_event_loop
from r_eval.isolation import describe
from r_eval.tasks.base import open_environment
from r_eval.tasks.templates import Generated, KnownRecords, Template, TemplateFile, generate, read_templates
from r_eval.tasks.templates.schema import template_places

TRIED = 10
"""Questions that each template is to make."""
MISTAKES = ("syntax", "unknown_api", "bad_arguments", "time", "memory", "calls", "crash")
"""Failures that no record can be the reason of; the others may be a template's way to leave records out."""
Found = tuple[Severity, str, str]
"""Severity, what, and what to do about it."""


def check_templates(path: Path, call: bool = False) -> list[Finding]:
    """What is found in a template file.

    Args:
        call: Whether programs also run over what is not ours to change, such as another's server.

    Raises:
        UserError: The file cannot be read, or its environment cannot be opened.
    """
    file = read_templates(path)
    environment = open_environment(located(file.environment, path.parent))
    if is_foreign(environment) and not call:
        what = "no question was generated, because the environment calls external tools or services"
        return [Finding(str(path), str(path), "note", what, "add --call to allow it")]
    records = KnownRecords(environment, file.records)
    with Sandbox() as sandbox:
        return [
            Finding(str(path), place, severity, f"template '{template.id}': {what}", todo)
            for template, place in zip(file.templates, template_places(path, file), strict=True)
            for severity, what, todo in in_event_loop(_of_template(template, environment, sandbox, records))
        ]


async def _of_template(
    template: Template, environment: Environment, sandbox: Sandbox, records: KnownRecords
) -> list[Found]:
    try:
        single = TemplateFile(environment="", templates=[template])
        made = await generate(single, environment, sandbox, TRIED, 0, known=records)
    except UserError as error:
        text = str(error).removeprefix(f"templates.{template.id}: ")
        return [("error", of_user_error("", UserError(text)).what, "fix the template, or the environment's records()")]
    except EnvironmentFailure as failure:
        return [("error", f"the environment failed: {failure}", "fix the query API")]
    except Exception as error:  # noqa: BLE001 - records() is the user's code and may raise anything
        return [("error", f"filling it fails: {describe(error)}", "fix the environment's records()")]
    return [*_of_questions(made), ("note", f"{counted(len(made.questions), 'question')} of {TRIED} made", "")]


def _of_questions(made: Generated) -> Iterator[Found]:
    """What is said of the questions that a template made, and of those that were dropped."""
    for reason, number in made.dropped.items():
        kind, _, cause = reason.partition(": ")
        severity: Severity = "note" if kind == "where" or number <= len(made.questions) else "warning"
        if kind == "program" and (cause in MISTAKES or not made.questions):
            severity = "error"
        if number:
            example = f", such as: {made.examples[reason]}" if kind == "program" else ""
            todo = "" if kind == "where" else "fix the template, or leave such records out with where:"
            yield severity, f"{counted(number, 'record')} dropped: {reason}{example}", todo
    if not made.questions:
        text = "it gives no question" + ("" if made.dropped.total() else ": there is no such record")
        yield "error", text, "see what drops them, or take other records"
    elif not all(map(judged_by_containment, made.questions)):
        text = "an answer occurs in any text (yes/no, a count), and the template has no evidence"
        yield "warning", text, "list in evidence: what an observation must contain"
