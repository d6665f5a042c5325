"""`r-eval data export`: a question file as a dataset for the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from r_eval.tasks.export import export as write_dataset


def export(
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS.jsonl", help="The question file.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="The dataset's name; by default the file's.")
    ] = None,
    licence: Annotated[
        str, typer.Option("--licence", metavar="LICENCE", help="The dataset's licence, such as cc-by-4.0.")
    ] = "other",
    demonstrations: Annotated[
        Path | None, typer.Option("--demonstrations", metavar="FILE.jsonl", help="Write these as a split of their own.")
    ] = None,
) -> None:
    """Write a question file as a dataset for the Hugging Face Hub, with a card."""
    typer.echo(write_dataset(questions, out, name or questions.name.partition(".")[0], licence, demonstrations))
