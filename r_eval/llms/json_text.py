"""JSON as models write it: read strictly where it is sound, repaired where it is not, within bounds on length and work.

The repair is json-repair's, which guesses well, but on some inputs takes seconds for 20,000 characters: 9 microseconds
for each, and up to 4 more for each bracket that opens. It only gets what it repairs within 30 ms at the worst.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from r_eval.text import DEEPEST, clean_data

MAX_LENGTH, MAX_DEPTH, MAX_OPEN = 200_000, 100, 200
"""Characters of a text that is read; levels of nesting; brackets that open in a repaired value."""
DECODER = json.JSONDecoder(strict=False)
START = re.compile(r"[{\[]")
FENCE = re.compile(r"\A```\w*+\s*+|(?<!\s)\s*+```\Z")
"""The fence around a whole text."""
STRING = "|".join(
    rf"(?<!\w){opening}(?:[^{closing}\\]++|\\.|{closing}(?!\s*+(?:[,:}}\])]|\Z)))*+(?:{closing}|\\?\Z)"
    for opening, closing in ('""', "''", "“”", "‘’")
)
"""A quoted text, to the end where it is not closed. A quote that more of it follows is a part: `"the film "Up" of"`."""
TOKEN = re.compile(rf"(?P<string>{STRING})|[{{}}\[\]()]", re.DOTALL)
CLOSING = {"{": "}", "[": "]", "(": ")", '"': '"', "'": "'", "“": "”", "‘": "’"}
NO_VALUE = re.compile(r"[:=]\s*+(?:[,}\])]|\Z)|[{,]\s*+[\"'][^\"':]*+\Z")
"""A key without a value; json-repair would make one up."""


class JSONTextError(ValueError):
    """There is no data at this place of a text."""


class JSONValue(NamedTuple):
    """A value in a text; `is_closed` is False if the text ended before the value did."""

    start: int
    end: int
    value: Any
    is_closed: bool = True


@dataclasses.dataclass(slots=True)
class Budget:
    """The work that one text may still cause: pieces to be read, and microseconds of json-repair's."""

    pieces: int = 2_500
    repair: int = 30_000


def json_values(text: str, budget: Budget | None = None) -> Iterator[JSONValue]:
    """The objects and arrays in a text one after another, those inside others left out.

    >>> [json_value.value for json_value in json_values("Here: {'entity': 'Kenya', limit: 3,} // done")]
    [{'entity': 'Kenya', 'limit': 3}]
    """
    text, budget = text[:MAX_LENGTH], budget or Budget()
    start = START.search(text)
    while start and budget.pieces > 0:
        value = _value(text, start.start(), budget)
        if value:
            yield value
        start = START.search(text, value.end if value else start.end())


def first_object(text: str, budget: Budget | None = None) -> JSONValue:
    """The object that a text begins with, or the one after it where that is empty, as some servers send it.

    Raises:
        JSONTextError: It begins with none.
    """
    objects = [one for one in itertools.islice(json_values(text, budget), 3) if isinstance(one.value, dict)]
    if not objects or objects[0].start > 0:
        raise JSONTextError("they are no sound JSON")
    return next((one for one in objects if one.value), objects[0])


def _value(text: str, start: int, budget: Budget) -> JSONValue | None:
    """The object or array that begins at a place of a text."""
    budget.pieces -= 10
    try:
        value, end = DECODER.raw_decode(text, start)
        return JSONValue(start, end, plain_data(value))
    except (ValueError, RecursionError) as error:
        budget.pieces -= (getattr(error, "pos", start + 4000) - start) // 20
    end, is_closed = extent(text, start, budget)
    piece, cost = text[start:end], (end - start) * (9 + 4 * sum(text.count(sign, start, end) for sign in "{[("))
    if not piece or cost > budget.repair or NO_VALUE.search(piece):
        return None
    budget.repair -= cost
    import json_repair  # takes 40 ms

    try:
        value = plain_data(json_repair.repair_json(piece, return_objects=True, skip_json_loads=True))
    except Exception:  # noqa: BLE001  some texts break it in its own ways
        return None
    return JSONValue(start, end, value, is_closed) if isinstance(value, dict | list) else None


def extent(text: str, start: int, budget: Budget, stop: int | None = None) -> tuple[int, bool]:
    """Where the bracket closes that opens at a place of a text, and whether it does; no more than `MAX_OPEN` open.

    Args:
        stop: The end of the text to look at.
    """
    stop = len(text) if stop is None else stop
    stack: list[str] = []
    opened, position = 0, start
    for token in TOKEN.finditer(text, start, stop):
        piece = token[0]
        budget.pieces -= 1 + (token.end() - position) // 20
        position = token.end()
        opened += piece in "{[("
        if opened > MAX_OPEN or budget.pieces < 0:
            return start, False
        if token["string"]:
            if len(piece) < 2 or piece[-1] != CLOSING[piece[0]]:
                break
        elif piece in CLOSING:
            stack.append(CLOSING[piece])
        elif piece in stack:
            while stack.pop() != piece:
                pass
            if not stack:
                return token.end(), True
    budget.pieces -= (stop - position) // 20
    return stop, False


def plain_data(value: Any) -> Any:
    """A value with clean texts, if JSON can hold it.

    Raises:
        JSONTextError: It is nested too deep, a number is not finite, or there is something else than data.
    """
    try:
        return clean_data(json.loads(json.dumps(value, allow_nan=False)), DEEPEST - MAX_DEPTH)
    except (ValueError, TypeError, RecursionError):
        raise JSONTextError(f"they hold what JSON cannot, or more than {MAX_DEPTH} levels") from None
