"""JSON and call arguments as models write them, read without ever evaluating anything.

Beyond JSON it takes single and typographic quotes, Python's True, False, None, tuples and triple quotes, keys without
quotes, comments, trailing and missing commas, line breaks and bare quotes inside a text, and a cut end: open texts and
brackets are closed there. Names, function calls, sets, NaN and whatever else is no data cannot be read.

A piece of any text is read in time that grows with its length alone: nesting is limited, and so is the work spent on
places that turn out to hold no value.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator
from typing import Any

DEEPEST = 100
EFFORT = 5
"""Characters read in vain, as a multiple of the text's length, after which no further value is looked for."""
FAILURE = 20
"""What a vain attempt costs besides, in characters."""

START = re.compile(r"[{\[]")
SPACE = re.compile(r"(?:\s++|//[^\n]*+|#[^\n]*+|/\*.*?(?:\*/|\Z))*+", re.DOTALL)
NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9][0-9_]*+)(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?(?![\w.])")
WORD = re.compile(r"[A-Za-z]++(?!\w)")
WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None, "undefined": None}
BARE_KEY = re.compile(r"[\w$.-]++")
KEY = re.compile(r"[\w$.-]++\s*+:")
NAMED = re.compile(r"([A-Za-z_]\w*+)\s*+[=:](?!=)")
CLOSING = {"{": "}", "[": "]", "(": ")"}
STOPS = {
    '"': re.compile(r'\\.|"', re.DOTALL),
    "'": re.compile(r"\\.|'", re.DOTALL),
    "“": re.compile(r'\\.|[”“"]', re.DOTALL),
    "‘": re.compile(r"\\.|[’‘']", re.DOTALL),
}
ENDS = {",", "", *STOPS, *CLOSING}
AFTER_TEXT = re.compile(r"[^\S\n]*+(?:\Z|[\n,:}\])#]|//|/\*)|\s++[\"'“‘{\[]")
ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(.)|\Z)",
    re.DOTALL,
)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": "", **{c: c for c in "/\\\"'“”‘’"}}


def lenient_json(text: str) -> Any:
    """The first JSON value (object or array) in a text, read as models write it; None where there is none.

    >>> lenient_json("Here: {'entity': 'Kenya', limit: 3,} // done")
    {'entity': 'Kenya', 'limit': 3}
    """
    return next((value for _, _, value in values(text)), None)


def values(text: str) -> Iterator[tuple[int, int, Any]]:
    """The objects and arrays in a text one after another, each as start, end and value."""
    effort = EFFORT * len(text)
    start = START.search(text)
    while start and effort >= 0:
        reader = _Reader(text, start.start())
        try:
            value = reader.value()
        except Unreadable as error:
            effort -= FAILURE + error.at - start.start()
            start = START.search(text, error.at if error.too_deep else start.end())
        else:
            yield start.start(), reader.at, value
            start = START.search(text, reader.at)


def value_at(text: str, start: int) -> tuple[Any, int]:
    """The value of any kind that begins at a place of a text, and where it ends.

    Raises:
        Unreadable: There is none.
    """
    reader = _Reader(text, start)
    return reader.value(), reader.at


@dataclasses.dataclass(frozen=True, slots=True)
class Arguments:
    """What stands between the parentheses of a call.

    Attributes:
        end: Where the text goes on after the closing parenthesis.
        cut: Whether the text ended before it.
    """

    positional: list[Any]
    named: dict[str, Any]
    end: int
    cut: bool


def arguments(text: str, start: int) -> Arguments:
    """The arguments of a call, in Python's notation, whose opening parenthesis stands just before `start`.

    Raises:
        Unreadable: They are not all plain data.
    """
    reader = _Reader(text, start)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    while reader.more(")"):
        name = NAMED.match(text, reader.at)
        if name:
            reader.at = name.end()
            named[name.group(1)] = reader.value()
        else:
            positional.append(reader.value())
        reader.separate(")")
    return Arguments(positional, named, reader.at, reader.cut)


class Unreadable(Exception):
    """There is no data at this place, or it is nested deeper than any call."""

    def __init__(self, at: int, too_deep: bool = False) -> None:
        super().__init__(f"no data at character {at}")
        self.at = at
        self.too_deep = too_deep


