"""Commands that make and check a domain of one's own: new, generate, check."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from r_eval.errors import UserError


def new_command(name: str, folder: Path | None) -> int:
    """Write the project of a new domain and say what to type next."""
    from r_eval.scaffold import new_domain

    made = new_domain(name, folder)
    for path in sorted(made.iterdir()):
        sys.stdout.write(f"{path}\n")
    sys.stdout.write(f"next: cd {made} && r-eval run grid.yaml\n")
    return 0


def generate_command(templates: Path, count: int, seed: int, out: Path, environment: str | None) -> int:
    """Make questions from templates, write them, and say what was dropped and why."""
    from r_eval.environments.base import EnvironmentFailure
    from r_eval.environments.opening import located
    from r_eval.environments.sandbox import Sandbox
    from r_eval.tasks.base import open_environment
    from r_eval.tasks.questions import write_questions
    from r_eval.tasks.templates import generate, read_templates

    file = read_templates(templates)
    opened = open_environment(environment or located(file.environment, templates.parent))
    with Sandbox() as sandbox:
        try:
            made = asyncio.run(generate(file, opened, sandbox, count, seed))
        except UserError as error:
            raise UserError(f"{templates}: {error}") from None
        except EnvironmentFailure as failure:
            raise UserError(f"{templates}: the environment failed: {failure}") from None
    dropped = ", ".join(f"{number} {reason}" for reason, number in made.dropped.items() if number) or "none"
    if not made.questions:
        raise UserError(f"{templates}: no question came of it; dropped: {dropped}. r-eval check {templates} says more")
    write_questions(out, made.questions)
    sys.stdout.write(f"{out}: {len(made.questions)} questions; dropped: {dropped}\n")
    if len(made.questions) < count:
        sys.stderr.write(f"r-eval: the records give no more than {len(made.questions)} of the {count} questions\n")
    return 0


def check_command(targets: list[str], as_json: bool) -> int:
    """Check environments, template files, question files and grids; 2 where something is wrong."""
    from r_eval.checking import check

    findings = [finding for target in targets for finding in check(target)]
    if as_json:
        sys.stdout.write(json.dumps([f.as_dict() for f in findings], ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write("".join(f"{f.line()}\n" for f in findings))
    return 2 if any(f.severity == "error" for f in findings) else 0
