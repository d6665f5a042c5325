"""The sidecar of a question file: `questions.jsonl` has its season in `questions.season.json`.

    {"schema": 1, "version": "1.1.0", "environment": "wiki", "environment_version": "1f0c", "seed": 0, "count": 20,
     "templates": "9a3b", "file": "wiki.templates.yaml", "records": {"river": 40},
     "previous": {"version": "1.0.0", "questions": "77d0", "file": "old.jsonl"}, "changes": ["..."]}

It holds no time and no folder of the machine, so that the same inputs give the same bytes. Files are named from the
sidecar's own folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from r_eval.environments.base import Environment
from r_eval.environments.opening import located
from r_eval.errors import UserError
from r_eval.files import is_file, read_yaml
from r_eval.tasks.files import first_complaint
from r_eval.tasks.seasons.version import Version


class Previous(BaseModel):
    """The season before.

    Attributes:
        questions: Hash of its question file.
        file: That file's name, "" where it is not to be told.
    """

    model_config = ConfigDict(extra="forbid")

    version: str
    questions: str
    file: str = ""


class Season(BaseModel):
    """Where a question file comes from.

    Attributes:
        version: Of the question set.
        environment: Its name; a file in it is named from the sidecar's folder. "" where a file of triples stood for it.
        environment_version: What the environment said of its knowledge; without one, the hash of the triples.
        seed: What chose the records; None where that is kept private.
        count: How many questions the file holds.
        templates: Hash of the template or graph file's content; "" where that is kept private.
        file: Name of the template or graph file.
        records: How many records of each kind, or triples, the environment had.
        changes: What is different from the season before, a sentence each.
        part: Which half of a split set the file is; "" where it is whole.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_: Literal[1] = Field(default=1, validation_alias="schema", serialization_alias="schema")
    version: str = str(Version())
    environment: str
    environment_version: str
    seed: int | None = None
    count: int
    templates: str = ""
    file: str = ""
    records: dict[str, int] = {}
    previous: Previous | None = None
    changes: list[str] = []
    part: Literal["", "public", "private"] = ""

    @field_validator("version")
    @classmethod
    def _three_numbers(cls, text: str) -> str:
        try:
            return str(Version.parse(text))
        except UserError as error:
            raise ValueError(str(error)) from None

    def public(self) -> Season:
        """What of it may be told: neither seed, templates nor changes, since from these the answers can be made."""
        return Season(
            version=self.version,
            environment=self.environment,
            environment_version=self.environment_version,
            count=self.count,
            part="public",
        )

    def private(self) -> Season:
        """The same of the half that holds the answers."""
        return self.model_copy(update={"part": "private"})

    def in_run(self) -> Season:
        """The same for a run's copy of its questions: files by their bare names, since a run tells no folder."""
        before = self.previous
        return self.model_copy(
            update={
                "environment": self.environment.rpartition("/")[2],
                "file": self.file.rpartition("/")[2],
                "previous": before.model_copy(update={"file": before.file.rpartition("/")[2]}) if before else None,
            }
        )


def season_path(questions: Path) -> Path:
    """The sidecar of a question file."""
    return questions.with_name(f"{questions.stem}.season.json")


def write_season(questions: Path, season: Season) -> None:
    """Write the sidecar of a question file; of a public season, only the keys that it tells."""
    whole = set() if season.part else {"part"}
    told = season.model_dump(by_alias=True, exclude_unset=season.seed is None, exclude=whole)
    text = json.dumps({"schema": season.schema_, **told}, ensure_ascii=False, indent=1)
    season_path(questions).write_text(text + "\n", encoding="utf-8")


def keep_season(questions: Path, copy: Path) -> None:
    """Write the season of a question file, where it has one, beside the copy of the questions that a run keeps.

    Raises:
        UserError: The sidecar is damaged.
    """
    season = read_season(questions)
    if season is not None:
        write_season(copy, season.in_run())


def read_season(questions: Path) -> Season | None:
    """The season of a question file; None where it has no sidecar.

    Raises:
        UserError: The sidecar is damaged; names the file and the key.
    """
    path = season_path(questions)
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        return Season.model_validate(data)
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise UserError(f"{path}: {first_complaint(error, whole='file')}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as JSON ({error})") from None


def content_hash(path: Path) -> str:
    """Hash of a file's content, the same whatever ends its lines."""
    return hashlib.blake2b(path.read_bytes().replace(b"\r\n", b"\n"), digest_size=8).hexdigest()


def seen_from(path: Path, folder: Path) -> str:
    """A file's name from a folder, with slashes; its bare name where no way leads there (another drive)."""
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:
        return path.name


def environment_seen_from(name: str, folder: Path) -> str:
    """An environment's name with its file, if it has one, named from a folder."""
    scheme, _, rest = name.partition(":")
    if scheme == "openapi" and is_file(Path(rest)):
        return f"openapi:{seen_from(Path(rest), folder)}"
    if name.endswith(".py") and is_file(Path(name)):
        return seen_from(Path(name), folder)
    where, colon, attribute = name.rpartition(":")
    if colon and where.startswith("langchain:") and is_file(Path(where.removeprefix("langchain:"))):
        return f"langchain:{seen_from(Path(where.removeprefix('langchain:')), folder)}:{attribute}"
    return f"{seen_from(Path(where), folder)}:{attribute}" if colon and is_file(Path(where)) else name


def moved(season: Season, old: Path, new: Path) -> Season:
    """A season whose question file goes to another folder, with the files that it names seen from there."""

    def seen(name: str) -> str:
        return seen_from(old.parent / name, new.parent) if name else ""

    before = season.previous
    return season.model_copy(
        update={
            "environment": environment_seen_from(environment_of(old, season), new.parent),
            "file": seen(season.file),
            "previous": before.model_copy(update={"file": seen(before.file)}) if before else None,
        }
    )


def environment_of(questions: Path, season: Season) -> str:
    """The name under which a season's environment can be opened from the present folder."""
    return located(season.environment, questions.parent)


def records_of(source: Path, environment: Environment) -> dict[str, int]:
    """How many records of each kind that a template file names an environment has now; for a graph file, its triples.

    What the environment does not have is left out.
    """
    data = read_yaml(source.read_text(encoding="utf-8"))
    if "graph" in data:
        return {"triples": sum(1 for _ in environment.triples())}
    found = {}
    for kind in sorted({kind for template in data.get("templates", []) for kind in _kinds(template)}):
        try:
            found[kind] = len(environment.records(kind))
        except KeyError:
            continue
    return found


def _kinds(template: dict[str, Any]) -> Iterator[str]:
    for joined in (template["from"], *(template.get("let") or {}).values()):
        yield joined["from"] if isinstance(joined, dict) else joined
