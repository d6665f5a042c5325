"""JSON as models write it: read strictly where it is sound, mended where it is not, within bounds on length and work.

Quotes are made sound, a cut end is completed, Python's literals are read as such. The rest is for json-repair, which
guesses well, but on some inputs takes seconds for 20,000 characters: 9 microseconds for each, and up to 4 more for each
bracket that opens. It only gets what it mends within 30 ms at the worst.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

from r_eval.text import DEEPEST, clean_data

MAX_LENGTH, MAX_LITERAL, MAX_DEPTH, MAX_OPEN = 200_000, 5_000, 100, 200
"""Characters of a text that is read, and of a literal; levels of nesting; brackets that open in a mended value."""
START = re.compile(r"[{\[]")
FENCE = re.compile(r"\A```\w*+\s*+|(?<!\s)\s*+```\Z")
"""The fence around a whole text."""
STRING = "|".join(
    rf"(?<!\w){opening}(?:[^{closing}\\]++|\\.|{closing}(?!\s*+(?:[,:}}\])]|\Z)))*+(?:{closing}|\\?\Z)"
    for opening, closing in ('""', "''", "“”", "‘’")
)
"""A quoted text, to the end where it is not closed. A quote that more of it follows is a part: `"the film "Up" of"`."""
TOKEN = re.compile(rf"(?P<string>{STRING})|[{{}}\[\]()]", re.DOTALL)
ESCAPE = re.compile(r"\\.|\"", re.DOTALL)
ESCAPES = {"\\'": "'", '"': '\\"'}
CLOSING = {"{": "}", "[": "]", "(": ")", '"': '"', "'": "'", "“": "”", "‘": "’"}
NO_VALUE = re.compile(r"[:=]\s*+(?:[,}\])]|\Z)|[{,]\s*+[\"'][^\"':]*+\Z")
"""A key without a value; json-repair would make one up."""


class JSONTextError(ValueError):
    """There is no data at this place of a text."""


class JSONValue(NamedTuple):
    """A value in a text; `is_closed` is False where the text ended before the value did."""

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

    >>> [found.value for found in json_values("Here: {'entity': 'Kenya', limit: 3,} // done")]
    [{'entity': 'Kenya', 'limit': 3}]
    """
    text, budget = text[:MAX_LENGTH], budget or Budget()
    start = START.search(text)
    while start and budget.pieces > 0:
        found = _value(text, start.start(), budget)
        if found:
            yield found
        start = START.search(text, found.end if found else start.end())


def first_object(text: str, budget: Budget | None = None) -> JSONValue:
    """The object that a text begins with, or the one after it where that is empty, as some servers send it.

    Raises:
        JSONTextError: It begins with none.
    """
    found = [value for value in itertools.islice(json_values(text, budget), 3) if isinstance(value.value, dict)]
    if not found or found[0].start > 0:
        raise JSONTextError("they are no sound JSON")
    return next((value for value in found if value.value), found[0])


def _value(text: str, start: int, budget: Budget) -> JSONValue | None:
    """The object or array that begins at a place of a text."""
    budget.pieces -= 10
    try:
        value, end = DECODER.raw_decode(text, start)
        return JSONValue(start, end, plain_data(value))
    except (ValueError, RecursionError) as error:
        budget.pieces -= (getattr(error, "pos", start + 4000) - start) // 20
    end, missing = _extent(text, start, budget)
    piece, cost = text[start:end], (end - start) * (9 + 4 * sum(text.count(sign, start, end) for sign in "{[("))
    readers: list[Callable[[str], Any]] = [DECODER.decode] if piece else []
    readers += [ast.literal_eval] if 0 < len(piece) <= MAX_LITERAL else []
    if "{" in piece and cost <= budget.repair and not NO_VALUE.search(piece):
        budget.repair -= cost
        readers.append(_repaired)
    sound = requoted(piece) + missing
    for reader in readers:
        try:
            with warnings.catch_warnings(action="ignore"):
                value = plain_data(reader(sound))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(value, dict | list):
            return JSONValue(start, end, value, not missing)
    return None


def _extent(text: str, start: int, budget: Budget) -> tuple[int, str]:
    """Where the brackets are closed that open at a place of a text, and the brackets missing at its end.

    It begins and ends at the same place where there are too many brackets.
    """
    stack: list[str] = []
    opened, position = 0, start
    for token in TOKEN.finditer(text, start):
        piece = token[0]
        budget.pieces -= 1 + (token.end() - position) // 20
        position = token.end()
        opened += piece in "{[("
        if opened > MAX_OPEN or budget.pieces < 0:
            return start, ""
        if token["string"]:
            if len(piece) < 2 or piece[-1] != CLOSING[piece[0]]:
                break
        elif piece in CLOSING:
            stack.append(CLOSING[piece])
        elif piece in stack:
            while stack.pop() != piece:
                pass
            if not stack:
                return token.end(), ""
    budget.pieces -= (len(text) - position) // 20
    return len(text), "".join(reversed(stack))


def requoted(text: str) -> str:
    """A text whose quoted parts are in JSON's quotes, closed, their own quotes escaped."""
    return TOKEN.sub(_requoted, text)


def _requoted(token: re.Match[str]) -> str:
    """A text in the quotes of JSON, closed, its own quotes escaped; a bracket as it is."""
    text = token[0]
    if not token["string"]:
        return text
    inner = text[1:-1] if len(text) > 1 and text[-1] == CLOSING[text[0]] else text[1:]
    return f'"{ESCAPE.sub(lambda match: ESCAPES.get(match[0], match[0]), inner)}"'


def _repaired(text: str) -> Any:
    import json_repair  # takes 40 ms

    try:
        return json_repair.repair_json(text, return_objects=True, skip_json_loads=True)
    except Exception as error:  # some texts break it in its own ways
        raise JSONTextError("it is no JSON") from error


def plain_data(value: Any) -> Any:
    """A value with clean texts, if JSON can hold it.

    Raises:
        JSONTextError: It is nested too deep, a number is not finite, or there is something else than data.
    """
    try:
        return clean_data(json.loads(json.dumps(value, allow_nan=False)), DEEPEST - MAX_DEPTH)
    except (ValueError, TypeError, RecursionError):
        raise JSONTextError(f"they hold what JSON cannot, or more than {MAX_DEPTH} levels") from None


def _refuse(name: str) -> NoReturn:
    raise JSONTextError(f"{name} is no number that JSON has")


DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)
