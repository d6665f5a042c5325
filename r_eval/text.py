"""Text as it enters from outside: what no file or wire can hold is replaced once, at the boundary."""

from __future__ import annotations

from typing import Any

REPLACEMENT = "\ufffd"
DEEPEST = 200
"""Levels of nesting in plain data; nothing that a server or a tool sends has more."""


def clean(text: str) -> str:
    """A text that UTF-8 can hold: each lone surrogate becomes U+FFFD.

    >>> clean("Nairobi \\ud83c")
    'Nairobi \ufffd'
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # A pair of escapes that stands for one character is joined; a half that is alone is replaced.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_data(data: Any, depth: int = 0) -> Any:
    """Plain JSON data whose texts and keys are clean.

    Raises:
        ValueError: It is nested too deep.
    """
    if isinstance(data, str):
        return clean(data)
    if depth > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    if isinstance(data, dict):
        return {clean(str(key)): clean_data(value, depth + 1) for key, value in data.items()}
    if isinstance(data, list):
        return [clean_data(value, depth + 1) for value in data]
    return data
