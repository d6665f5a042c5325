"""What commands have an LLM write for templates: generate --paraphrase, suggest-templates."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from r_eval.errors import UserError

if TYPE_CHECKING:
    from r_eval.cli.seasons import QuestionSet
    from r_eval.tasks.paraphrase import Paraphrased
    from r_eval.tasks.suggest import Suggested
    from r_eval.tasks.templates import Template

REPLY_TOKENS = 2048
HEAD = (
    "# Drafted by {llm}: every program runs and its answers hold; whether the questions read well is for you to say.\n"
)


def reword(made: QuestionSet, shown: Mapping[str, Sequence[str]], llm: str, name: str) -> str:
    """Have an LLM reword the questions of a set; returns what to say of those that stayed as they were."""
    from r_eval.tasks.paraphrase import paraphrase
    from r_eval.tasks.speaking import Speaker, replies_kept

    async def every() -> Paraphrased:
        with replies_kept(name) as memory:
            async with Speaker(llm, memory) as speaker:
                return await paraphrase(made.questions, shown, speaker)

    done = asyncio.run(every())
    made.questions = done.questions
    kept = ", ".join(f"{number} {reason}" for reason, number in done.kept.items()) or "none"
    return f"; kept in their first words: {kept}"


def suggest_command(environment: str, llm: str, source: Path | None, count: int, seed: int, out: Path) -> int:
    """Have an LLM draft templates, write those that hold, and say why the others do not."""
    from r_eval.environments.sandbox import Sandbox
    from r_eval.tasks.base import open_environment
    from r_eval.tasks.speaking import Speaker, replies_kept
    from r_eval.tasks.suggest import as_yaml, suggest

    opened = open_environment(environment)
    written = _written(environment, source)

    def tell(replies: int, kept: int) -> None:
        sys.stderr.write(
            f"r-eval: {kept} of {count} templates after {replies} {'reply' if replies == 1 else 'replies'}\n"
        )

    async def drafted() -> Suggested:
        with Sandbox() as sandbox, replies_kept(out.stem) as memory:
            async with Speaker(llm, memory, {"max_tokens": REPLY_TOKENS}) as speaker:
                return await suggest(opened, written, speaker, sandbox, count, seed, tell)

    found = asyncio.run(drafted())
    dropped = ", ".join(f"{number} {reason}" for reason, number in found.dropped.items()) or "none"
    if not found.templates:
        raise UserError(f"no template came of it; dropped: {dropped}")
    out.parent.mkdir(parents=True, exist_ok=True)
    head = HEAD.format(llm=llm) + f"environment: {_from_folder(environment, out.parent)}\ntemplates:\n"
    out.write_text(head + as_yaml(found.templates), encoding="utf-8")
    sys.stdout.write(f"{out}: {len(found.templates)} templates; dropped: {dropped}\n")
    if len(found.templates) < count:
        sys.stderr.write(f"r-eval: {llm} drafted no more than {len(found.templates)} of the {count} templates\n")
    return 0


def _written(environment: str, source: Path | None) -> list[Template]:
    """The templates to begin with: a file's, or those of the installed tasks of the environment."""
    from r_eval.tasks.base import task_files
    from r_eval.tasks.templates import read_templates

    if source is not None:
        return read_templates(source).templates
    written = []
    for path in task_files().values():
        file = path.with_name(f"{path.stem}.templates.yaml")
        if file.exists() and (read := read_templates(file)).environment == environment:
            written += read.templates
    if not written:
        raise UserError(f"no installed task has templates over {environment}: name a file of a few with --from")
    return written


def _from_folder(environment: str, folder: Path) -> str:
    """An environment's name as a file in that folder has to write it."""
    path, colon, attribute = environment.rpartition(":")
    if not colon or not Path(path).is_file():
        return environment
    near = Path(os.path.relpath(Path(path).resolve(), folder.resolve())).as_posix()
    return f"{near if near.startswith('.') else './' + near}:{attribute}"
