"""Keys: where they come from, where they are refused, and how they are removed from what a server says of an error.

A successful reply is never touched: with a dummy key such as `none` every answer comes through unchanged.
"""

from __future__ import annotations

import base64
import html.entities
import os
import re
from collections.abc import Mapping

from r_eval.errors import UserError
from r_eval.text import holds_key

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
        forms += [key.encode().hex() for key in long]
        forms += [_in_base64(key.encode(), *place) for key in long for place in ((0, 0), (1, 2), (2, 3))]
        self._pattern = re.compile("|".join(forms) or "(?!)", re.IGNORECASE)

    def strike(self, text: str) -> str:
        """The beginning of a text without the keys, however they are escaped in it; what is JSON remains so."""
        return self._pattern.sub(MARK, text[:LONGEST])


def _any_escaping(key: str) -> str:
    """A pattern of a key in which each character may be escaped as JSON, Python, URLs or HTML do."""
    forms = []
    for c in key:
        code = ord(c)
        percent = "".join(f"%(?:25){{0,3}}{byte:02x}" for byte in c.encode())
        slashes = r"\\{0,8}" if c == "\\" else r"\\{0,8}+"
        escaped = rf"{slashes}(?:{re.escape(c)}|u{code:04x}|x{code:02x}|{code:03o})"
        names = [f"|{name}" for name, text in html.entities.html5.items() if text == c and name.endswith(";")]
        entity = rf"&(?:amp;){{0,3}}(?:#0{{0,6}}{code};|#x0{{0,6}}{code:x};{''.join(names)})"
        forms.append(f"(?:{escaped}|{percent}|{entity})")
    return "".join(forms)


def _in_base64(key: bytes, before: int, skipped: int) -> str:
    """A pattern of a key in base64 after some other bytes, without the digits that it shares with them."""
    digits = base64.b64encode(bytes(before) + key).decode().rstrip("=")[skipped:-1]
    return re.escape(digits).replace(r"\+", "[+-]").replace("/", "[/_]")


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
        UserError: A variable is not set.
    """
    for variable in headers.values():
        if variable not in os.environ:
            raise UserError(f"LLM '{name}': headers: the environment variable {variable} is not set")
    return {header: header_value(name, variable) for header, variable in headers.items()}


def refuse_keys(llm: str, model: str, headers: Mapping[str, str], **settings: str) -> None:
    """Refuse settings of an LLM that hold a key.

    Raises:
        UserError: One does, or what names a header or a variable cannot be one; the message does not repeat it.
    """
    for header, variable in headers.items():
        if not HEADER.fullmatch(header) or not VARIABLE.fullmatch(variable) or holds_key(variable):
            raise UserError(f"LLM '{llm}': headers takes names of headers with names of environment variables")
    for name, value in {"model": model, **settings}.items():
        if any(holds_key(piece) or RANDOM.fullmatch(piece) for piece in (value, *value.split("/"))):
            raise UserError(f"LLM: its {name} looks like a key: put the name of its variable in api_key_env")
    if not VARIABLE.fullmatch(settings["api_key_env"] or "_"):
        raise UserError(f"LLM '{llm}': api_key_env takes the name of an environment variable, without $")
    if (header := settings["api_key_header"]) and not HEADER.fullmatch(header):
        raise UserError(f"LLM '{llm}': api_key_header takes the name of a header")
