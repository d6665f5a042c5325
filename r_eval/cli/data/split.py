"""`r-eval data split`: the public questions and the private answers of a question file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from r_eval.errors import UserError
from r_eval.tasks.questions import read_questions
from r_eval.tasks.seasons import read_season, write_set


def split(
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS.jsonl", help="The question file.")],
    public: Annotated[Path, typer.Option("--public", metavar="FILE.jsonl", help="Write the questions here.")],
    private: Annotated[Path, typer.Option("--private", metavar="FILE.jsonl", help="Write the answers here.")],
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Decides the public ids.")] = 0,
) -> None:
    """Split a question file into public questions and private answers."""
    found, season = read_questions(questions), read_season(questions)
    for path in (public, private):
        if path.resolve() == questions.resolve():
            raise UserError(f"{path} is the file to split: name another one to write")
    write_set(found, public, season and season.from_folder(questions.parent, private.parent), private, seed)
    sys.stdout.write(f"{public}: {len(found)} questions without answers\n{private}: their answers by public id\n")
