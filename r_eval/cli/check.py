"""`r-eval check`: problems in environments, tasks and files, found before any LLM is called."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from typer import Argument, Exit, Option

from r_eval.checks import check_target
from r_eval.cli.options import Json, Settings, print_json, print_lines, settings_of


def check(
    targets: Annotated[list[str], Argument(metavar="TARGET", help="Environments and files.")],
    call: Annotated[bool, Option("--call", help="Call servers too that do not declare their tools read-only.")] = False,
    environment: Annotated[
        str | None, Option(metavar="E", help="Run the gold programs of question files over this one.")
    ] = None,
    settings: Settings = None,
    json: Json = False,
) -> None:
    """Check environments, templates, question files and grids for problems.

    A grid is checked with all that it names. Exit status 2 if an error was found.
    """
    findings = check_target(*targets, environment=environment, call=call, settings=settings_of(settings))
    if json:
        print_json([dataclasses.asdict(finding) for finding in findings])
    else:
        print_lines(finding.line() for finding in findings)
    raise Exit(2 if any(finding.severity == "error" for finding in findings) else 0)
