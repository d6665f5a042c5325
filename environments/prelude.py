"""What stands before a program in the sandbox, and how values leave it: as text.

A few values that hold each other twice are a tree of any size, and Python hashes a tuple by going through all of it. So
nothing that a program made is taken over as it is: inside the sandbox, within its limits, it is written as JSON, and
only that text is read out here. The query APIs are functions that do so with their arguments.
"""

from __future__ import annotations

import ast
import json
import secrets
import warnings
from collections.abc import Sequence
from typing import Any

LONGEST = 4_000_000
"""Characters of a value, or of the arguments of a call, on their way out."""

ANSWER_CHARACTERS = 20_000
ANSWER_BITS = 10_000
VALUE_PARTS = 50_000
VALUE_DEPTH = 100

READABLE = 20_000
"""Characters of a program whose last expression is looked for."""

FUNCTIONS = """
def $leave(value):
    import json as j
    def written(part):
        try:
            return j.dumps(part)
        except:
            pass
        try:
            return j.dumps(f"{part}")
        except:
            pass
        try:
            return j.dumps(f"{part:#x}")
        except:
            return '"…"'
    try:
        return j.dumps(["value", j.dumps(value)])
    except:
        pass
    try:
        if {*value} == value:
            return j.dumps(["set", [written(part) for part in value]])
    except:
        pass
    try:
        if [*value] == value or (*value,) == value:
            return j.dumps(["list", [written(part) for part in value]])
    except:
        pass
    try:
        if {**value} == value:
            return j.dumps(["dict", [[f"{key}", written(part)] for key, part in value.items()]])
    except:
        pass
    return j.dumps(["value", written(value)])
"""
API = """
def $api(*positional, **named):
    import json as j
    return $call("$api", j.dumps([[$leave(p) for p in positional], [[n, $leave(p)] for n, p in named.items()]]))
"""


class TooLarge(Exception):
    """A value is too large to leave the sandbox."""


class Prelude:
    """The functions that stand before one program, under names that the program cannot guess.

    Attributes:
        text: Their source.
        call: The name under which the calls of the query APIs arrive, with the API's name and a text.
    """

    def __init__(self, functions: Sequence[str]) -> None:
        mark = f"_{secrets.token_hex(8)}_"
        self.call, self._leave, self._last = f"{mark}call", f"{mark}leave", f"{mark}last"
        self.text = "".join([FUNCTIONS, *(API.replace("$api", name) for name in functions)])
        self.text = self.text.replace("$call", self.call).replace("$leave", self._leave)

    def ready(self, code: str) -> str:
        """A program that keeps the value of its last expression; the same lines, so that errors name the right one."""
        if len(code) > READABLE:
            return code
        try:
            with warnings.catch_warnings(action="ignore"):
                last = ast.parse(code).body[-1]
        except (SyntaxError, ValueError, MemoryError, RecursionError, SystemError, IndexError):
            return code
        if not isinstance(last, ast.Expr) or last.end_lineno is None or last.end_col_offset is None:
            return code
        lines = [line.encode() for line in code.split("\n")]
        if len(lines) < last.end_lineno:
            return code
        end, start = lines[last.end_lineno - 1], last.end_col_offset
        lines[last.end_lineno - 1] = end[:start] + b")" + end[start:]
        begin, start = lines[last.lineno - 1], last.col_offset
        lines[last.lineno - 1] = begin[:start] + f"{self._last} = (".encode() + begin[start:]
        return b"\n".join(lines).decode()

    @property
    def answers(self) -> tuple[str, str]:
        """Expressions whose text is the variable `answer`, and the value of the last expression; see `read`."""
        return f"{self._leave}(answer)", f"{self._leave}({self._last})"


def read(text: Any) -> Any:
    """The value that was written as a text in the sandbox.

    Raises:
        TooLarge: The text is too long.
    """
    kind, body = _loaded(text)
    if kind == "set":
        return sorted((_loaded(part) for part in body), key=str)
    if kind == "list":
        return [_loaded(part) for part in body]
    return {key: _loaded(part) for key, part in body} if kind == "dict" else _loaded(body)


def read_arguments(text: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, positional and named.

    Raises:
        TooLarge: The text is too long.
    """
    positional, named = _loaded(text)
    return [read(part) for part in positional], {name: read(part) for name, part in named}


def _loaded(text: Any) -> Any:
    if not isinstance(text, str) or len(text) > LONGEST:
        raise TooLarge(f"a value of more than {LONGEST:,} characters")
    return json.loads(text)


def plain(value: Any) -> Any:
    """A value as JSON data: tuples and sets become lists, everything that is not data becomes its text.

    So does a whole number that is too long to be written in decimal; its text is hexadecimal. What is nested too
    deeply is left out. A few lists that hold each other twice are a tree of any size, so the parts are counted as
    they are met.

    Raises:
        TooLarge: It is no value that a record could hold.
    """
    return _Plain().of(value, 0)


class _Plain:
    """One value on its way out of the sandbox; `left` is what may still be added, ten characters being one part."""

    def __init__(self) -> None:
        self.left = VALUE_PARTS

    def of(self, value: Any, depth: int, whole: bool = False) -> Any:
        """A part of the value; `whole` where nothing in it may be left out, since its text is asked for next."""
        self._spend(1)
        if depth > VALUE_DEPTH:
            if whole:
                raise TooLarge(f"a value nested deeper than {VALUE_DEPTH}")
            return "…"
        if isinstance(value, int) and value.bit_length() > ANSWER_BITS:
            return self._text(f"{value:#x}")
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self._key(k, depth + 1): self.of(inner, depth + 1, whole) for k, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.of(inner, depth + 1, whole) for inner in value]
        if isinstance(value, set | frozenset):
            return sorted((self.of(inner, depth + 1, whole) for inner in value), key=str)
        self.of(getattr(value, "attributes", None), depth + 1, whole=True)
        return self._text(str(value))

    def _key(self, key: Any, depth: int) -> str:
        self.of(key, depth, whole=True)
        return str(key)

    def _text(self, text: str) -> str:
        text = text[:ANSWER_CHARACTERS]
        self._spend(len(text) // 10)
        return text

    def _spend(self, parts: int) -> None:
        self.left -= parts
        if self.left < 0:
            raise TooLarge(f"a value of more than {VALUE_PARTS:,} parts")
