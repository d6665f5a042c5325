"""What a format is: how the records of a published dataset become questions.

A format is a function `read(source, settings, size, seed)` that yields questions, and what came of the other records.
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
from r_eval.tasks.files import complaint
from r_eval.tasks.loaders.reading import Fault, Record, records


@dataclasses.dataclass(frozen=True, slots=True)
class LeftOut:
    """Records that are sound but make no question: an unanswerable one, say."""

    why: str
    number: int = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Remark:
    """Something odd about a record that is asked all the same."""

    what: str


@dataclasses.dataclass(frozen=True, slots=True)
class Read:
    """Records read, where not each makes one question; and a hash of all of them, where only a sample was made."""

    records: int
    version: str = ""


class Broken(ValueError):
    """A record is not what the format says; the message says why."""


Item = Question | Fault | LeftOut | Remark | Read


class Settings(BaseModel):
    """What can be set for a format."""

    model_config = ConfigDict(extra="forbid")


Keys = frozenset[str]
Reader = Callable[[str, Any, int | None, int], Iterator[Item]]
Raw = dict[str, Any]
"""A record as it is published; what no format names is passed over."""
Maker = Callable[[Raw], Question | LeftOut]
"""Makes the question of a record; raises `Broken`, or stumbles over what is not there or of another type."""


@dataclasses.dataclass(frozen=True)
class Format:
    """The form of a published dataset.

    Attributes:
        name: As a grid names it.
        expects: What a file holds, for the message about one that does not.
        read: Everything in a data set, as it comes. Takes the source, the settings, and how many questions are wanted,
            in which seed's order, for formats that cannot make all of them in bounded memory.
        keys: Sets of keys by which a record is known.
        is_like: Tells a file by its path and first records, where keys do not.
        general: It is the form of many datasets, so that it can stand in for an installed task's own.
    """

    name: str
    expects: str
    read: Reader
    keys: Sequence[Keys] = ()
    settings: type[Settings] = Settings
    is_like: Callable[[Path, Sequence[Any]], bool] | None = None
    general: bool = False

    def fits(self, path: Path, first: Sequence[Any]) -> int:
        """How surely a file with these first records is of this format; 0 is not. One of them may be broken."""
        if self.is_like is not None and self.is_like(path, first):
            return 4
        known = [record.keys() for record in first if isinstance(record, dict)]
        fitting = (len(keys) for keys in self.keys if 2 * sum(keys <= one for one in known) >= len(first) > 0)
        return max(fitting, default=0)


_FORMATS: dict[str, Format] = {}


@functools.cache
def formats() -> dict[str, Format]:
    """Every format, by name."""
    home = importlib.import_module(__name__.rpartition(".")[0])
    for module in pkgutil.iter_modules(home.__path__):
        importlib.import_module(f"{home.__name__}.{module.name}")
    return dict(sorted(_FORMATS.items()))


def form(name: str, expects: str, *keys: Keys, **facts: Any) -> Callable[[Reader], Reader]:
    """Makes a function the reader of a format; see `Format`."""

    def register(read: Reader) -> Reader:
        _FORMATS[name] = Format(name, expects, read, keys, **facts)
        return read

    return register


def record_form(name: str, expects: str, *keys: Keys) -> Callable[[Maker], Maker]:
    """Makes a function from a record to its question the reader of a format without settings."""

    def register(make: Maker) -> Maker:
        form(name, expects, *keys)(lambda source, settings, size, seed: converted(records(source), make))
        return make

    return register


def converted(found: Iterable[Record | Fault], make: Maker) -> Iterator[Item]:
    """The questions of records; faults where they are broken."""
    for record in found:
        if isinstance(record, Fault):
            yield record
            continue
        try:
            if not isinstance(record.data, dict):
                raise Broken("is no JSON object")
            yield make(record.data)
        except Broken as error:
            yield Fault(record.place, str(error))
        except ValidationError as error:
            yield Fault(record.place, complaint(error, Question))
        except KeyError as error:
            yield Fault(record.place, f"the key {error.args[0]} is missing")
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            yield Fault(record.place, f"a part of it is of another type: {str(error)[:120]}")


def text_in(raw: Mapping[str, Any], key: str) -> str:
    """The text under a key, without the spaces around it.

    Raises:
        KeyError: It is not there.
        Broken: It says nothing.
    """
    value = raw[key]
    if not isinstance(value, str):
        raise Broken(f"{key}: must be a text, not {str(value)[:60]}")
    if not value.strip():
        raise Broken(f"{key}: is empty")
    return value.strip()


def question_of(id: str, question: str, answers: Iterable[str], level: Level = "KA", **known: Any) -> Question:
    """A question, each answer of it once; of its `meta` only what says something.

    Raises:
        Broken: There is no answer.
    """
    golds = list(dict.fromkeys(text for answer in answers if (text := answer.strip())))
    if not golds:
        raise Broken("has no answer")
    known["meta"] = {key: value for key, value in known.get("meta", {}).items() if value}
    return Question(id=id, question=question, answers=golds, level=level, **known)


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
