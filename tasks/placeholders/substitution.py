"""Fills placeholders in a text, all at once, so that a value that holds another placeholder is left alone."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from r_eval.languages import HAN, KANA

_INSIDE = rf"[^\W{HAN}{KANA}]"
"""A character that goes on with a word; Chinese and Japanese have no borders between words."""
_WORD = re.compile(_INSIDE)


def substituted(text: str, values: Mapping[str, str]) -> str:
    """The text with every placeholder replaced by its value; of two that begin at one place the longer is meant.

    A placeholder that begins or ends with a letter, digit or underscore is none inside a longer word: X1 is not in X10,
    and 5 is not in 5.5.

    >>> substituted("X1 met X10.", {"X1": "Ann", "X10": "the X1 group"})
    'Ann met the X1 group.'
    """
    return _pattern(frozenset(values)).sub(lambda match: values[match[0]], text) if values else text


def held(text: str, tokens: frozenset[str]) -> set[str]:
    """The placeholders that a text holds."""
    return set(_pattern(tokens).findall(text)) if tokens else set()


@functools.lru_cache(maxsize=256)
def _pattern(tokens: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(_bordered(token) for token in sorted(tokens, key=lambda token: (-len(token), token))))


def _bordered(token: str) -> str:
    """A pattern for one placeholder and the borders that it needs."""
    before = rf"(?<!{_INSIDE})" if _WORD.match(token[:1]) else ""
    after = rf"(?!{_INSIDE})" if _WORD.match(token[-1:]) else ""
    if token[:1].isdecimal():
        before += r"(?<!\d[.,])"
    if token.isdecimal():
        after += r"(?![.,]\d)"
    return f"{before}{re.escape(token)}{after}"
