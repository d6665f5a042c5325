"""Seasons of a question set: versions, the next set from a newer snapshot, and public and private halves.

The season of `questions.jsonl` is in the sidecar `questions.season.json`, with paths relative to its own folder and no
time, so that the same inputs produce the same bytes. The minor version counts seasons.
"""

from __future__ import annotations

import collections
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from r_eval.environments.opening import located
from r_eval.errors import UserError
from r_eval.files import is_file, read_text
from r_eval.records import Question
from r_eval.tasks.files import validation_message
from r_eval.tasks.questions import folded, read_questions, write_questions

FIRST = "1.0.0"
"""The version of a first season and of a question file without a sidecar."""
PATHS = ("file", "previous")


class Season(BaseModel):
    """The origin of a question file.

    Attributes:
        version: Version of the question set as major.minor.patch.
        environment: Name of the environment, with files relative to the sidecar's folder; "" for a file of triples.
        environment_version: Version of the environment's data, or the hash of the triples.
        seed: The seed of the generation; None if private.
        count: Number of questions in the file.
        file: Name of the template or graph file; "" if private.
        previous: Name of the question file of the previous season.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_: Literal[1] = Field(default=1, alias="schema")
    version: Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}$")] = FIRST
    environment: str
    environment_version: str
    seed: int | None = None
    count: int
    file: str = ""
    previous: str = ""

    def from_folder(self, old: Path, new: Path) -> Season:
        """A copy for a sidecar in another folder."""
        names = {key: name and os.path.relpath(old / name, new) for key in PATHS if (name := getattr(self, key))}
        return self.model_copy(update=names | {"environment": environment_from(located(self.environment, old), new)})


def season_path(questions: Path) -> Path:
    """The sidecar of a question file."""
    return questions.with_name(f"{questions.stem}.season.json")


def read_season(questions: Path) -> Season | None:
    """The season of a question file; None without a sidecar.

    Raises:
        UserError: The sidecar is damaged; names the file and the key.
    """
    if not (path := season_path(questions)).exists():
        return None
    try:
        return Season.model_validate_json(read_text(path, "season file"))
    except ValidationError as error:
        raise UserError(f"{path}: {validation_message(error, Season)}") from None


def write_season(questions: Path, season: Season) -> None:
    """Write the sidecar of a question file without default values."""
    data = {"schema": 1, "version": season.version, **season.model_dump(exclude_defaults=True)}
    season_path(questions).write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def keep_season(questions: Path, copy: Path) -> None:
    """Write the sidecar, if any, for the copy of a question file in a run, without folders."""
    if (season := read_season(questions)) is not None:
        names = {key: getattr(season, key).rpartition("/")[2] for key in ("environment", *PATHS)}
        write_season(copy, season.model_copy(update=names))


def environment_from(name: str, folder: Path) -> str:
    """An environment's name with its file, if any, relative to a folder."""
    scheme = next((prefix for prefix in ("openapi:", "langchain:") if name.startswith(prefix)), "")
    rest = name.removeprefix(scheme)
    path, colon, attribute = (rest, "", "") if is_file(Path(rest)) else rest.rpartition(":")
    return f"{scheme}{os.path.relpath(path, folder)}{colon}{attribute}" if path and is_file(Path(path)) else name


class Refresher:
    """The earlier seasons, and the version and seed of the next one.

    Args:
        paths: Question files of earlier seasons; sidecars name the seasons before these.

    Attributes:
        earlier: The questions of the earlier files, by resolved path.
        n_earlier: Their number.
        questions: The questions of the latest season.
        version, seed: Of the next season.
        missing: A sentence for every earlier season whose file does not exist.

    Raises:
        UserError: A file cannot be read.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.missing: list[str] = []
        self.earlier: dict[Path, list[Question]] = {}
        latest: tuple[list[int], Path, int] = ([], Path(), 0)
        queue = [path.resolve() for path in paths]
        while queue:
            if (path := queue.pop()) in self.earlier:
                continue
            season, self.earlier[path] = read_season(path), read_questions(path)
            numbers = [int(number) for number in (season.version if season else FIRST).split(".")]
            latest = max(latest, (numbers, path, (season and season.seed) or 0))
            previous = path.parent / season.previous if season and season.previous else path
            if previous.is_file():
                queue.append(previous.resolve())
            else:
                text = "is missing: its questions may be repeated unless another --refresh names its file"
                self.missing.append(f"the season before {path.name}, {previous.name}, {text}")
        (major, minor, _), self._latest, seed = latest
        self.questions, self.version = self.earlier[self._latest], f"{major}.{minor + 1}.0"
        self.seed = int.from_bytes(hashlib.blake2b(f"{seed}/{self.version}".encode(), digest_size=4).digest())
        known = [question for questions in self.earlier.values() for question in questions]
        self.n_earlier = len(known)
        self._known = {text for q in known for text in (folded(q.question), q.program) if text}

    def new(self, candidates: Iterable[Question]) -> list[Question]:
        """The candidates of which no earlier season has the program or the text, ignoring case and spaces."""
        return [q for q in candidates if self._known.isdisjoint((folded(q.question), q.program))]

    def choose(self, candidates: Iterable[Question], count: int) -> list[Question]:
        """A number of new candidates in their order, selected evenly from the types or templates."""
        turns: collections.Counter[object] = collections.Counter()
        ranked = []
        for place, question in enumerate(new := self.new(candidates)):
            kind = question.meta.get("type") or question.meta.get("template")
            ranked.append((turns[kind], place))
            turns[kind] += 1
        return [new[place] for place in sorted(place for _, place in sorted(ranked)[:count])]

    def next_season(self, season: Season, folder: Path) -> Season:
        """A first season as the successor of the earlier ones, for a question file in a folder."""
        previous = os.path.relpath(self._latest, folder.resolve())
        return season.model_copy(update={"version": self.version, "previous": previous})


def split(questions: Iterable[Question], seed: int = 0) -> list[Question]:
    """The private questions with their public ids, sorted by these; `meta.question_id` has the original id.

    A public id is a hash of seed, text and context: it reveals neither the template nor the place in the private file.
    """
    counts: collections.Counter[str] = collections.Counter()
    private = []
    for q in sorted(questions, key=lambda q: q.id):
        text = json.dumps([seed, q.question, [[d.title, d.text] for d in q.context]])
        counts[text] += 1
        name = hashlib.blake2b(f"{counts[text]}{text}".encode(), digest_size=8).hexdigest()
        private.append(q.model_copy(update={"id": name, "meta": {**q.meta, "question_id": q.id}}))
    return sorted(private, key=lambda q: q.id)


def write_set(questions: Sequence[Question], out: Path, season: Season | None, private: Path | None, seed: int) -> None:
    """Write a set with its season, or its halves: the public one lacks seed and templates, which reveal answers.

    Args:
        out: The question file, or its public half if `private` names the file with the answers by public id.
        seed: Seed of the public ids.

    Raises:
        UserError: Both halves would be the same file.
    """
    if private is not None:
        if private.resolve() == out.resolve():
            raise UserError(f"{out} would be both the public and the private file: name two")
        questions = split(questions, seed)
        keys = {"id", "question", "context"}
        lines = (q.model_dump_json(include=keys, exclude_defaults=True) + "\n" for q in questions)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text("".join(lines), encoding="utf-8")
        if season is not None:
            fields = season.model_dump(include={"version", "environment", "environment_version", "count"})
            write_season(out, Season(**fields))
    write_questions(private or out, questions)
    if season is not None:
        write_season(private or out, season)
