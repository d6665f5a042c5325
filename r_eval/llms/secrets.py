"""Keys: where they come from, where they are refused, and how they are removed from what a server says of an error.

A successful reply is never touched: with a dummy key such as `none` every answer comes through unchanged.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping

from r_eval.errors import UserError
from r_eval.grid import holds_key

MARK = "[key]"
SHORTEST = 6
"""Characters of a key that is removed; a shorter one is a dummy, and part of many words."""
HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
LONGEST = 200_000
"""Characters of an error that are read: no pattern may hold the event loop up."""
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RANDOM = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9_]{32,}")
"""A run of letters and digits as long as keys are, and words are not."""


class Secrets:
    """The keys of one LLM."""

    def __init__(self, *keys: str) -> None:
        long = [key for key in keys if len(key) >= SHORTEST]
        forms = [*map(_any_escaping, long)]
        forms += [re.escape(base64.b64encode(key.encode()).decode().rstrip("=")) for key in long]
        self._pattern = re.compile("|".join(forms) or "(?!)", re.IGNORECASE)

    def strike(self, text: str) -> str:
        """The beginning of a text without the keys, however they are escaped in it; what is JSON remains so."""
        return self._pattern.sub(MARK, text[:LONGEST])


def _any_escaping(key: str) -> str:
    """A pattern of a key in which each character may be escaped as JSON, URLs or HTML do."""
    forms = []
    for c in key:
        code = ord(c)
        percent = "".join(f"%{byte:02x}" for byte in c.encode())
        forms.append(
            rf"(?:\\{{0,8}}{re.escape(c)}|\\{{1,8}}u{code:04x}|{percent}|&#(?:0{{0,6}}{code}|x0{{0,6}}{code:x});)"
        )
    return "".join(forms)


def header_value(name: str, variable: str) -> str:
    """The value of an environment variable as a header can hold it; "" if it is not set.

    Raises:
        UserError: No header can hold it.
    """
    value = os.environ.get(variable, "").strip()
    if not (value.isascii() and value.isprintable()):
        raise UserError(f"LLM '{name}': the environment variable {variable} holds what no HTTP header can")
    return value


def environment_headers(name: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Headers with their values, which environment variables hold.

    Raises:
        UserError: A variable is not set, or a key is given instead of its variable's name.
    """
    for header, variable in headers.items():
        if not HEADER.fullmatch(header) or not VARIABLE.fullmatch(variable) or holds_key(variable):
            raise UserError(f"LLM '{name}': headers takes names of headers with names of environment variables")
        if variable not in os.environ:
            raise UserError(f"LLM '{name}': headers: the environment variable {variable} is not set")
    return {header: header_value(name, variable) for header, variable in headers.items()}


def refuse_key(name: str, where: str, value: str, header: bool = False) -> None:
    """Refuse a setting that holds a key.

    Raises:
        UserError: It does; the message does not repeat it.
    """
    wrong = header and value and not HEADER.fullmatch(value)
    if where == "api_key_env" and value and not VARIABLE.fullmatch(value):
        raise UserError(f"LLM '{name}': api_key_env takes the name of an environment variable, without $")
    if wrong or holds_key(value) or any(holds_key(piece) or RANDOM.fullmatch(piece) for piece in value.split("/")):
        prefix = "" if value in name or where.startswith("the model") else f" '{name}'"
        hint = "looks like a key: put the name of its variable in api_key_env"
        raise UserError(f"LLM{prefix}: {where} {'takes the name of a header' if wrong else hint}")
