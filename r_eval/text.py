"""Text as it enters from outside: what no file or wire can hold is replaced once, at the boundary; keys are refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

REPLACEMENT = "\ufffd"
SURROGATE = re.compile("[\ud800-\udfff]")
TERMINAL_SEQUENCES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
SPACES = re.compile("[\x0b-\x0d\x1c-\x1f\x85]")
"""Control characters that part words, such as the form feed between two pages."""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and new line, and those that change the direction of the text after them."""
DEEPEST = 200
"""Levels of nesting in plain data; nothing that a server or a tool sends has more."""
KEY_LIKE = re.compile(r"^(?:Bearer |sk-|gsk_|hf_|xai-|AIza|AKIA|ghp_|nvapi-|r8_)[\w-]{8,}")
KEY_NAME = re.compile(r"key|token|secret|signature|password|^sig$", re.IGNORECASE)


def clean(text: str) -> str:
    """A text that UTF-8 can hold: surrogates that make a pair are joined, and each lone one becomes U+FFFD.

    >>> clean("Nairobi \\ud83c")
    'Nairobi \ufffd'
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # JSON joins halves that make a pair; so do the error handlers of codecs, in half a second for a million.
        return SURROGATE.sub(REPLACEMENT, json.loads(json.dumps(text)))
    return text


def printable(text: str) -> str:
    """A clean text without the characters by which it could command a terminal.

    >>> printable("Ke\\x1b[31mnya\\x0cUganda")
    'Kenya Uganda'
    """
    if text.isprintable():
        return text
    text = TERMINAL_SEQUENCES.sub("", clean(text).replace("\r\n", "\n"))
    return CONTROL.sub("", SPACES.sub(" ", text))


def clean_data(data: Any, depth: int = 0, clean: Callable[[str], str] = clean) -> Any:
    """Plain JSON data whose texts and keys are clean.

    Args:
        clean: What is done with each text: `clean`, or `printable`.

    Raises:
        ValueError: It is nested too deep.
    """
    if isinstance(data, str):
        return clean(data)
    if depth > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    if isinstance(data, dict):
        return {clean(str(key)): clean_data(value, depth + 1, clean) for key, value in data.items()}
    if isinstance(data, list):
        return [clean_data(value, depth + 1, clean) for value in data]
    return data


def holds_key(text: str) -> bool:
    """Whether a setting looks as if it held a key: by its form, or as a part of an address."""
    is_key = KEY_LIKE.match(text) is not None
    if is_key or "://" not in text:
        return is_key
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.password is not None or any(KEY_NAME.search(name) for name, _ in parse_qsl(parts.query))
