"""Commands that make and check a domain of one's own: new, generate, check."""

from __future__ import annotations

import asyncio
import functools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval.errors import UserError

if TYPE_CHECKING:
    from r_eval.environments.base import Environment


def new_command(name: str, folder: Path | None) -> int:
    """Write the project of a new domain and say what to type next."""
    from r_eval.scaffold import new_domain

    made = new_domain(name, folder)
    for path in sorted(made.iterdir()):
        sys.stdout.write(f"{path}\n")
    sys.stdout.write(f"next: cd {made} && r-eval run grid.yaml\n")
    return 0


def generate_command(
    templates: Path,
    count: int | None,
    seed: int | None,
    out: Path,
    environment: str | None,
    refresh: Sequence[Path] = (),
    private: Path | None = None,
    languages: Sequence[str] = (),
    paraphraser: str | None = None,
) -> int:
    """Make questions from templates or a graph, write them, and say what was dropped and why.

    Args:
        languages: Those to make questions in, in place of the template file's own.
        paraphraser: The LLM that rewords them.
    """
    from r_eval.cli.seasons import QuestionSet
    from r_eval.cli.suggesting import reword
    from r_eval.environments.base import EnvironmentFailure
    from r_eval.environments.sandbox import Sandbox
    from r_eval.tasks.placeholders.world import is_world_file

    if is_world_file(templates):
        others = {"--environment": environment, "--refresh": refresh, "--private": private, "--language": languages}
        return records_command(templates, count, seed, out, {**others, "--paraphrase": paraphraser})
    name, opened, make = _opened(templates, environment, languages, paraphraser)
    made_set = QuestionSet(templates, out, refresh, private, count, seed)
    with Sandbox() as sandbox:
        try:
            made = asyncio.run(make(sandbox, made_set.wanted, made_set.seed))
            made_set.choose(made.questions)
            kept = reword(made_set, made.shown, paraphraser, templates.stem) if paraphraser else ""
            season = asyncio.run(made_set.season(name, opened, sandbox))
        except UserError as error:
            raise UserError(f"{templates}: {error}") from None
        except EnvironmentFailure as failure:
            raise UserError(f"{templates}: the environment failed: {failure}") from None
    dropped = ", ".join(f"{number} {reason}" for reason, number in made.dropped.items() if number) or "none"
    number = len(made_set.questions)
    if not number:
        raise UserError(f"{templates}: no question came of it; dropped: {dropped}. r-eval check {templates} says more")
    made_set.write(season)
    sys.stdout.write(f"{out}: {number} questions; dropped: {dropped}{kept}\n")
    if number < made_set.count:
        sys.stderr.write(f"r-eval: the records give no more than {number} of the {made_set.count} questions\n")
    return 0


def _opened(
    source: Path, environment: str | None, languages: Sequence[str], paraphraser: str | None
) -> tuple[str, Environment, Callable[..., Any]]:
    """The environment of a template or graph file by its name, opened, and what makes questions of the file."""
    from r_eval.cli.extracting import open_graph
    from r_eval.environments.opening import located
    from r_eval.tasks.base import open_environment
    from r_eval.tasks.graphs.file import is_graph_file
    from r_eval.tasks.templates import generate, read_templates

    if is_graph_file(source):
        if languages or paraphraser:
            raise UserError(f"{source}: --language and --paraphrase go with templates; a graph file has its own keys")
        return open_graph(source, environment)
    file = read_templates(source)
    name = environment or located(file.environment, source.parent)
    opened = open_environment(name)
    return name, opened, functools.partial(generate, file, opened, languages=languages)


def records_command(world: Path, count: int | None, seed: int | None, out: Path, others: Mapping[str, Any]) -> int:
    """Make records with placeholders of a world, and write them.

    Args:
        count: Of each sub-task that the world asks for, at most; absent: as it says.
        others: Options that do not go with it, and what was typed for them.
    """
    from r_eval.tasks.placeholders.making import lines, made
    from r_eval.tasks.placeholders.world import read_world

    for option, typed in others.items():
        if typed:
            raise UserError(f"{world}: {option} does not go with a file of placeholders")
    records = made(read_world(world), count, seed)
    if not records:
        raise UserError(f"{world}: no record came of it: it asks for none, or its kinds lack what they take")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(lines(records), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error})") from None
    variants = sum(len(record["placeholder_item"]["answer"]) for record in records)
    sys.stdout.write(f"{out}: {len(records)} records with {variants} variants\n")
    return 0


def check_command(targets: list[str], environment: str | None, as_json: bool) -> int:
    """Check environments, template files, question files, tasks and grids; 2 where something is wrong."""
    from r_eval.checking import check

    findings = [finding for target in targets for finding in check(target, environment)]
    if as_json:
        sys.stdout.write(json.dumps([f.as_dict() for f in findings], ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write("".join(f"{f.line()}\n" for f in findings))
    return 2 if any(f.severity == "error" for f in findings) else 0
