"""`r-eval data`: commands that prepare and publish question sets."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from r_eval.analysis.warnings import counted
from r_eval.cli.app import SETTINGS, group
from r_eval.cli.options import OUT_FILE, OUT_FOLDER, EnvironmentName, RunPath, RunPaths, complain, open_run, print_lines
from r_eval.errors import UserError

if TYPE_CHECKING:
    import pandas

REPLY_TOKENS = 2048
"""Of an LLM that drafts templates."""
HEAD = "# Drafted by {llm}. Every program runs and its answers hold; check yourself whether the questions read well.\n"

app = group("Prepare and publish question sets.")
Questions = Annotated[Path, Argument(metavar="QUESTIONS.jsonl", help="The question file.")]


@app.command(context_settings=SETTINGS)
def split(
    questions: Questions,
    public: Annotated[Path, Option(metavar="FILE.jsonl", help="Write the questions here.", **OUT_FILE)],
    private: Annotated[Path, Option(metavar="FILE.jsonl", help="Write the answers here.", **OUT_FILE)],
    seed: Annotated[int, Option(metavar="S", help="Decides the public ids.")] = 0,
) -> None:
    """Split a file into public questions and private answers."""
    from r_eval.tasks.questions import read_questions
    from r_eval.tasks.seasons import read_season, write_set

    found, season = read_questions(questions), read_season(questions)
    for path in (public, private):
        if path.resolve() == questions.resolve():
            raise UserError(f"{path} is the file to split: name another one to write")
    write_set(found, public, season and season.from_folder(questions.parent, private.parent), private, seed)
    print_lines(
        [f"{public}: {counted(len(found), 'question')} without answers", f"{private}: their answers by public id"]
    )


@app.command(context_settings=SETTINGS)
def export(
    questions: Questions,
    out: Annotated[Path, Option(metavar="DIR", help="The folder to write.", **OUT_FOLDER)],
    name: Annotated[str | None, Option(metavar="NAME", help="The dataset's name; by default the file's.")] = None,
    licence: Annotated[str, Option(metavar="LICENCE", help="The dataset's licence, such as cc-by-4.0.")] = "other",
    demonstrations: Annotated[
        Path | None, Option(metavar="FILE.jsonl", help="Write these as a split of their own.")
    ] = None,
) -> None:
    """Write a question file as a Hugging Face dataset."""
    from r_eval.tasks.export import export as write_dataset

    typer.echo(write_dataset(questions, out, name or questions.name.partition(".")[0], licence, demonstrations))


@app.command(context_settings=SETTINGS)
def crud(
    folder: Annotated[
        Path, Argument(metavar="FOLDER", help="The reports: .txt or .md files, or one .jsonl file.", exists=True)
    ],
    llm: Annotated[str, Option(metavar="LLM", help="Writes the questions and texts, and judges them.")],
    out: Annotated[
        Path | None, Option(metavar="DIR", help="The folder to write; by default crud-<folder>.", **OUT_FOLDER)
    ] = None,
    count: Annotated[int, Option(metavar="N", min=1, help="Records of each task.")] = 10,
) -> None:
    """Make CRUD data sets from a folder of reports.

    Their tasks are continuation, questions, hallucinations and summaries. Writes crud.json, its documents and a grid
    over them; prints what was dropped, by reason.
    """
    from r_eval.analysis import metrics
    from r_eval.environments.corpus.sources import read_documents
    from r_eval.tasks.crud_builder import REPLY_TOKENS, CrudSet, build, write
    from r_eval.tasks.llm_client import LLMClient, reply_cache

    where = out or Path(f"crud-{folder.resolve().stem}")

    async def make() -> CrudSet:
        with reply_cache(where.name) as replies:
            async with LLMClient(llm, replies, {"max_tokens": REPLY_TOKENS}) as client:
                return await build(read_documents(str(folder)), client, metrics.get("token_f1"), count=count)

    made = asyncio.run(make())
    numbers = {key: len(records) for key, records in made.records.items()}
    print_lines([f"{len(made.reports)} reports: {', '.join(f'{n} {key}' for key, n in numbers.items())}"])
    print_lines(f"dropped: {number} {reason}" for reason, number in made.dropped.items())
    if not any(numbers.values()):
        raise UserError(f"{folder}: {llm} made no record that the filters keep; nothing was written")
    print_lines(map(str, write(made, where, llm)))


@app.command("extract-triples", context_settings=SETTINGS)
def extract_triples(
    documents: Annotated[Path, Argument(metavar="DOCUMENTS", help="A .txt or .jsonl file, or a folder.", exists=True)],
    llm: Annotated[str, Option(metavar="LLM", help="Reads the documents.")],
    out: Annotated[Path, Option(metavar="TRIPLES.tsv", help="The file to write.", **OUT_FILE)],
    known: Annotated[Path | None, Option(metavar="TRIPLES.tsv", help="Skip facts that are in this file.")] = None,
    names: Annotated[
        Path | None, Option(metavar="NAMES.txt", help="Entity names, one per line, with other spellings after tabs.")
    ] = None,
) -> None:
    """Extract triples from documents with an LLM.

    With --names or --known, the LLM matches each extracted name with a listed one. generate makes questions
    from the triples with a graph file.
    """
    from r_eval.environments.corpus.sources import read_documents
    from r_eval.tasks.graphs.extract import REPLY_TOKENS, Extracted, extract
    from r_eval.tasks.graphs.matching import NameList, default_model, read_names
    from r_eval.tasks.graphs.source import read_triples, write_triples
    from r_eval.tasks.llm_client import LLMClient, reply_cache

    facts = [row.triple for row in read_triples(known)] if known is not None else []
    model = default_model()
    entities = {name for subject, _, object_ in facts for name in (subject, object_)}
    listed = NameList(((name,) for name in sorted(entities)), model) if facts else None
    if names is not None:
        listed = read_names(names, model)
    relations = NameList(((name,) for name in sorted({r for _, r, _ in facts})), model) if facts else None

    async def read() -> Extracted:
        with reply_cache(out.stem) as replies:
            async with LLMClient(llm, replies, {"max_tokens": REPLY_TOKENS}) as client:
                return await extract(read_documents(str(documents)), client, listed, relations, facts)

    found = asyncio.run(read())
    if not found.rows:
        raise UserError(f"{documents}: {llm} extracted no triple; dropped: {_counts(found.dropped)}")
    write_triples(out, found.rows)
    print_lines([f"{out}: {counted(len(found.rows), 'triple')}; dropped: {_counts(found.dropped)}"])


@app.command("suggest-templates", context_settings=SETTINGS)
def suggest_templates(
    environment: EnvironmentName,
    llm: Annotated[str, Option(metavar="LLM", help="Drafts the templates.")],
    out: Annotated[Path, Option(metavar="FILE.yaml", help="The template file to write.", **OUT_FILE)],
    source: Annotated[
        Path | None, Option("--from", metavar="TEMPLATES.yaml", help="Examples; by default the templates of its tasks.")
    ] = None,
    count: Annotated[int, Option(metavar="N", min=1, help="How many templates.")] = 10,
) -> None:
    """Have an LLM draft further templates.

    Drafts whose questions do not hold are dropped.
    """
    from r_eval.environments.sandbox import Sandbox
    from r_eval.tasks.base import open_environment, task_files
    from r_eval.tasks.llm_client import LLMClient, reply_cache
    from r_eval.tasks.seasons import environment_from
    from r_eval.tasks.suggest import suggest
    from r_eval.tasks.templates import Template, read_templates
    from r_eval.tasks.templates.schema import as_yaml

    opened = open_environment(environment)
    paths = [path.with_name(f"{path.stem}.templates.yaml") for path in task_files().values()]
    files = [read_templates(path) for path in paths if path.exists()] if source is None else [read_templates(source)]
    files = [file for file in files if source is not None or file.environment == environment]
    examples = [template for file in files for template in file.templates]
    if not examples:
        raise UserError(f"no installed task has templates for {environment}: name a file with a few of them in --from")

    async def draft() -> tuple[list[Template], Counter[str]]:
        with Sandbox() as sandbox, reply_cache(out.stem) as stored:
            async with LLMClient(llm, stored, {"max_tokens": REPLY_TOKENS}) as client:
                return await suggest(opened, examples, client, sandbox, count)

    templates, dropped = asyncio.run(draft())
    if not templates:
        raise UserError(f"no template drafted by {llm} passed the checks; dropped: {_counts(dropped)}")
    out.parent.mkdir(parents=True, exist_ok=True)
    head = HEAD.format(llm=llm) + f"environment: {environment_from(environment, out.parent)}\ntemplates:\n"
    out.write_text(head + as_yaml(templates), encoding="utf-8")
    print_lines([f"{out}: {len(templates)} templates; dropped: {_counts(dropped)}"])
    if len(templates) < count:
        complain(f"{llm} drafted only {len(templates)} of the {count} templates")


def _counts(dropped: Counter[str]) -> str:
    return ", ".join(f"{number} {reason}" for reason, number in dropped.items()) or "none"


class BoardCommands(TyperGroup):
    """`submit`, `add`, or, with runs in place of a command, `write`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Take a path, or what is there as a file or folder, for the runs of `write`."""
        is_run = args[0] not in self.commands and ("/" in args[0] or Path(args[0]).exists())
        return super().resolve_command(ctx, ["write", *args] if is_run else args)


leaderboard = group(
    "Write a leaderboard of many runs, or submit to one.",
    BoardCommands,
    context_settings={**SETTINGS, "ignore_unknown_options": True},
)
app.add_typer(leaderboard, name="leaderboard")


@leaderboard.command(context_settings=SETTINGS)
def write(
    runs: RunPaths,
    out: Annotated[Path, Option(metavar="DIR", help="The folder of the leaderboard.", **OUT_FOLDER)],
    season: Annotated[
        list[Path] | None, Option(metavar="QUESTIONS.jsonl", help="A question file with its season; repeatable.")
    ] = None,
) -> None:
    """Write the leaderboard of some runs; `write` may be left out.

    The runs may be over several versions of a question set.
    """
    from r_eval.analysis.leaderboard import write_leaderboard

    _print_board(*write_leaderboard([open_run(path) for path in runs], out, season or []))


@leaderboard.command(context_settings=SETTINGS)
def submit(
    run: RunPath,
    out: Annotated[Path, Option(metavar="FILE", help="The file to write, such as my-system.json.", **OUT_FILE)],
    system: Annotated[str, Option(help="The system to submit, where the run has several.")] = "",
) -> None:
    """Package a run's answers for submission (results.json)."""
    from r_eval.analysis.submissions import package
    from r_eval.folder import write_whole

    answers = package(open_run(run), system)
    write_whole(out, json.dumps(answers, ensure_ascii=False, indent=1) + "\n")
    print_lines([f"{out}: {len(answers)} answers"])


