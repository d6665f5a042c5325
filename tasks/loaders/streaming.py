"""Reads one big JSON list or object value by value.

The standard decoder is given a window of the file that grows only while a value does not fit into it. So memory is
bounded by the longest value, every value is known with its line, and a nesting that is too deep is an error rather
than a crash. (Event parsers such as ijson are no faster here, know no lines, and spell out the path of every event,
which a deep nesting turns into gigabytes.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

WINDOW = 2**20
LONGEST = 2**26
"""Characters of the longest value that is read; none of a known dataset is near it."""

CUT = 2
"""Characters at a window's end (`e+`, `.`) that may belong to a number which goes on behind it."""

_decoder = json.JSONDecoder()


class NotJson(ValueError):
    """The text is not JSON; `line` is where."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line


class JsonStream:
    """A JSON document, read from its beginning."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file
        self._text, self._at, self._ended = "", 0, False
        self._line, self._counted = 1, 0

    @property
    def line(self) -> int:
        """The line that is reached."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def items(self) -> Iterator[tuple[int, Any]]:
        """The items of the list that comes next, each with its line.

        Raises:
            NotJson: The text is none from here on; what came before is good.
        """
        self._take("[")
        if self._peek() == "]":
            self._take("]")
            return
        while True:
            self._peek()
            line = self.line
            yield line, self._value()
            if self._take(",]") == "]":
                return

    def members(self, stop: str | None = None) -> Iterator[tuple[int, str, Any]]:
        """The members of the object that comes next, each with its line.

        Args:
            stop: Key before whose value the reading stops, so that it can be read by `items`.

        Raises:
            NotJson: As `items`.
        """
        for line, key in self._keys():
            if key == stop:
                return
            yield line, key, self._value()

    def listed(self) -> Iterator[tuple[int, str, Any]]:
        """The items of the lists that are the members of the object that comes next, each with its line and its list's
        key. A member that is no list is passed over.

        Raises:
            NotJson: As `items`.
        """
        for _, key in self._keys():
            if self._peek() == "[":
                for at, item in self.items():
                    yield at, key, item
            else:
                self._value()

    def finish(self) -> None:
        """See that nothing comes any more."""
        if self._peek():
            raise NotJson(self.line, "there is more text behind the end")

    def _keys(self) -> Iterator[tuple[int, str]]:
        """The keys of the object that comes next, each with its line; whoever takes one reads its value."""
        self._take("{")
        if self._peek() == "}":
            self._take("}")
            return
        while True:
            self._peek()
            line, key = self.line, self._value()
            if not isinstance(key, str):
                raise NotJson(line, "a key of an object is no text")
            self._take(":")
            yield line, key
            if self._take(",}") == "}":
                return

    def _peek(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in " \t\r\n":
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def _take(self, expected: str) -> str:
        found = self._peek()
        if not found or found not in expected:
            raise NotJson(self.line, f"expected {' or '.join(expected)}, found {found or 'the end of the file'}")
        self._at += 1
        return found

    def _value(self) -> Any:
        self._peek()
        while True:
            try:
                value, end = _decoder.raw_decode(self._text, self._at)
            except RecursionError:
                raise NotJson(self.line, "nested too deeply") from None
            except json.JSONDecodeError as error:
                if self._is_final(error) or not self._more():
                    raise NotJson(self.line + self._text.count("\n", self._at, error.pos), error.msg) from None
            except ValueError as error:
                raise NotJson(self.line, str(error)) from None
            else:
                if end + CUT < len(self._text) or not self._more():
                    self._at = end
                    return value

    def _is_final(self, error: json.JSONDecodeError) -> bool:
        """Whether an error stays one when more of the file is seen: it is not at the window's end, and in no string
        that may be cut there.
        """
        return error.pos < len(self._text) - 32 and not error.msg.startswith("Unterminated string")

    def _more(self) -> bool:
        """Move the window on, as much again as it holds unread; False at the end of the file."""
        line, rest = self.line, self._text[self._at :]
        if self._ended:
            return False
        if len(rest) > LONGEST:
            raise NotJson(line, f"a value of more than {LONGEST:,} characters")
        more = self.file.read(max(WINDOW, len(rest)))
        if not more:
            self._ended = True
            return False
        self._text, self._at, self._counted = rest + more, 0, 0
        return True
