"""Reading an answer that was written as a list: JSON, a Python repr, or plain text with separators.

Models and PAL programs answer with lists, and the published AMiner golds are Python reprs. They are read by
`json` and `ast.literal_eval` behind limits on length and nesting, never evaluated. In a mapping only the values
count: the keys are names of fields, not part of what was asked.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
from typing import Any

MAX_JSON = 20_000
MAX_REPR = 4_000
MAX_DEPTH = 20

_CLOSER = {"[": "]", "{": "}", "(": ")"}
_DOUBTFUL = re.compile(r"\\[^\\'\"abfnrtvxuU]|[-+~]{2}|\d(?:and|or|if|in|is|else|not)\b")
"""What Python's parser would warn of, or recurse on; none of it is in the repr of plain data."""


def list_values(text: str) -> list[str] | None:
    """The leaf values of a list, tuple or mapping written as text; None where the text is not one.

    >>> list_values("['Paris', 1.50]"), list_values('{"name": "KDD", "issue": null}'), list_values("Paris")
    (['Paris', '1.5'], ['KDD', ''], None)
    """
    text = text.strip()
    if len(text) < 2 or _CLOSER.get(text[0]) != text[-1] or len(text) > MAX_JSON or _depth(text) > MAX_DEPTH:
        return None
    try:
        data = json.loads(text, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        data = _python_repr(text)
    return None if not isinstance(data, (list, tuple, dict)) else _leaves(data)


def gold_values(gold: str) -> list[str]:
    """The values of a gold answer: of a list, or joined by ";" (as the wiki question sets do)."""
    values = list_values(gold)
    return split(gold, ";") if values is None else [value for value in values if value.strip()]


def split(text: str, separator: str) -> list[str]:
    """The parts of a text that are not empty, stripped."""
    return [value for part in text.split(separator) if (value := part.strip())]


def _python_repr(text: str) -> Any:
    if len(text) > MAX_REPR or _DOUBTFUL.search(text):
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _leaves(data: Any) -> list[str]:
    if isinstance(data, dict):
        return [leaf for value in data.values() for leaf in _leaves(value)]
    if isinstance(data, (list, tuple, set)):
        return [leaf for value in data for leaf in _leaves(value)]
    return ["" if data is None else str(data)]


def _depth(text: str) -> int:
    return max(itertools.accumulate((char in "[{(") - (char in "]})") for char in text))