class _Reader:
    """Reads a value at a place of a text; `at` is how far it came, `cut` whether the text ended too early."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.cut = False
        self._depth = 0

    def value(self) -> Any:
        """The value that begins here, or after space and comments."""
        c = self._peek()
        if c in STOPS:
            return self._string(c)
        if c in CLOSING:
            self._depth += 1
            if self._depth > DEEPEST:
                raise Unreadable(self.at, too_deep=True)
            self.at += 1
            inside = self._object() if c == "{" else self._array(CLOSING[c])
            self._depth -= 1
            return inside
        return self._scalar()

    def more(self, closing: str) -> bool:
        """Whether another item begins here; a closing bracket is passed over, and a missing one noted."""
        c = self._peek()
        while c == ",":
            self.at += 1
            c = self._peek()
        if c == closing:
            self.at += 1
        elif c == "":
            self.cut = True
        return c not in (closing, "")

    def separate(self, closing: str) -> bool:
        """See that an item ends here: at a comma, the closing bracket, the text's end, or the next quote or bracket.

        False where the outermost bracket was never closed and other text goes on in a new line.
        """
        end = self.at
        c = self._peek()
        if c in ENDS or c == closing:
            return True
        if self._depth == 1 and "\n" in self.text[end : self.at] and not KEY.match(self.text, self.at):
            self.at = end
            self.cut = True
            return False
        raise Unreadable(self.at)

    def _peek(self) -> str:
        """The next character that is neither space nor comment; "" at the end."""
        c = self.text[self.at : self.at + 1]
        if c.isspace() or c in ("/", "#"):
            self.at = SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches everywhere
            c = self.text[self.at : self.at + 1]
        return c

    def _object(self) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while self.more("}"):
            key = self._key()
            if self._peek() != ":":
                raise Unreadable(self.at)
            self.at += 1
            result[key] = self.value()
            if not self.separate("}"):
                break
        return result

    def _key(self) -> str:
        c = self._peek()
        if c in STOPS:
            return self._string(c)
        bare = BARE_KEY.match(self.text, self.at)
        if not bare:
            raise Unreadable(self.at)
        self.at = bare.end()
        return bare.group()

    def _array(self, closing: str) -> Any:
        items: list[Any] = []
        comma = False
        while self.more(closing):
            items.append(self.value())
            if not self.separate(closing):
                break
            comma = comma or self.text.startswith(",", self.at)
        grouped = closing == ")" and len(items) == 1 and not comma
        return items[0] if grouped else items

    def _scalar(self) -> Any:
        number = NUMBER.match(self.text, self.at)
        word = WORD.match(self.text, self.at)
        if number:
            digits = number.group().replace("_", "")
            try:
                value: int | float = float(digits) if set(digits) & set(".eE") else int(digits)
            except ValueError:  # more digits than Python turns into a number
                raise Unreadable(self.at) from None
            if isinstance(value, int) or math.isfinite(value):
                self.at = number.end()
                return value
        elif word and word.group() in WORDS:
            self.at = word.end()
            return WORDS[word.group()]
        raise Unreadable(self.at)

    def _string(self, quote: str) -> str:
        """The text in quotes that begins here. A quote that nothing but more text follows belongs to the text."""
        if quote in "\"'" and self.text.startswith(quote * 3, self.at):
            return self._triple(quote * 3)
        start = self.at + 1
        bare = False
        for stop in STOPS[quote].finditer(self.text, start):
            if stop.group()[0] == "\\":
                continue
            if AFTER_TEXT.match(self.text, stop.end()):
                self.at = stop.end()
                return _unescaped(self.text[start : stop.start()])
            bare = True
        self.at = len(self.text)
        self.cut = True
        if bare:  # where a text with bare quotes was meant to end, nobody knows
            raise Unreadable(self.at)
        return _unescaped(self.text[start:])

    def _triple(self, quotes: str) -> str:
        start = self.at + 3
        end = self.text.find(quotes, start)
        self.cut = self.cut or end < 0
        self.at = len(self.text) if end < 0 else end + 3
        return _unescaped(self.text[start : end if end >= 0 else None])


def _unescaped(text: str) -> str:
    """A text with its escapes resolved; a backslash before anything else stays, as in a Windows path."""
    return ESCAPE.sub(_escape, text) if "\\" in text else text


def _escape(match: re.Match[str]) -> str:
    high, low, *codes, single = match.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    code = next((int(c, 16) for c in codes if c), None)
    if code is not None:
        return chr(code) if code <= 0x10FFFF else match.group()
    return ESCAPED.get(single, match.group()) if single else ""
