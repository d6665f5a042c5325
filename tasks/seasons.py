"""Seasons: versions of a question set, the next set from a newer snapshot, and the split into public and private
halves.

The season of `questions.jsonl` is in the sidecar `questions.season.json`, with paths relative to its own folder. It
contains no time and no absolute path, so that the same inputs produce the same bytes. The minor version counts seasons.

A question is a repeat if an earlier season has its text (ignoring case and spaces) or its program. Earlier seasons are
found through the sidecars, each of which names the previous one.
"""

from __future__ import annotations

import collections
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from packaging.version import Version
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from r_eval.environments.opening import located
from r_eval.errors import UserError
from r_eval.files import is_file, read_text
from r_eval.records import Question
from r_eval.tasks.files import validation_message
from r_eval.tasks.questions import folded, read_questions, write_questions

FIRST = "1.0.0"
"""The version of a first season and of a question file without a sidecar."""


class Season(BaseModel):
    """The origin of a question file.

    Attributes:
        version: Version of the question set as major.minor.patch.
        environment: Name of the environment, with files relative to the sidecar's folder; "" for a file of triples.
        environment_version: Version of the environment's data, or the hash of the triples.
        seed: The seed of the generation; None if private.
        count: Number of questions in the file.
        templates: Content hash of the template or graph file; "" if private.
        file: Name of the template or graph file.
        previous: Name of the question file of the previous season.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_: Literal[1] = Field(default=1, alias="schema")
    version: Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}$")] = FIRST
    environment: str
    environment_version: str
    seed: int | None = None
    count: int
    templates: str = ""
    file: str = ""
    previous: str = ""

    def from_folder(self, old: Path, new: Path) -> Season:
        """A copy for a sidecar in another folder."""
        file, previous = (name and os.path.relpath(old / name, new) for name in (self.file, self.previous))
        environment = environment_from(located(self.environment, old), new)
        return self.model_copy(update={"environment": environment, "file": file, "previous": previous})


def season_path(questions: Path) -> Path:
    """The sidecar of a question file."""
    return questions.with_name(f"{questions.stem}.season.json")


def read_season(questions: Path) -> Season | None:
    """The season of a question file; None without a sidecar.

    Raises:
        UserError: The sidecar is damaged; names the file and the key.
    """
    path = season_path(questions)
    if not path.exists():
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
    """Write the sidecar, if any, for the copy of a question file in a run, without folders.

    Raises:
        UserError: The sidecar is damaged.
    """
    if (season := read_season(questions)) is not None:
        names = {key: getattr(season, key).rpartition("/")[2] for key in ("environment", "file", "previous")}
        write_season(copy, season.model_copy(update=names))


def environment_from(name: str, folder: Path) -> str:
    """An environment's name with its file, if any, relative to a folder."""
    scheme = next((prefix for prefix in ("openapi:", "langchain:") if name.startswith(prefix)), "")
    rest = name.removeprefix(scheme)
    path, colon, attribute = (rest, "", "") if is_file(Path(rest)) else rest.rpartition(":")
    return f"{scheme}{os.path.relpath(path, folder)}{colon}{attribute}" if path and is_file(Path(path)) else name


def content_hash(path: Path) -> str:
    """Hash of a file's content, independent of its line endings."""
    return hashlib.blake2b(path.read_bytes().replace(b"\r\n", b"\n"), digest_size=8).hexdigest()


