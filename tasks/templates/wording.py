"""A question's text from records: what stands between braces, `{person[name]}` or `{film[released]:date}`."""

from __future__ import annotations

import dataclasses
import re
import string
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from r_eval.errors import UserError
from r_eval.tasks.templates.formats import NAMED, formatted

Records = dict[str, dict[str, Any]]
Row = tuple[dict[str, Any], ...]
"""Records whose names stand elsewhere, in their order."""
PATH = re.compile(r"([^.\[\]]+)((?:\[[^\[\]]+\])+)")
EITHER = re.compile(r"\bor\b|或|还是", re.IGNORECASE)
CONVERSIONS: dict[str, Callable[[object], str]] = {"s": str, "r": repr, "a": ascii}


class EmptySlot(Exception):
    """A record has nothing where the question names it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Slot:
    """A place in a question that a record fills.

    Attributes:
        name: The record's name.
        path: The keys that lead to the value, such as ("interests", 0).
    """

    name: str
    path: tuple[str | int, ...]
    conversion: str | None
    spec: str

    def value(self, record: dict[str, Any]) -> Any:
        """What the record holds there.

        Raises:
            EmptySlot: Nothing: None, an empty text, or a place after a list's end.
            UserError: The record has no such field.
        """
        found: Any = record
        for key in self.path:
            try:
                found = found[key]
            except IndexError:
                raise EmptySlot from None
            except (KeyError, TypeError):
                if found is None:
                    raise EmptySlot from None
                raise UserError(f"no field {key!r}") from None
        if found is None or found in ("", []):
            raise EmptySlot
        return found

    def text(self, record: dict[str, Any], language: str | None) -> str:
        """The value as it stands in the question.

        Raises:
            EmptySlot, UserError: As `value`; or the value does not fit the format.
        """
        value = self.value(record)
        try:
            shown = CONVERSIONS[self.conversion](value) if self.conversion else value
            return formatted(shown, self.spec, language)
        except (ValueError, TypeError) as error:
            raise UserError(f"{self.name}[{']['.join(map(str, self.path))}]: {error}") from None


class Texts:
    """What one slot shows of records, each worked out once: a record may not change, and has to stay in memory."""

    def __init__(self, slot: Slot, language: str | None) -> None:
        self._slot, self._language = slot, language
        self.known: dict[int, str | None] = {}

    def of(self, record: dict[str, Any]) -> str | None:
        """The text; None where the slot is empty.

        Raises:
            UserError: The record has no such field, or its value does not fit the format.
        """
        key = id(record)
        if key not in self.known:
            try:
                self.known[key] = self._slot.text(record, self._language)
            except EmptySlot:
                self.known[key] = None
        return self.known[key]


class Shown:
    """The texts of the slots of many phrasings, which often have the same ones."""

    def __init__(self) -> None:
        self._texts: dict[tuple[Slot, str | None], Texts] = {}

    def by(self, slot: Slot, language: str | None) -> Texts:
        """What a slot shows; the language makes a difference to the formats only that have names."""
        key = (slot, language if slot.spec in NAMED else None)
        return self._texts.setdefault(key, Texts(*key))


class Phrasing:
    """One text of a template in one language.

    Args:
        shown: What is known already of what slots show; only phrasings of the same records may share it.

    Raises:
        UserError: The text's braces are wrong.
    """

    def __init__(self, text: str, language: str | None, shown: Shown | None = None) -> None:
        self.language = language
        self.parts: list[str | Slot] = list(_parts(text.strip()))
        self.slots = [part for part in self.parts if isinstance(part, Slot)]
        self._shown = shown or Shown()

    def filler(self, names: Sequence[str]) -> Callable[[Row], str | None]:
        """A function that gives the question for the records of these names; None where a slot of it is empty.

        Raises:
            UserError: A name is unknown. From the function: a record has no such field, or its value does not fit.
        """
        steps: list[tuple[int, Texts]] = []
        for slot in self.slots:
            if slot.name not in names:
                raise UserError(f"no field '{slot.name}'")
            steps.append((names.index(slot.name), self._shown.by(slot, self.language)))
        known = [(place, texts.known) for place, texts in steps]
        form = "".join("%s" if isinstance(part, Slot) else part.replace("%", "%%") for part in self.parts)

        def fill(row: Row) -> str | None:
            pieces = [found.get(id(row[place])) for place, found in known]
            if None in pieces:  # not worked out yet, or empty
                pieces = []
                for place, texts in steps:
                    pieces.append(texts.of(row[place]))
                    if pieces[-1] is None:
                        return None
            return (form % tuple(pieces)).strip()

        return fill

    def shows(self, name: str) -> tuple[Texts, ...]:
        """All that the question shows of one of the records, slot by slot."""
        return tuple(self._shown.by(slot, self.language) for slot in self.slots if slot.name == name)

    def filled(self, records: Records) -> tuple[str, ...]:
        """What the records put into the question, slot by slot; no slot may be empty."""
        return tuple(slot.text(records[slot.name], self.language) for slot in self.slots)

    def offers(self, records: Records, answer: str) -> bool:
        """Whether the question names several things, and the answer is one of them.

        It does where it says "or" in its own words, or shows the same field of two records.
        """
        if any(EITHER.search(part) for part in self.parts if isinstance(part, str)):
            return True
        named = [slot for slot in self.slots if str(slot.value(records[slot.name])) == answer]
        return any(other.path == one.path and other.name != one.name for one in named for other in self.slots)


def _parts(text: str) -> Iterator[str | Slot]:
    try:
        pieces = list(string.Formatter().parse(text))
    except ValueError as error:
        raise UserError(str(error)) from None
    for literal, field, spec, conversion in pieces:
        if literal:
            yield literal
        if field is None:
            continue
        if not (found := PATH.fullmatch(field)):
            raise UserError(f"'{{{field}}}' names no field; write {{person[name]}}")
        if spec and "{" in spec:
            raise UserError(f"'{{{field}:{spec}}}': a format holds no fields of its own")
        if conversion and conversion not in CONVERSIONS:
            raise UserError(f"'{{{field}!{conversion}}}': a conversion is one of {', '.join(CONVERSIONS)}")
        keys = found[2][1:-1].split("][")
        yield Slot(found[1], tuple(int(key) if key.isdigit() else key for key in keys), conversion, spec or "")
