"""Commands about questions: make them, check them, hand them on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from r_eval.cli.options import Json
from r_eval.errors import UserError

app = typer.Typer(rich_markup_mode=None)


@app.command()
def generate(
    templates: Annotated[
        Path, typer.Argument(metavar="TEMPLATES.yaml", help="The template, graph or placeholder file.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.jsonl", help="The question file to write.")],
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="How many questions; 20, or as many as in OLD.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Decides which records are taken; 0, or with OLD another one.")
    ] = None,
    environment: Annotated[str | None, typer.Option("--environment", help="In place of the file's own.")] = None,
    refresh: Annotated[
        list[Path] | None,
        typer.Option("--refresh", metavar="OLD.jsonl", help="Make the next season: ask nothing that this one asks."),
    ] = None,
    private: Annotated[
        Path | None,
        typer.Option("--private", metavar="FILE.jsonl", help="Keep the answers here, and only questions in --out."),
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option("--language", metavar="CODE", help="Such as en; in place of the file's own.")
    ] = None,
    paraphrase: Annotated[
        str | None,
        typer.Option("--paraphrase", metavar="LLM", help="Rewords the questions, where it keeps what they name."),
    ] = None,
) -> None:
    """Make questions with gold answers.

    They are made from templates, a graph, or facts with placeholders.
    """
    from r_eval.cli.making import generate_command

    how = refresh or [], private, language or [], paraphrase
    raise typer.Exit(generate_command(templates, count, seed, out, environment, *how))


@app.command("suggest-templates")
def suggest_templates(
    environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT", help="A name, module:Class or file.py:Class.")],
    llm: Annotated[str, typer.Option("--llm", metavar="LLM", help="Drafts the templates.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.yaml", help="The template file to write.")],
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="TEMPLATES.yaml", help="Templates to begin with; else those of its tasks."),
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="How many templates.")] = 10,
    seed: Annotated[int, typer.Option("--seed", help="Decides which templates and records are shown.")] = 0,
) -> None:
    """Have an LLM draft further templates.

    Those whose questions hold are kept.
    """
    from r_eval.cli.suggesting import suggest_command

    raise typer.Exit(suggest_command(environment, llm, source, count, seed, out))


@app.command("extract-triples")
def extract_triples(
    documents: Annotated[Path, typer.Argument(metavar="DOCUMENTS", help="A .txt or .jsonl file, or a folder.")],
    llm: Annotated[str, typer.Option("--llm", metavar="LLM", help="Reads the documents.")],
    out: Annotated[Path, typer.Option("--out", metavar="TRIPLES.tsv", help="The file to write.")],
    known: Annotated[
        Path | None, typer.Option("--known", metavar="TRIPLES.tsv", help="Facts that are no news are left out.")
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option("--names", metavar="NAMES.txt", help="How names are written: one a line, others after tabs."),
    ] = None,
) -> None:
    """Read triples out of documents with an LLM.

    Graph questions can be made from them.
    """
    from r_eval.cli.extracting import extract_command

    raise typer.Exit(extract_command(documents, llm, out, known, names))


@app.command()
def split(
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS.jsonl", help="The question file.")],
    public: Annotated[Path, typer.Option("--public", metavar="FILE.jsonl", help="For the questions alone.")],
    private: Annotated[Path, typer.Option("--private", metavar="FILE.jsonl", help="For the answers by public id.")],
    seed: Annotated[int, typer.Option("--seed", help="Another one gives other public ids.")] = 0,
) -> None:
    """Part a question file into a public and a private one."""
    from r_eval.cli.seasons import split_command

    raise typer.Exit(split_command(questions, public, private, seed))


@app.command()
def export(
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS.jsonl", help="The question file.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The dataset's folder, to be made.")],
    name: Annotated[str | None, typer.Option("--name", help="As the card calls it; the file's by default.")] = None,
    licence: Annotated[str, typer.Option("--licence", help="For example cc-by-4.0.")] = "other",
    demonstrations: Annotated[
        Path | None, typer.Option("--demonstrations", metavar="FILE.jsonl", help="Becomes a split of its own.")
    ] = None,
) -> None:
    """Write a question file as a dataset for the Hugging Face Hub, with a card."""
    from r_eval.tasks.export import export as write

    typer.echo(write(questions, out, name or questions.name.partition(".")[0], licence, demonstrations))


@app.command()
def check(
    targets: Annotated[list[str], typer.Argument(metavar="TARGET...", help="Environment, task, .yaml or .jsonl file.")],
    environment: Annotated[
        str | None, typer.Option("--environment", help="Over which the programs of question files run.")
    ] = None,
    json: Json = False,
) -> None:
    """Say what is amiss in a file, a task or an environment.

    Files are question files, templates and grids; tasks go by their names (wiki/*).
    """
    from r_eval.cli.making import check_command

    raise typer.Exit(check_command(targets, environment, json))


@app.command()
def new(
    kind: Annotated[str, typer.Argument(metavar="domain", help="What to make.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="For example my-recipes.")],
    folder: Annotated[Path | None, typer.Option("--dir", help="The project's folder; ./NAME by default.")] = None,
) -> None:
    """Write a project that runs as it stands.

    It has query APIs, templates, questions, a grid and a test.
    """
    from r_eval.cli.making import new_command

    if kind != "domain":
        raise UserError(f"unknown kind '{kind}'. Known: domain")
    raise typer.Exit(new_command(name, folder))
