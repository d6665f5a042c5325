"""Writes the files of a season: the questions, or their public and private halves, each with its sidecar."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.tasks.questions import write_questions
from r_eval.tasks.seasons.refresh import Refresher
from r_eval.tasks.seasons.season import (
    Season,
    content_hash,
    environment_seen_from,
    records_of,
    seen_from,
    write_season,
)
from r_eval.tasks.seasons.split import split, write_public


def season_of(source: Path, out: Path, name: str, environment: Environment, seed: int, count: int) -> Season:
    """The first season of a question file.

    Args:
        source: The template or graph file.
        out: The question file, from whose folder other files are named.
        name: Of the environment, as it can be opened from the present folder; "" of a file of triples.
        count: How many questions were made.
    """
    return Season(
        environment=environment_seen_from(name, out.parent),
        environment_version=environment.version,
        seed=seed,
        count=count,
        templates=content_hash(source),
        file=seen_from(source, out.parent),
        records=records_of(source, environment),
    )


async def next_season(
    refresher: Refresher, season: Season, out: Path, environment: Environment, sandbox: Sandbox, left_out: int
) -> Season:
    """A season as the one after those that a refresher has read, with the note of what changed."""
    changes = await refresher.changes(season, environment, sandbox, left_out)
    following = {"version": str(refresher.version), "previous": refresher.previous(out), "changes": changes}
    return season.model_copy(update=following)


def write_set(questions: Sequence[Question], out: Path, season: Season | None, private: Path | None, seed: int) -> None:
    """Write a question set.

    Args:
        out: The question file, or its public half where `private` is given.
        season: Written beside the file with the answers; beside the public half, only what may be told of it.
        private: The file that holds the answers by public id.
        seed: Of the public ids.

    Raises:
        UserError: Both halves would be the same file.
    """
    if private is None:
        write_questions(out, questions)
        if season is not None:
            write_season(out, season)
        return
    if private.resolve() == out.resolve():
        raise UserError(f"{out} would be the public and the private file: name two")
    kept = split(questions, seed)
    write_public(out, kept)
    write_questions(private, kept)
    if season is not None:
        write_season(out, season.public())
        write_season(private, season.private())
