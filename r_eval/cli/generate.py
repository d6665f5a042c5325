"""`r-eval generate`: questions with gold answers from templates, a graph or a world with placeholders."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from r_eval.cli.options import print_lines
from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.opening import located
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.files import yaml_keys
from r_eval.isolation import describe, traceback_of
from r_eval.records import Question
from r_eval.tasks.base import open_environment
from r_eval.tasks.graphs.file import is_graph_file
from r_eval.tasks.llm_client import LLMClient, replies_kept
from r_eval.tasks.placeholders.world import is_world_file, read_world
from r_eval.tasks.seasons import Refresher
from r_eval.tasks.seasons.making import next_season, season_of, write_set
from r_eval.tasks.templates import Generated, TemplateFile, read_templates
from r_eval.tasks.templates import generate as from_templates

COUNT = 20
Maker = Callable[[Sandbox, int, int], Coroutine[Any, Any, Generated]]
"""Makes questions: sandbox, count, seed."""


def generate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A template file, a graph file or a world (.yaml).")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.jsonl", help="The question file to write.")],
    count: Annotated[
        int | None,
        typer.Option("--count", metavar="N", min=1, help="How many; by default 20, or as many as in OLD.jsonl."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="S", help="Decides which records are used; by default 0, or a new one."),
    ] = None,
    environment: Annotated[
        str | None, typer.Option("--environment", metavar="E", help="Use this one instead of the file's.")
    ] = None,
    refresh: Annotated[
        list[Path] | None,
        typer.Option("--refresh", metavar="OLD.jsonl", help="Make the next season: repeat none of its questions."),
    ] = None,
    private: Annotated[
        Path | None,
        typer.Option("--private", metavar="FILE.jsonl", help="Write the answers here; --out has the questions only."),
    ] = None,
    paraphrase: Annotated[
        str | None, typer.Option("--paraphrase", metavar="LLM", help="Have this LLM reword the questions.")
    ] = None,
) -> None:
    """Make questions with gold answers.

    Exit status 1 if a template gives none.
    """
    if file.resolve() in {path.resolve() for path in (out, private) if path is not None}:
        raise UserError(f"{file} would be written over: name another file in --out")
    if is_world_file(file):
        options = {"environment": environment, "refresh": refresh, "private": private, "paraphrase": paraphrase}
        _write_records(file, count, seed, out, options)
        return
    if private is not None and private.resolve() == out.resolve():
        raise UserError(f"{out} would be both the public and the private file: name two")
    name, opened, make, templates = _source(file, environment, paraphrase)
    refresher = Refresher(refresh) if refresh else None
    if refresher is not None:
        refresher.spare(*([out, private] if private else [out]))
    count = count or (refresher.count if refresher else COUNT)
    seed = seed if seed is not None else refresher.seed if refresher else 0
    with Sandbox() as sandbox, _errors_of(file):
        made = asyncio.run(make(sandbox, refresher.wanted(count) if refresher else count, seed))
        questions = refresher.chosen(made.questions, count) if refresher else made.questions[:count]
        note = ""
        if paraphrase:
            questions, note = asyncio.run(_reworded(questions, made.shown, paraphrase, file.stem))
        dropped = ", ".join(f"{number} {reason}" for reason, number in made.dropped.items() if number) or "none"
        if not questions:
            raise UserError(f"no question is left; dropped: {dropped}. r-eval check {file} says why")
        where = private or out
        season = season_of(file, where, name, opened, seed, len(questions))
        if refresher is not None:
            left_out = len(made.questions) - len(refresher.new(made.questions))
            season = asyncio.run(next_season(refresher, season, where, opened, sandbox, left_out))
    write_set(questions, out, season, private, seed)
    if refresher is not None:
        print_lines([f"season {season.version}, seed {season.seed}", *season.changes])
    sys.stdout.write(f"{out}: {len(questions)} questions; dropped: {dropped}{note}\n")
    if len(questions) < count:
        sys.stderr.write(f"r-eval: the records give only {len(questions)} of the {count} questions\n")
    barren = _barren(templates, made.questions, count)
    if barren:
        sys.stderr.write(f"r-eval: no question from: {', '.join(barren)}. r-eval check {file} says why\n")
        raise typer.Exit(1)


@contextlib.contextmanager
def _errors_of(file: Path) -> Iterator[None]:
    """Errors name the file; those of the environment's own code say where they were raised."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{file}: {error}") from None
    except EnvironmentFailure as failure:
        raise UserError(f"{file}: the environment failed: {failure}") from failure
    except Exception as error:
        if not traceback_of(error):
            raise
        raise UserError(f"{file}: the environment failed: {describe(error)}") from error


