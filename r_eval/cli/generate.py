"""`r-eval generate`: questions with gold answers from templates, a graph or a world with placeholders."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from typer import Argument, Exit, Option

from r_eval.cli.options import OUT_FILE, complain, print_lines
from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.opening import located
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.files import yaml_keys
from r_eval.isolation import describe, traceback_of
from r_eval.records import Question
from r_eval.tasks.base import open_environment
from r_eval.tasks.llm_client import LLMClient, reply_cache
from r_eval.tasks.placeholders.world import is_world_file, read_world
from r_eval.tasks.seasons import Refresher, Season, environment_from, write_set
from r_eval.tasks.templates import Generated, read_templates
from r_eval.tasks.templates import generate as from_templates
from r_eval.tasks.templates.schema import template_places

COUNT = 20


def generate(
    file: Annotated[Path, Argument(metavar="FILE", help="A template file, a graph file or a world (.yaml).")],
    out: Annotated[Path, Option(metavar="FILE.jsonl", help="The question file to write.", **OUT_FILE)],
    count: Annotated[
        int | None, Option(metavar="N", min=1, help="How many; by default 20, or as many as in OLD.jsonl.")
    ] = None,
    seed: Annotated[
        int | None, Option(metavar="S", help="Decides which records are used; by default 0, or a new one.")
    ] = None,
    environment: Annotated[str | None, Option(metavar="E", help="Use this one instead of the file's.")] = None,
    refresh: Annotated[
        list[Path] | None, Option(metavar="OLD.jsonl", help="Make the next season: repeat none of its questions.")
    ] = None,
    private: Annotated[
        Path | None,
        Option(metavar="FILE.jsonl", help="Write the answers here; --out has the questions only.", **OUT_FILE),
    ] = None,
    paraphrase: Annotated[str | None, Option(metavar="LLM", help="Have this LLM reword the questions.")] = None,
) -> None:
    """Generate questions with gold answers.

    Exit status 1 if a template generates none.
    """
    written = _files_to_write(file, out, private)
    if is_world_file(file):
        if environment or refresh or private or paraphrase:
            raise UserError(f"{file} is a world with placeholders: only --count, --seed and --out are for it")
        _write_records(file, count, seed, out)
        return
    maker = _graph_maker(file, environment, paraphrase) if "graph" in yaml_keys(file) else _maker(file, environment)
    refresher = Refresher(refresh) if refresh else None
    if refresher is not None and (earlier := refresher.earlier.keys() & written):
        raise UserError(f"{min(earlier)} is an earlier season's file: name another one to write")
    count = count or (len(refresher.questions) if refresher else maker.default_count)
    seed = seed if seed is not None else refresher.seed if refresher else 0
    with Sandbox() as sandbox, _errors_of(file):
        made = asyncio.run(maker.make(sandbox, count + (refresher.n_earlier if refresher else 0), seed))
        questions = refresher.choose(made.questions, count) if refresher else made.questions[:count]
        if not questions:
            raise UserError(_why_none(file, maker, made))
        summary = f"{_kinds(questions)}; dropped: {_counts(made.dropped)}"
        if paraphrase:
            questions, summary = asyncio.run(_reworded(questions, made, paraphrase, file.stem, summary))
        season = _season(maker, file, (private or out).parent, seed, len(questions))
        if refresher is not None:
            season = _next_season(refresher, season, (private or out).parent, made)
    write_set(questions, out, season, private, seed)
    print_lines([f"{out}: {summary}"])
    _name_what_is_missing(file, maker, made, len(questions), count)


def _files_to_write(file: Path, out: Path, private: Path | None) -> set[Path]:
    """The files that are written.

    Raises:
        UserError: One of them is the file that is read, or both are the same.
    """
    written = {path.resolve() for path in (out, private or out)}
    if file.resolve() in written:
        raise UserError(f"{file} would be written over: name another file in --out")
    if private is not None and len(written) == 1:
        raise UserError(f"{out} would be both the public and the private file: name two")
    return written


def _season(maker: _QuestionMaker, file: Path, folder: Path, seed: int, count: int) -> Season:
    """The season of a question set that is written to a folder."""
    return Season(
        environment=environment_from(maker.name, folder),
        environment_version=maker.opened.version,
        seed=seed,
        count=count,
        file=os.path.relpath(file, folder),
    )


def _next_season(refresher: Refresher, season: Season, folder: Path, made: Generated) -> Season:
    """The season that follows the earlier ones, with what was left out printed."""
    season = refresher.next_season(season, folder)
    repeated = len(made.questions) - len(refresher.new(made.questions))
    print_lines([f"season {season.version}, seed {season.seed}", f"repeated questions left out: {repeated}"])
    print_lines(refresher.missing)
    return season


def _why_none(file: Path, maker: _QuestionMaker, made: Generated) -> str:
    source = f" from {', '.join(maker.templates)}" if maker.templates else " is left"
    why = f"r-eval check {shlex.quote(str(file))} says why"
    if not maker.templates:  # check leaves graphs to this command
        why = "; ".join(f"{reason}, such as: {text}" for reason, text in made.examples.items() if text)
    return f"no question{source}; dropped: {_counts(made.dropped)}. {why}".rstrip(" .")


def _name_what_is_missing(file: Path, maker: _QuestionMaker, made: Generated, number: int, count: int) -> None:
    """Complain of too few questions, and of templates without any.

    Raises:
        Exit: A template gave none.
    """
    if number < count:
        complain(f"the records give only {number} of the {count} questions")
    fruitful = {question.meta.get("template") for question in made.questions}
    barren = [template for template in maker.templates if template not in fruitful]
    if barren and not len(made.questions) >= count < len(maker.templates):  # with few questions, some are not tried
        complain(f"no question from: {', '.join(barren)}. r-eval check {shlex.quote(str(file))} says why")
        raise Exit(1)


def _counts(reasons: Counter[str]) -> str:
    return ", ".join(f"{number} {reason}" for reason, number in reasons.items() if number) or "none"


class _QuestionMaker(NamedTuple):
    """What makes the questions of a file.

    Attributes:
        name: Of the environment, as it can be opened from the present folder; "" of a file of triples.
        make: By sandbox, count and seed.
        templates: The ids of the templates, if it has any.
        default_count: How many questions to make by default.
    """

    name: str
    opened: Environment
    make: Callable[[Sandbox, int, int], Coroutine[Any, Any, Generated]]
    templates: Sequence[str] = ()
    default_count: int = COUNT


def _maker(path: Path, environment: str | None) -> _QuestionMaker:
    keys = yaml_keys(path)
    if keys and "templates" not in keys:
        raise UserError(f"{path}: expected one of the keys templates, graph or placeholders")
    file = read_templates(path)
    name = environment or located(file.environment, path.parent)
    opened = open_environment(name)

    async def make(sandbox: Sandbox, count: int, seed: int) -> Generated:
        return await from_templates(file, opened, sandbox, count, seed)

    return _QuestionMaker(name, opened, make, [template.id for template in file.templates])


def _graph_maker(path: Path, environment: str | None, paraphrase: str | None) -> _QuestionMaker:
    from r_eval.analysis import metrics
    from r_eval.tasks.graphs.graph_file import read_graph_file
    from r_eval.tasks.graphs.pipeline import generate as from_graph
    from r_eval.tasks.graphs.source import source_of

    if paraphrase:
        raise UserError(f"{path}: --paraphrase is for templates; a graph file has its own keys for LLMs")
    file = read_graph_file(path)
    if file.triples is not None and environment is not None:
        raise UserError(f"{path}: its questions come from a file of triples; --environment cannot replace that")
    name, source = source_of(file, path.parent, environment)

    async def make(sandbox: Sandbox, count: int, seed: int) -> Generated:
        with reply_cache(path.stem) if file.graph.llms else contextlib.nullcontext() as replies:
            return await from_graph(file, source, sandbox, count, seed, metrics.get("token_f1"), replies)

    count = (file.graph.per_type or 0) * len(file.graph.types) or COUNT
    return _QuestionMaker(name, source.environment, make, default_count=count)


def _place(file: Path, message: str) -> str:
    """The file, with the line of the template that a message is about."""
    with contextlib.suppress(UserError):
        templates = read_templates(file)
        for template, place in zip(templates.templates, template_places(file, templates), strict=True):
            if message.startswith(f"templates.{template.id}: "):
                return place
    return str(file)


def _kinds(questions: Sequence[Question]) -> str:
    """How many questions there are; of a graph, of each type."""
    types = Counter(question.meta["type"] for question in questions if "type" in question.meta)
    parts = ", ".join(f"{number} {type}" for type, number in types.items())
    return f"{len(questions)} questions" + (f" ({parts})" if parts else "")


@contextlib.contextmanager
def _errors_of(file: Path) -> Iterator[None]:
    """Errors name the file; those of the environment's own code say where they were raised."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{_place(file, str(error))}: {error}") from None
    except EnvironmentFailure as failure:
        raise UserError(f"{file}: the environment failed: {failure}") from failure
    except Exception as error:
        if not traceback_of(error):
            raise
        raise UserError(f"{file}: the environment failed: {describe(error)}") from error


