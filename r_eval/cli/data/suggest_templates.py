"""`r-eval data suggest-templates`: an LLM drafts templates, and those that hold are written."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.tasks.base import open_environment, task_files
from r_eval.tasks.llm_client import LLMClient, reply_cache
from r_eval.tasks.seasons import environment_from
from r_eval.tasks.suggest import Suggested, suggest
from r_eval.tasks.templates import Template, read_templates
from r_eval.tasks.templates.schema import as_yaml

REPLY_TOKENS = 2048
HEAD = "# Drafted by {llm}. Every program runs and its answers hold; check yourself whether the questions read well.\n"


def suggest_templates(
    environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT", help="A name, file.py, or module:Class.")],
    llm: Annotated[str, typer.Option("--llm", metavar="LLM", help="Drafts the templates.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.yaml", help="The template file to write.")],
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="TEMPLATES.yaml", help="Examples; by default the templates of its tasks."),
    ] = None,
    count: Annotated[int, typer.Option("--count", metavar="N", min=1, help="How many templates.")] = 10,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Decides which examples the LLM sees.")] = 0,
) -> None:
    """Have an LLM draft further templates.

    Drafts whose questions do not hold are dropped.
    """
    opened = open_environment(environment)
    examples = read_templates(source).templates if source is not None else _of_tasks(environment)

    async def draft() -> Suggested:
        with Sandbox() as sandbox, reply_cache(out.stem) as stored:
            async with LLMClient(llm, stored, {"max_tokens": REPLY_TOKENS}) as speaker:
                return await suggest(opened, examples, speaker, sandbox, count, seed)

    found = asyncio.run(draft())
    dropped = ", ".join(f"{number} {reason}" for reason, number in found.dropped.items()) or "none"
    if not found.templates:
        raise UserError(f"{llm} drafted no template that holds; dropped: {dropped}")
    out.parent.mkdir(parents=True, exist_ok=True)
    head = HEAD.format(llm=llm) + f"environment: {environment_from(environment, out.parent)}\ntemplates:\n"
    out.write_text(head + as_yaml(found.templates), encoding="utf-8")
    sys.stdout.write(f"{out}: {len(found.templates)} templates; dropped: {dropped}\n")
    if len(found.templates) < count:
        sys.stderr.write(f"r-eval: {llm} drafted only {len(found.templates)} of the {count} templates\n")


def _of_tasks(environment: str) -> list[Template]:
    """The templates of the installed tasks of an environment."""
    found = []
    for path in task_files().values():
        file = path.with_name(f"{path.stem}.templates.yaml")
        if file.exists() and (read := read_templates(file)).environment == environment:
            found += read.templates
    if not found:
        raise UserError(f"no installed task has templates for {environment}: name a file with a few of them in --from")
    return found