class Refresher:
    """The earlier seasons, and the version and seed of the next one.

    Args:
        paths: Question files of earlier seasons; the seasons before these are found through the sidecars.

    Attributes:
        earlier: The earlier files by their resolved paths, each with its questions.
        path, questions, season: Of the latest season.
        version, seed: Of the next season.
        missing: A sentence for every earlier season whose file does not exist.

    Raises:
        UserError: A file cannot be read.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.missing: list[str] = []
        self.earlier: dict[Path, list[Question]] = {}
        versions: dict[Path, Version] = {}
        queue = [path.resolve() for path in paths]
        while queue:
            path = queue.pop()
            if path in self.earlier:
                continue
            season = read_season(path)
            self.earlier[path], versions[path] = read_questions(path), Version(season.version if season else FIRST)
            if season is not None and season.previous:
                previous = (path.parent / season.previous).resolve()
                if previous.is_file():
                    queue.append(previous)
                else:
                    text = "is not there: its questions may come again, unless a further --refresh names its file"
                    self.missing.append(f"the season before {path.name}, {season.previous}, {text}")
        self.earlier_questions = [question for questions in self.earlier.values() for question in questions]
        self._texts = {folded(question.question) for question in self.earlier_questions}
        self._programs = {question.program for question in self.earlier_questions if question.program}
        self.path = max(versions, key=lambda path: (versions[path], path))
        self.questions, self.season = self.earlier[self.path], read_season(self.path)
        self.version = f"{versions[self.path].major}.{versions[self.path].minor + 1}.0"
        text = f"{(self.season.seed if self.season else None) or 0}/{self.version}"
        self.seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest())

    def new(self, candidates: Iterable[Question]) -> list[Question]:
        """The candidates that no earlier season contains."""
        return [q for q in candidates if folded(q.question) not in self._texts and q.program not in self._programs]

    def choose(self, candidates: Iterable[Question], count: int) -> list[Question]:
        """A number of new candidates in their order, selected evenly from the types or templates."""
        turns: collections.Counter[str] = collections.Counter()
        ranked = []
        for place, question in enumerate(new := self.new(candidates)):
            kind = str(question.meta.get("type") or question.meta.get("template"))
            ranked.append((turns[kind], place))
            turns[kind] += 1
        return [new[place] for place in sorted(place for _, place in sorted(ranked)[:count])]

    def next_season(self, season: Season, folder: Path) -> Season:
        """A first season as the successor of the earlier ones.

        Args:
            folder: Folder of the question file.
        """
        previous = os.path.relpath(self.path, folder.resolve())
        return season.model_copy(update={"version": self.version, "previous": previous})


def split(questions: Iterable[Question], seed: int = 0) -> list[Question]:
    """The private questions with their public ids, sorted by these; `meta.question_id` has the original id.

    A public id is a hash of the text and its context, so that it reveals neither the template nor the position in the
    private file.

    Args:
        seed: Changes the ids, so that two sets do not reveal a common question by its id.
    """
    counts: collections.Counter[bytes] = collections.Counter()
    private = []
    for question in sorted(questions, key=lambda q: q.id):
        text = json.dumps([seed, question.question, [[d.title, d.text] for d in question.context]])
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        counts[digest] += 1
        name = hashlib.blake2b(digest + str(counts[digest]).encode(), digest_size=8).hexdigest()
        private.append(question.model_copy(update={"id": name, "meta": {**question.meta, "question_id": question.id}}))
    return sorted(private, key=lambda q: q.id)


def write_set(questions: Sequence[Question], out: Path, season: Season | None, private: Path | None, seed: int) -> None:
    """Write a question set, or its public and private halves.

    A public line has `id`, `question` and possibly `context`; the public sidecar omits seed and templates, from which
    the answers could be derived.

    Args:
        out: The question file, or its public half if `private` is set.
        season: Written next to the file with the answers.
        private: The file with the answers by public id.
        seed: Seed of the public ids.

    Raises:
        UserError: Both halves would be the same file.
    """
    if private is None:
        write_questions(out, questions)
        if season is not None:
            write_season(out, season)
        return
    if private.resolve() == out.resolve():
        raise UserError(f"{out} would be both the public and the private file: name two")
    published = split(questions, seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    keys = {"id", "question", "context"}
    lines = [q.model_dump_json(include=keys if q.context else keys - {"context"}) for q in published]
    out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    write_questions(private, published)
    if season is not None:
        fields = season.model_dump(include={"version", "environment", "environment_version", "count"})
        write_season(out, Season(**fields))
        write_season(private, season)