@leaderboard.command(context_settings=SETTINGS)
def add(
    board: Annotated[Path, Argument(metavar="BOARD", help="The folder of a leaderboard.")],
    file: Annotated[Path, Argument(metavar="FILE", help="Answers that were sent in (results.json).")],
    approved_by: Annotated[str, Option(metavar="NAME", help="Who approved them.")],
) -> None:
    """Add answers that were sent in, and write the leaderboard anew."""
    from r_eval.analysis.leaderboard import approve

    _print_board(*approve(board, file, approved_by))


def _print_board(page: Path, rows: pandas.DataFrame) -> None:
    """Who leads on each version, and where the page is."""
    from r_eval.analysis.leaderboard import UNKNOWN, standings

    for _, own in rows.groupby("place"):
        found = standings(own)
        scored = found["total_score"].fillna(found["generation_score"]) > 0
        names = ", ".join(found.loc[(found["rank"] == 1).fillna(False) & scored, "system"]) or "no system"
        questions = own.groupby(["condition", "system"]).size().iloc[0]
        print_lines([f"{own['version'].iloc[0]}: questions {questions}, systems {len(found)}, first: {names}"])
    print_lines([f"Leaderboard {page}"])
    if (rows["version"] == UNKNOWN).any():
        complain("some questions belong to no known season; name the files that r-eval generate wrote in --season")