async def _reworded(
    questions: Sequence[Question], made: Generated, llm: str, name: str, summary: str
) -> tuple[list[Question], str]:
    """The questions as an LLM rewords them, and the summary with a note on those that stay as they were."""
    from r_eval.tasks.paraphrase import paraphrase

    with reply_cache(name) as replies:
        async with LLMClient(llm, replies) as client:
            done = await paraphrase(questions, made.slot_values, client)
    reasons = _counts(done.unchanged)
    return done.questions, f"{summary}; not reworded: {reasons}"


def _write_records(world: Path, count: int | None, seed: int | None, out: Path) -> None:
    """Write the records with placeholders of a world, `count` at most of each sub-task."""
    from r_eval.tasks.placeholders.making import lines, make_records, write_documents

    read, document, note = read_world(world), None, ""
    if read.placeholders.llm is not None:
        with reply_cache(world.stem) as replies:
            texts, failed = asyncio.run(write_documents(read, read.placeholders.llm, replies, count, seed))
        document = texts.__getitem__
        note = "; not written by the LLM: " + ", ".join(f"{n} {why}" for why, n in failed.items()) if failed else ""
    records = make_records(read, count, seed, document)
    if not records:
        raise UserError(f"{world}: it asks for no records, or its kinds lack the values that they need")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(lines(records), encoding="utf-8")
    variants = sum(len(record["placeholder_item"]["answer"]) for record in records)
    print_lines([f"{out}: {len(records)} records with {variants} variants{note}"])
