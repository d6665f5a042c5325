"""Files of records, one JSON object a line, and the names in them that are like a text: what wiki and aminer share."""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from rapidfuzz import process

from r_eval.errors import UserError, describe_invalid
from r_eval.text import clean_data

Model = TypeVar("Model", bound=BaseModel)
_COMPARED = 2000
"""Texts that are compared in one go: rapidfuzz lets no other thread run, and a server's must answer."""


def read_file(path: Path) -> tuple[bytes, str]:
    """The content of a file of records, and its hash.

    Raises:
        UserError: The file cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    return data, hashlib.blake2b(data, digest_size=8).hexdigest()


def read_records(path: Path, data: bytes, model: Callable[[Any], type[Model]]) -> Iterator[tuple[int, Model]]:
    """The records of a file with the numbers of their lines; blank lines count and are passed over.

    Args:
        path: Where `data` comes from, for messages.
        data: The file's content.
        model: Which model a line's value is read as.

    Raises:
        UserError: A line is not UTF-8, not JSON or not what the model takes; names it.
    """
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = clean_data(json.loads(line.decode("utf-8-sig")))
            yield number, model(value).model_validate(value)
        except ValidationError as error:
            first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")  # a key misspelt
            where = ".".join(map(str, first["loc"])) or "the line"
            raise UserError(f"{path}:{number}: {where}: {describe_invalid(first)}") from None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}:{number}: not a JSON object in UTF-8 ({error})") from None


def alike(text: str, among: Sequence[str], scorer: Callable[..., float], cutoff: float, limit: int) -> list[int]:
    """Places of the texts that are most like a text, the likest first, and of equally like ones the earlier first.

    Args:
        text: What is compared.
        among: The texts.
        scorer: One of rapidfuzz's similarities.
        cutoff: What a text must score.
        limit: How many places are given.
    """
    texts, found, start = iter(among), [], 0
    while part := list(islice(texts, _COMPARED)):
        scored = process.extract(text, part, scorer=scorer, processor=None, score_cutoff=cutoff, limit=limit)
        found += [(score, -(start + place)) for _, score, place in scored]
        start += len(part)
    return [-place for _, place in heapq.nlargest(limit, found)]
