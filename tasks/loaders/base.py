"""What a format is: how the records of a published dataset become questions."""

from __future__ import annotations

import abc
import dataclasses
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from r_eval.errors import UserError, describe_invalid
from r_eval.plugins import unknown
from r_eval.records import Level, Question
from r_eval.tasks.loaders.hub import HUB, hub_records
from r_eval.tasks.loaders.reading import Fault, Record, json_records


@dataclasses.dataclass(frozen=True, slots=True)
class LeftOut:
    """Records that are sound but make no question: an unanswerable one, say."""

    why: str
    number: int = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Remark:
    """Something odd about records that are asked all the same; no record of its own."""

    what: str
    number: int = 1


class Broken(ValueError):
    """A record is not what the format says; the message says why."""


Item = Question | Fault | LeftOut | Remark


class Settings(BaseModel):
    """What can be set for a format."""

    model_config = ConfigDict(extra="forbid")


class Raw(BaseModel):
    """A record as it is published; what is not named is passed over."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text.strip()


Text = Annotated[str, AfterValidator(_filled)]
"""A text that says something, without the spaces around it."""


class Format(abc.ABC):
    """The form of a published dataset.

    A subclass in this package, or in one named by an entry point of the group `r_eval.formats`, is found by its `name`.

    Attributes:
        name: As a grid names it.
        expects: What a file holds, for the message about one that does not.
        signature: Keys by which a record is known.
        general: It is the form of many datasets, so that it can stand in for an installed task's own.
        seen: Records read so far, where a question is made of several.
        version: Hash of all that was read, where the questions that are made are a sample only.
    """

    name: ClassVar[str]
    expects: ClassVar[str]
    signature: ClassVar[frozenset[str]] = frozenset()
    level: ClassVar[Level] = "KA"
    general: ClassVar[bool] = False
    Settings: ClassVar[type[Settings]] = Settings
    seen: int | None = None
    version: str = ""

    def __init__(self, level: Level | None = None, **settings: Any) -> None:
        try:
            self.settings: Any = self.Settings.model_validate(settings)
        except ValidationError as error:
            raise UserError(f"format '{self.name}': {complaint(error, self.Settings)}") from None
        self.level_of_all = level

    @abc.abstractmethod
    def read(self, source: str, size: int | None, seed: int) -> Iterator[Item]:
        """Everything in a data set, as it comes.

        Args:
            source: A path, or `hf:ORGANISATION/NAME`.
            size, seed: How many questions are wanted, and in which order, for formats that cannot make all of them
                in bounded memory.

        Raises:
            UserError: It cannot be read at all.
        """

    @classmethod
    def fits(cls, path: Path, first: Sequence[Any]) -> int:
        """How surely a file is of this format; 0 is not.

        Args:
            first: Its first records, as far as it is JSON or CSV.
        """
        return len(cls.signature) if mostly(lambda record: cls.signature <= record.keys(), first) else 0


def mostly(fits: Callable[[dict[str, Any]], bool], first: Sequence[Any]) -> bool:
    """Whether a half of the first records or more fit; one of them may be broken."""
    return bool(first) and 2 * sum(isinstance(record, dict) and fits(record) for record in first) >= len(first)


class RecordFormat(Format):
    """A format in which one record makes one question."""

    Raw: ClassVar[type[BaseModel]] = Raw

    def records(self, source: str) -> Iterator[Record | Fault]:
        """The records of a data set."""
        return hub_records(source) if source.startswith(HUB) else json_records(Path(source))

    def read(self, source: str, size: int | None, seed: int) -> Iterator[Item]:
        for record in self.records(source):
            yield record if isinstance(record, Fault) else self.convert(record)

    def convert(self, record: Record) -> Item:
        """A record as a question; a fault where it is broken."""
        try:
            raw = self.Raw.model_validate(record.data)
            return self.question(raw)
        except ValidationError as error:
            return Fault(record.place, complaint(error, self.Raw))
        except Broken as error:
            return Fault(record.place, str(error))

    @abc.abstractmethod
    def question(self, raw: Any) -> Question | LeftOut:
        """The question that a record makes.

        Raises:
            Broken: The record contradicts itself.
        """

    def make(
        self, id: str, question: str, answers: Sequence[str], level: Level | None = None, **known: Any
    ) -> Question:
        """A question of the level that the grid gives; else of `level`, else of the format's own.

        Raises:
            Broken: There is no answer.
        """
        golds = list(dict.fromkeys(text for answer in answers if (text := answer.strip())))
        if not golds:
            raise Broken("has no answer")
        return Question(
            id=id, question=question, answers=golds, level=self.level_of_all or level or self.level, **known
        )


def content_id(*parts: str) -> str:
    """An id for a record that has none, or none of its own: a hash of what it asks, which new records do not change."""
    return hashlib.blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=8).hexdigest()


BY_CHANCE = re.compile(r"yes|no|true|false|\d{1,2}", re.IGNORECASE)


def evidence_for(answer: str, titles: Sequence[str]) -> list[str]:
    """What an observation must hold for a question over encyclopedia pages.

    A dataset's supporting sentences are from a dump of its own year; no other wiki shows them word for word. So they
    are kept in `meta`, and where the answer is a phrase no evidence is named: the answer itself is looked for. An
    answer that is in any text by chance (yes, no, a small number) rests on the pages' names, without "(film)" and
    the like: pages open with their name, and a system must have seen all the pages that are compared.
    """
    if not BY_CHANCE.fullmatch(answer.strip()):
        return []
    names = (re.sub(r"\s*\([^()]*\)$", "", title).strip() for title in titles)
    return [name for name in dict.fromkeys(names) if name]


def complaint(error: ValidationError, model: type[BaseModel]) -> str:
    """One sentence about the first thing that is wrong with a record or with settings."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return f"{key} is missing"
    if first["type"] == "extra_forbidden":
        return unknown("setting", key, model.model_fields)
    message = "is no JSON object" if first["type"] == "model_type" else describe_invalid(first)
    return f"{key}: {message}" if key else message
