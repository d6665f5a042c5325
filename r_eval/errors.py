"""Errors meant for the person who typed the command: one sentence, no traceback."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

OPEN_FILES = dict.fromkeys((errno.EMFILE, errno.ENFILE), "raise `ulimit -n` or lower connections")
ROOM = dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room")
ADVICE = {**OPEN_FILES, **ROOM, errno.EFBIG: "raise `ulimit -f`", errno.EROFS: ""}
"""What to do about errors of a disk or a process that has no room, by their numbers."""


class UserError(Exception):
    """The command or a file it was given is wrong: says what, where, and what to do. Exit status 2."""


class MissingExtra(UserError):
    """An optional dependency is not installed; names the command that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.command = f"pip install 'r-eval[{extra}]'"
        super().__init__(f"{purpose} needs {package}: type  {self.command}")


class Unwritable(UserError):
    """A file of the run cannot be written (the disk is full, say): the run ends, and goes on when it is run again."""

    def __init__(self, path: object, error: Exception) -> None:
        why = getattr(error, "strerror", None) or str(error)
        advice = ADVICE.get(getattr(error, "errno", None) or 0)
        text = f"{path} cannot be written: {why}"
        if isinstance(error, FileNotFoundError):
            text = f"{path} was deleted while the run went on; the same command runs again what is missing"
        elif advice:
            text += f". What was recorded is kept; {advice}, and the same command goes on"
        super().__init__(text)


def describe_invalid(detail: Mapping[str, Any]) -> str:
    """What is wrong with a value, and the value, from one of pydantic's errors.

    >>> describe_invalid({"type": "int_type", "input": "two", "msg": "Input should be a valid integer"})
    "must be a whole number, not 'two'"
    """
    bounds, value = detail.get("ctx", {}), repr(detail.get("input"))[:80]
    wanted = {
        "int_type": "a whole number",
        "int_parsing": "a whole number",
        "int_from_float": "a whole number",
        "float_type": "a number",
        "float_parsing": "a number",
        "bool_type": "true or false",
        "string_type": "a text",
        "list_type": "a list",
        "dict_type": "a mapping",
        "model_type": "a mapping",
        "too_short": f"a list of at least {bounds.get('min_length')}",
        "greater_than_equal": f"at least {bounds.get('ge')}",
        "less_than_equal": f"at most {bounds.get('le')}",
        "greater_than": f"more than {bounds.get('gt')}",
        "string_pattern_mismatch": "a name of letters, digits, '_', '.' and '-'",
        "literal_error": bounds.get("expected"),
    }.get(detail["type"])
    message = str(detail["msg"]).removeprefix("Value error, ")
    if not wanted and not message.startswith("Input should be "):
        return message
    return f"must be {wanted or message.removeprefix('Input should be ').partition(',')[0]}, not {value}"
