"""PRGB's older form: a row of a CSV file whose cells hold lists and mappings, as JSON or as Python writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from r_eval.tasks.loaders.base import Broken
from r_eval.tasks.placeholders.variants import LEVELS

TRANSPOSED = frozenset({"placeholder", "answer"})
"""The keys in place of `placeholder_item`."""

_LISTS = ("golden_doc", *LEVELS.values())
_PIECE = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<sign>[\[\](){}:,])|(?P<other>-?[\w.]+)|\s+""", re.DOTALL
)
_WORDS = {"None": "null", "True": "true", "False": "false"}
_SIGNS = {"(": "[", ")": "]"}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\n": "", "\\": "\\", "'": "'", '"': '"'}


def from_cells(data: Any) -> Any:
    """A record in the newer form; one that is in it already, or is something else, as it stands.

    Raises:
        Broken: A cell cannot be read, or the placeholders have different numbers of values.
    """
    if not isinstance(data, Mapping) or ("placeholder_item" not in data and not data.keys() >= TRANSPOSED):
        return data
    row = dict(data)
    for key in (*_LISTS, "placeholder_item", *TRANSPOSED):
        if isinstance(row.get(key), str):
            row[key] = _value(key, row[key])
    if "placeholder_item" in row:
        return row
    row.setdefault("noise_doc_level3", [])  # the level came later than this form
    values = row.pop("placeholder")
    row["placeholder_item"] = {"placeholders": _transposed(values), "answer": row.pop("answer")}
    return row


def _transposed(values: Any) -> list[dict[str, Any]]:
    """`{token: [values]}` as one mapping a variant."""
    if not isinstance(values, Mapping) or not all(isinstance(value, list) for value in values.values()):
        raise Broken("placeholder: is no mapping of placeholders to lists of values")
    numbers = {len(value) for value in values.values()}
    if len(numbers) > 1:
        counts = ", ".join(f"{token} {len(value)}" for token, value in values.items())
        raise Broken(f"placeholder: different numbers of values ({counts[:200]})")
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


def _value(key: str, cell: str) -> Any:
    """What a cell holds; an empty one, nothing."""
    if not cell.strip():
        return []
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(_as_json(cell))
    except (ValueError, RecursionError):
        raise Broken(
            f"{key}: is neither JSON nor a list as Python writes it: {' '.join(cell.split())[:60]!r}"
        ) from None


def _as_json(cell: str) -> str:
    """JSON for a literal of Python, of which only texts, numbers, None, lists, tuples and mappings are known.

    Raises:
        ValueError: Something else is in it.
    """
    pieces: list[str] = []
    at = 0
    while at < len(cell):
        match = _PIECE.match(cell, at)
        if match is None:
            raise ValueError(cell[at : at + 20])
        at = match.end()
        if text := match["text"]:
            pieces.append(json.dumps(_ESCAPE.sub(_unescaped, text[1:-1])))
        elif sign := match["sign"]:
            if sign in "])}" and pieces and pieces[-1] == ",":
                pieces.pop()
            pieces.append(_SIGNS.get(sign, sign))
        elif other := match["other"]:
            pieces.append(_WORDS.get(other, other))
    return " ".join(pieces)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    return chr(int(code, 16)) if code else _ESCAPED.get(match[4], match[0])
