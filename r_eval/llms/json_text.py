"""JSON as models write it: read strictly where it is sound, mended where it is not, within bounds on length and work.

Mending is done in one pass over tokens, so its time grows with the length alone. It understands single and typographic
quotes, Python's literals and tuples, keys without quotes, comments, missing and doubled commas, bare quotes and line
breaks inside texts, and a cut end. What is left goes to json-repair, which guesses well but takes time that grows with
the third power of the length on some inputs (9 s for 4,000 characters were seen), so it only gets short texts.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from r_eval.text import clean_data

MAX_LENGTH, MAX_MEND = 200_000, 50_000
"""Characters of a text that are looked at, and characters of one value that are mended."""
MAX_TOKENS, MAX_REPAIR = 2_500, 400
"""Tokens that are read, and characters that json-repair is given, for one text: each takes less than 20 ms."""
MAX_DEPTH = 100

START = re.compile(r"[{\[]")
FENCE = re.compile(r"\A```\w*+\s*+|(?<!\s)\s*+```\Z")
"""The fence around a whole text."""
_AFTER = r"[^\S\n]*+(?:\Z|[\n,:}\])#]|//|/\*)|\s++[\"'“‘{\[]"
_TEXTS = {'"': '"', "'": "'", "“": '”“"', "‘": "’‘'"}
_STRINGS = "|".join(
    rf"{opening}(?:[^{closing}\\]++|\\.|[{closing}](?!{_AFTER}))*+(?:[{closing}]|\\?\Z)"
    for opening, closing in _TEXTS.items()
)
"""A quote that more of the text follows belongs to the text: `"the film "Up" of 2009"`."""
TOKEN = re.compile(
    r"(?P<space>(?:\s++|\\n|//[^\n]*+|#[^\n]*+|/\*.*?(?:\*/|\Z))++)"
    r"|(?P<triple>\"{3}.*?(?:\"{3}|\Z)|'{3}.*?(?:'{3}|\Z))"
    rf"|(?P<string>{_STRINGS})"
    r"|(?P<open>[{\[(])|(?P<close>[}\])])|(?P<comma>,)|(?P<colon>:)"
    r"|(?P<number>[-+]?(?:(?:0|[1-9][0-9_]*+)(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?(?![\w.:-]))"
    r"|(?P<word>[^\s\"'“‘{}\[\](),:]++)",
    re.DOTALL,
)
COLON = re.compile(r"\s*+:")
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.|\Z)|\"", re.DOTALL)
NO_VALUE = re.compile(r"[:=]\s*+[,}\])]")
CONSTANTS = {"true": "true", "True": "true", "false": "false", "False": "false"} | dict.fromkeys(
    ("null", "None", "undefined"), "null"
)
OPENERS = {"}": "{", "]": "[", ")": "("}
CLOSERS = {"{": "}", "[": "]", "(": "]"}
VALUES = frozenset(("string", "number", "close"))


class JSONTextError(ValueError):
    """There is no data at this place of a text; `end` is how far the text was read in vain."""

    def __init__(self, message: str, end: int = 0) -> None:
        super().__init__(message)
        self.end = end


class JSONValue(NamedTuple):
    """A value in a text; `is_closed` is False where the text ended, or went on with prose, before the value did."""

    start: int
    end: int
    value: Any
    is_closed: bool = True


@dataclasses.dataclass(slots=True)
class Budget:
    """The work that one text may still cause."""

    tokens: int = MAX_TOKENS
    repair: int = MAX_REPAIR


def json_values(text: str, budget: Budget | None = None) -> Iterator[JSONValue]:
    """The objects and arrays in a text one after another, those inside others left out.

    >>> [found.value for found in json_values("Here: {'entity': 'Kenya', limit: 3,} // done")]
    [{'entity': 'Kenya', 'limit': 3}]
    """
    text, budget = text[:MAX_LENGTH], budget or Budget()
    start = START.search(text)
    while start and budget.tokens > 0:
        try:
            found = read_value(text, start.start(), budget)
        except JSONTextError as error:
            start = START.search(text, max(start.end(), error.end))
        else:
            yield found
            start = START.search(text, found.end)


def read_value(text: str, start: int, budget: Budget) -> JSONValue:
    """The object or array that begins at a place of a text.

    Raises:
        JSONTextError: There is none, or it is nested too deep, or holds a number that JSON cannot.
    """
    budget.tokens -= 10
    try:
        value, end = DECODER.raw_decode(text, start)
        return JSONValue(start, end, plain_data(value))
    except JSONTextError:
        raise
    except ValueError:
        pass
    except RecursionError:
        budget.tokens -= 200
    mended, end, is_closed = _mend(text, start, budget)
    try:
        return JSONValue(start, end, plain_data(DECODER.decode(mended)), is_closed)
    except JSONTextError:
        raise
    except ValueError:
        if is_closed and text[start] == "{":
            return JSONValue(start, end, _repair(text[start:end], budget))
        raise JSONTextError("it is no JSON") from None


def plain_data(value: Any, depth: int = 0) -> Any:
    """A value with clean texts, if JSON can hold it.

    Raises:
        JSONTextError: It is nested too deep, or a number is not finite.
    """
    if isinstance(value, str):
        return clean_data(value)
    if depth > MAX_DEPTH:
        raise JSONTextError(f"it is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {clean_data(str(key)): plain_data(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise JSONTextError(f"{value} is no number that JSON has")
    if value is not None and not isinstance(value, bool | int | float):
        raise JSONTextError(f"a {type(value).__name__} is nothing that JSON has")
    return value


def _mend(text: str, start: int, budget: Budget) -> tuple[str, int, bool]:
    """Sound JSON for what begins at a place of a text, where that ends, and whether its brackets are closed there."""
    pieces: list[str] = []
    stack: list[str] = []
    before, line, end = "", False, start
    is_closed, limit = True, min(len(text), start + MAX_MEND)
    for token in TOKEN.finditer(text, start, limit):
        kind, piece = token.lastgroup or "", token[0]
        budget.tokens -= 1 + len(piece) // 20
        if token.start() != end or budget.tokens < 0:
            break
        if kind == "space":
            line, end = "\n" in piece, token.end()
            continue
        if kind in ("string", "triple", "number", "word", "open") and before in VALUES:
            if kind == "word" and line and not COLON.match(text, token.end()):
                return _closed(pieces, stack), token.start(), False
            pieces.append(",")
        if kind == "open":
            stack.append(piece)
            pieces.append("[" if piece == "(" else piece)
            if len(stack) > MAX_DEPTH:
                raise JSONTextError(f"it is nested deeper than {MAX_DEPTH} levels", token.end())
        elif kind == "close":
            if before == "comma":
                pieces.pop()
            while stack and stack[-1] != OPENERS[piece]:
                pieces.append(CLOSERS[stack.pop()])
            if not stack:
                break
            pieces.append(CLOSERS[stack.pop()])
        elif kind == "comma":
            if before in ("comma", "open", ""):
                end = token.end()
                continue
            pieces.append(piece)
        elif kind == "colon":
            pieces.append(piece)
        else:
            if _is_cut(token):
                is_closed = False
            pieces.append(_scalar(token, text))
            kind = "string" if kind != "number" else kind
        before, line, end = kind, False, token.end()
        if not stack:
            return "".join(pieces), end, is_closed
    if end < limit or limit < len(text):
        raise JSONTextError("it is no JSON")
    if before == "comma":
        pieces.pop()
    return _closed(pieces, stack), end, False


def _closed(pieces: list[str], stack: list[str]) -> str:
    return "".join(pieces) + "".join(CLOSERS[opening] for opening in reversed(stack))


def _is_cut(token: re.Match[str]) -> bool:
    """Whether a text ends with the whole text instead of a quote."""
    size = {"triple": 3, "string": 1}.get(token.lastgroup or "", 0)
    closing = _TEXTS.get(token[0][0], "")
    return size > 0 and (len(token[0]) < 2 * size or not all(c in closing for c in token[0][-size:]))


def _scalar(token: re.Match[str], text: str) -> str:
    """A text, number or word as JSON."""
    kind, piece = token.lastgroup, token[0]
    if kind in ("string", "triple"):
        size = 1 if kind == "string" else 3
        cut = _is_cut(token)
        inner = piece[size:] if cut else piece[size:-size]
        if cut and piece[0] in inner.replace(f"\\{piece[0]}", ""):
            raise JSONTextError("it is no JSON", token.end())  # where the text was meant to end, nobody knows
        return f'"{ESCAPE.sub(_escape, inner)}"'
    if COLON.match(text, token.end()):
        return json.dumps(piece)
    if kind == "word":
        return CONSTANTS.get(piece, piece)  # any other word fails later, or is for json-repair
    digits = piece.replace("_", "").lstrip("+")
    return repr(float(digits)) if set(digits) & set(".eE") else digits


def _escape(match: re.Match[str]) -> str:
    """An escape of JSON or Python, or a bare quote, as JSON; a backslash before anything else stays one."""
    code = match[1]
    if code is None:
        return '\\"'
    if code == "" or code == "\n":
        return ""
    if len(code) == 5 or code in '"\\/bfnrt':
        return match[0]
    if len(code) == 3:
        return f"\\u00{code[1:]}"
    return code if code in "'“”‘’" else f"\\\\{code}"


def _repair(text: str, budget: Budget) -> Any:
    """What json-repair makes of an object with all its brackets.

    Raises:
        JSONTextError: No object, or the text is too long for it.
    """
    budget.repair -= len(text) + MAX_REPAIR // 8 * len(START.findall(text))
    if budget.repair < 0 or NO_VALUE.search(text):
        raise JSONTextError("it is no JSON")
    import json_repair  # takes 40 ms

    try:
        value = json_repair.repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        raise JSONTextError("it is no JSON") from None
    if not isinstance(value, dict):
        raise JSONTextError("it is no JSON")
    return plain_data(value)


def _refuse(name: str) -> NoReturn:
    raise JSONTextError(f"{name} is no number that JSON has")


DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)
