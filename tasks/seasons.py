"""Seasons: a version for a question set, the next set from a newer snapshot, the split into public and private halves.

`questions.jsonl` has its season in the sidecar `questions.season.json`, which names files from its own folder. It holds
no time and no folder of the machine, so that the same inputs give the same bytes. The minor version counts seasons.

A question counts as asked before if an earlier season has its text, whatever its case and spaces, or its program: the
same question in other words. Earlier seasons are found through the sidecars, each of which names the one before it.
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
from r_eval.tasks.files import complaint
from r_eval.tasks.questions import folded, read_questions, write_questions

FIRST = "1.0.0"
"""The version of a first season, and of a question file without one."""


class Season(BaseModel):
    """Where a question file comes from.

    Attributes:
        version: Of the question set, as major.minor.patch.
        environment: Its name; a file in it is named from the sidecar's folder. "" where questions are of triples.
        environment_version: What the environment said of its knowledge; without one, the hash of the triples.
        seed: What chose the records; None where that is kept private.
        count: How many questions the file holds.
        templates: Hash of the template or graph file's content; "" where that is kept private.
        file: Name of the template or graph file.
        previous: Name of the question file of the season before.
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
        """The same for a sidecar in another folder."""
        file, previous = (name and os.path.relpath(old / name, new) for name in (self.file, self.previous))
        environment = environment_from(located(self.environment, old), new)
        return self.model_copy(update={"environment": environment, "file": file, "previous": previous})


def season_path(questions: Path) -> Path:
    """The sidecar of a question file."""
    return questions.with_name(f"{questions.stem}.season.json")


def read_season(questions: Path) -> Season | None:
    """The season of a question file; None where it has no sidecar.

    Raises:
        UserError: The sidecar is damaged; names the file and the key.
    """
    path = season_path(questions)
    if not path.exists():
        return None
    try:
        return Season.model_validate_json(read_text(path, "season file"))
    except ValidationError as error:
        raise UserError(f"{path}: {complaint(error, Season)}") from None


def write_season(questions: Path, season: Season) -> None:
    """Write the sidecar of a question file, without the keys that it does not state."""
    data = {"schema": 1, "version": season.version, **season.model_dump(exclude_defaults=True)}
    season_path(questions).write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def keep_season(questions: Path, copy: Path) -> None:
    """Write the season of a question file, where it has one, for the copy that a run keeps, which names no folder.

    Raises:
        UserError: The sidecar is damaged.
    """
    if (season := read_season(questions)) is not None:
        names = {key: getattr(season, key).rpartition("/")[2] for key in ("environment", "file", "previous")}
        write_season(copy, season.model_copy(update=names))


def environment_from(name: str, folder: Path) -> str:
    """An environment's name with its file, if it has one, named from a folder."""
    scheme = next((one for one in ("openapi:", "langchain:") if name.startswith(one)), "")
    rest = name.removeprefix(scheme)
    path, colon, attribute = (rest, "", "") if is_file(Path(rest)) else rest.rpartition(":")
    return f"{scheme}{os.path.relpath(path, folder)}{colon}{attribute}" if path and is_file(Path(path)) else name


def content_hash(path: Path) -> str:
    """Hash of a file's content, the same whatever ends its lines."""
    return hashlib.blake2b(path.read_bytes().replace(b"\r\n", b"\n"), digest_size=8).hexdigest()


class Refresher:
    """The seasons before, and what the next one is to be.

    Args:
        paths: Question files of earlier seasons; those before them are found through their sidecars, in their folders.

    Attributes:
        earlier: The earlier files by their resolved paths, each with its questions.
        path, questions, season: Of the latest.
        version, seed: Of the season to be made, unless it is given another seed.
        lost: A sentence for every earlier season whose file is not there.

    Raises:
        UserError: A file cannot be read; names it.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.lost: list[str] = []
        self.earlier: dict[Path, list[Question]] = {}
        versions: dict[Path, Version] = {}
        waiting = [path.resolve() for path in paths]
        while waiting:
            path = waiting.pop()
            if path in self.earlier:
                continue
            season = read_season(path)
            self.earlier[path], versions[path] = read_questions(path), Version(season.version if season else FIRST)
            if season is not None and season.previous:
                before = (path.parent / season.previous).resolve()
                if before.is_file():
                    waiting.append(before)
                else:
                    text = "is not there: its questions may come again, unless a further --refresh names its file"
                    self.lost.append(f"the season before {path.name}, {season.previous}, {text}")
        self.asked = [question for questions in self.earlier.values() for question in questions]
        self._texts = {folded(question.question) for question in self.asked}
        self._programs = {question.program for question in self.asked if question.program}
        self.path = max(versions, key=lambda path: (versions[path], path))
        self.questions, self.season = self.earlier[self.path], read_season(self.path)
        self.version = f"{versions[self.path].major}.{versions[self.path].minor + 1}.0"
        text = f"{(self.season.seed if self.season else None) or 0}/{self.version}"
        self.seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest())

    def new(self, made: Iterable[Question]) -> list[Question]:
        """Those that no earlier season has asked."""
        return [q for q in made if folded(q.question) not in self._texts and q.program not in self._programs]

    def choose(self, made: Iterable[Question], count: int) -> list[Question]:
        """So many of the new ones, in the order made: of each type or template in turn, so that none is crowded out."""
        turns: collections.Counter[str] = collections.Counter()
        ranked = []
        for place, question in enumerate(new := self.new(made)):
            kind = str(question.meta.get("type") or question.meta.get("template"))
            ranked.append((turns[kind], place))
            turns[kind] += 1
        return [new[place] for place in sorted(place for _, place in sorted(ranked)[:count])]

    def next_season(self, season: Season, folder: Path) -> Season:
        """A first season as the one after those that were read.

        Args:
            folder: Of the question file.
        """
        previous = os.path.relpath(self.path, folder.resolve())
        return season.model_copy(update={"version": self.version, "previous": previous})


def split(questions: Iterable[Question], seed: int = 0) -> list[Question]:
    """The private questions, under their public ids and sorted by them; the old id is kept as meta's `question_id`.

    A public id is a hash of what is public anyway, the text and its context, so that it tells neither the template nor
    the place in the private file.

    Args:
        seed: Another one gives other ids, so that two sets that share a question do not show it by its id.
    """
    met: collections.Counter[bytes] = collections.Counter()
    private = []
    for question in sorted(questions, key=lambda q: q.id):
        text = json.dumps([seed, question.question, [[d.title, d.text] for d in question.context]])
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        met[digest] += 1
        name = hashlib.blake2b(digest + str(met[digest]).encode(), digest_size=8).hexdigest()
        private.append(question.model_copy(update={"id": name, "meta": {**question.meta, "question_id": question.id}}))
    return sorted(private, key=lambda q: q.id)


def write_set(questions: Sequence[Question], out: Path, season: Season | None, private: Path | None, seed: int) -> None:
    """Write a question set, or its public and private halves.

    A public line has `id`, `question` and perhaps `context`; of the season, the public half states neither seed
    nor templates, since from these the answers can be made.

    Args:
        out: The question file, or its public half where `private` is given.
        season: Written beside the file with the answers.
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
        raise UserError(f"{out} would be both the public and the private file: name two")
    answered = split(questions, seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    keys = {"id", "question", "context"}
    lines = [q.model_dump_json(include=keys if q.context else keys - {"context"}) for q in answered]
    out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    write_questions(private, answered)
    if season is not None:
        stated = season.model_dump(include={"version", "environment", "environment_version", "count"})
        write_season(out, Season(**stated))
        write_season(private, season)
