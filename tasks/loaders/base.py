"""Formats: how the records of a published dataset become questions.

A format is a function `read(source, settings, size, seed)` that yields questions and the outcomes of other records.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from r_eval.records import Level, Question
from r_eval.tasks.files import validation_message
from r_eval.tasks.loaders.reading import DataRecord, RecordError, records


@dataclasses.dataclass(frozen=True, slots=True)
class Skipped:
    """Valid records without a question, such as unanswerable ones."""

    reason: str
    number: int = 1


@dataclasses.dataclass(frozen=True, slots=True)
class RecordWarning:
    """A warning about a record that is still used."""

    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Read:
    """Number of records, if not each has one question, and their hash, if only a sample is built."""

    records: int
    version: str = ""


class InvalidRecord(ValueError):
    """A record violates the format; the message says how."""


Item = Question | RecordError | Skipped | RecordWarning | Read


class Settings(BaseModel):
    """The settings of a format."""

    model_config = ConfigDict(extra="forbid")


Keys = frozenset[str]
Reader = Callable[[str, Any, int | None, int], Iterator[Item]]
Raw = dict[str, Any]
"""A published record; keys that the format does not name are ignored."""
Maker = Callable[[Raw], Question | Skipped]
"""Builds the question of a record; raises `InvalidRecord`, or KeyError or TypeError for missing or mistyped parts."""


@dataclasses.dataclass(frozen=True)
class Format:
    """The format of a published dataset.

    Attributes:
        name: Name in a grid.
        expects: Description of a file for error messages.
        read: Yields the items of a dataset. Takes the source, the settings, and the sample size and seed, for formats
            that cannot build all questions in bounded memory.
        keys: Sets of keys that identify a record.
        is_like: Recognises a file by its path and first records, if keys are not enough.
        general: Whether many datasets have this format, so that it may replace an installed task's own.
    """

    name: str
    expects: str
    read: Reader
    keys: Sequence[Keys] = ()
    settings: type[Settings] = Settings
    is_like: Callable[[Path, Sequence[Any]], bool] | None = None
    general: bool = False

    def fits(self, path: Path, sample: Sequence[Any]) -> int:
        """How well a file with these first records matches the format, 0 for not at all; some may be invalid."""
        if self.is_like is not None and self.is_like(path, sample):
            return 4
        record_keys = [record.keys() for record in sample if isinstance(record, dict)]
        fitting = (
            len(keys) for keys in self.keys if 2 * sum(keys <= present for present in record_keys) >= len(sample) > 0
        )
        return max(fitting, default=0)


_FORMATS: dict[str, Format] = {}


@functools.cache
def formats() -> dict[str, Format]:
    """Every format, by name."""
    package = importlib.import_module(__name__.rpartition(".")[0])
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_FORMATS.items()))


def form(name: str, expects: str, *keys: Keys, **facts: Any) -> Callable[[Reader], Reader]:
    """Decorator that registers a function as the reader of a format; see `Format`."""

    def register(read: Reader) -> Reader:
        _FORMATS[name] = Format(name, expects, read, keys, **facts)
        return read

    return register


def record_form(name: str, expects: str, *keys: Keys) -> Callable[[Maker], Maker]:
    """Decorator that registers a function from record to question as a format without settings."""

    def register(make: Maker) -> Maker:
        form(name, expects, *keys)(lambda source, settings, size, seed: convert_records(records(source), make))
        return make

    return register


def convert_records(items: Iterable[DataRecord | RecordError], make: Maker) -> Iterator[Item]:
    """The questions of records, and errors for invalid ones."""
    for record in items:
        if isinstance(record, RecordError):
            yield record
            continue
        try:
            if not isinstance(record.data, dict):
                raise InvalidRecord("is no JSON object")
            yield make(record.data)
        except InvalidRecord as error:
            yield RecordError(record.place, str(error))
        except ValidationError as error:
            yield RecordError(record.place, validation_message(error, Question))
        except KeyError as error:
            yield RecordError(record.place, f"the key {error.args[0]} is missing")
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            yield RecordError(record.place, f"a part of it is of another type: {str(error)[:120]}")


def text_in(raw: Mapping[str, Any], key: str) -> str:
    """The stripped text under a key.

    Raises:
        KeyError: The key is missing.
        InvalidRecord: The text is empty.
    """
    value = raw[key]
    if not isinstance(value, str):
        raise InvalidRecord(f"{key}: must be a text, not {str(value)[:60]}")
    if not value.strip():
        raise InvalidRecord(f"{key}: is empty")
    return value.strip()


def question_of(id: str, question: str, answers: Iterable[str], level: Level = "KA", **fields: Any) -> Question:
    """A question without duplicate answers and without empty values in `meta`.

    Raises:
        InvalidRecord: There is no answer.
    """
    golds = list(dict.fromkeys(text for answer in answers if (text := answer.strip())))
    if not golds:
        raise InvalidRecord("has no answer")
    fields["meta"] = {key: value for key, value in fields.get("meta", {}).items() if value}
    return Question(id=id, question=question, answers=golds, level=level, **fields)


def content_id(*parts: str) -> str:
    """An id for a record without a unique one: a hash of its content, which new records do not change."""
    return hashlib.blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=8).hexdigest()


BY_CHANCE = re.compile(r"yes|no|true|false|\d{1,2}", re.IGNORECASE)


def evidence_for(answer: str, titles: Sequence[str]) -> list[str]:
    """The evidence of a question over encyclopedia pages.

    A dataset's supporting sentences come from a dump of its year and differ in other wikis, so they go to `meta`. For a
    phrase there is no evidence but the answer itself. An answer that occurs in any text by chance (yes, no, a small
    number) has the titles of the pages as evidence, without "(film)" and the like: pages begin with their title, and a
    system must have seen all compared pages.
    """
    if not BY_CHANCE.fullmatch(answer.strip()):
        return []
    names = (re.sub(r"\s*\([^()]*\)$", "", title).strip() for title in titles)
    return [name for name in dict.fromkeys(names) if name]
