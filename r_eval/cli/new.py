"""`r-eval new domain`: a runnable starting point."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from r_eval.cli.options import OUT_FOLDER
from r_eval.errors import UserError
from r_eval.scaffold import new_domain


def new(
    kind: Annotated[str, Argument(metavar="domain", help="What to write; domain is the only kind.")],
    name: Annotated[str, Argument(metavar="NAME", help="For example my-recipes.")],
    folder: Annotated[
        Path | None, Option("--dir", metavar="DIR", help="The folder to write; by default ./NAME.", **OUT_FOLDER)
    ] = None,
) -> None:
    """Write a runnable starting point for your own domain.

    It has query APIs, templates, questions, a grid and a test.
    """
    if kind != "domain":
        raise UserError(f"unknown kind '{kind}'; the only one is domain: r-eval new domain {name}")
    made = new_domain(name, folder)
    files = "".join(f"{path}\n" for path in sorted(made.iterdir()))
    go = "" if made == Path() else f"cd {shlex.quote(str(made))} && "
    sys.stdout.write(f"{files}next: {go}r-eval run grid.yaml\n")