def _source(
    file: Path, environment: str | None, paraphrase: str | None
) -> tuple[str, Environment, Maker, TemplateFile | None]:
    """The environment by its name ("" for a file of triples), opened; what makes questions; the templates, if any."""
    if is_graph_file(file):
        if paraphrase:
            raise UserError(f"{file}: --paraphrase is for templates; a graph file has its own keys for LLMs")
        return *_graph(file, environment), None
    keys = yaml_keys(file)
    if keys and "templates" not in keys:
        raise UserError(f"{file}: no source of questions: it has none of the keys templates, graph and placeholders")
    templates = read_templates(file)
    name = environment or located(templates.environment, file.parent)
    opened = open_environment(name)

    async def make(sandbox: Sandbox, count: int, seed: int) -> Generated:
        return await from_templates(templates, opened, sandbox, count, seed)

    return name, opened, make, templates


def _graph(path: Path, environment: str | None) -> tuple[str, Environment, Maker]:
    from r_eval.analysis import metrics
    from r_eval.tasks.graphs.file import read_graph_file
    from r_eval.tasks.graphs.generate import generate as from_graph
    from r_eval.tasks.graphs.source import source_of

    file = read_graph_file(path)
    if file.triples is not None and environment is not None:
        raise UserError(f"{path}: its questions come from a file of triples; --environment cannot replace that")
    name, source = source_of(file, path.parent, environment)

    async def make(sandbox: Sandbox, count: int, seed: int) -> Generated:
        with replies_kept(path.stem) if file.graph.llms else contextlib.nullcontext() as replies:
            return await from_graph(file, source, sandbox, count, seed, metrics.get("token_f1"), replies)

    return name, source.environment, make


async def _reworded(
    questions: Sequence[Question], shown: Mapping[str, Sequence[str]], llm: str, name: str
) -> tuple[list[Question], str]:
    """The questions as an LLM rewords them, and a note on those that stay as they were."""
    from r_eval.tasks.paraphrase import paraphrase

    with replies_kept(name) as replies:
        async with LLMClient(llm, replies) as speaker:
            done = await paraphrase(questions, shown, speaker)
    return done.questions, f"; not reworded: {', '.join(f'{n} {reason}' for reason, n in done.kept.items()) or 'none'}"


def _barren(file: TemplateFile | None, made: Sequence[Question], count: int) -> list[str]:
    """The templates that were tried and gave no question: with fewer questions than templates, some are not tried."""
    if file is None or len(made) >= count < len(file.templates):
        return []
    fruitful = {question.meta.get("template") for question in made}
    return [template.id for template in file.templates if template.id not in fruitful]


def _write_records(world: Path, count: int | None, seed: int | None, out: Path, options: Mapping[str, Any]) -> None:
    """Write the records with placeholders of a world, `count` at most of each sub-task."""
    from r_eval.tasks.placeholders.making import lines, made, write_documents

    for option, value in options.items():
        if value:
            raise UserError(f"{world}: --{option} is not for a world with placeholders")
    read, document, note = read_world(world), None, ""
    if read.placeholders.llm is not None:
        with replies_kept(world.stem) as replies:
            texts, failed = asyncio.run(write_documents(read, read.placeholders.llm, replies, count, seed))
        document = texts.__getitem__
        note = "; not written by the LLM: " + ", ".join(f"{n} {why}" for why, n in failed.items()) if failed else ""
    records = made(read, count, seed, document)
    if not records:
        raise UserError(f"{world}: it asks for no records, or its kinds lack the values that they need")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(lines(records), encoding="utf-8")
    variants = sum(len(record["placeholder_item"]["answer"]) for record in records)
    sys.stdout.write(f"{out}: {len(records)} records with {variants} variants{note}\n")
