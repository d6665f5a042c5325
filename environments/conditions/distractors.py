"""Passages that a search should not have found: unrelated ones, and near-duplicates that say something else."""

from __future__ import annotations

import random
import re
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from r_eval.environments.conditions.alternatives import near_number
from r_eval.environments.conditions.screen import LONGEST

DIGITS = re.compile(r"[0-9]{1,18}")
NAME = re.compile(r"(?<=[a-zà-ÿа-яё,] )[A-ZÀ-ÞА-ЯЁ][a-zà-ÿа-яё]{2,}")
"""A word with a capital that does not begin a sentence."""
SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")

Passage = dict[str, Any]


def are_passages(value: Any) -> bool:
    """Whether a result is a list of passages: records, at least one, each with a text."""
    is_list = isinstance(value, list) and bool(value)
    return is_list and all(isinstance(one, dict) and isinstance(one.get("text"), str) for one in value)


def excerpt(document: Passage, results: Sequence[Passage]) -> Passage:
    """The first sentences of a document in the form of what was found, and about as long as that is at the median."""
    length = int(statistics.median(len(passage["text"]) for passage in results))
    text = str(document.get("text", ""))
    end = SENTENCE_END.search(text, length // 2)
    own = {**document, "id": document.get("id", ""), "text": text[: end.end()] if end else text}
    return {key: own.get(key, value) for key, value in results[0].items()}


def near_duplicates(results: Sequence[Passage], draw: random.Random) -> Iterator[Passage]:
    """What was found, the best first, with other numbers, or with another name where there is no number.

    A passage with neither is left out, as is one that is too long to be a passage.
    """
    results = [passage for passage in results if len(passage["text"]) <= LONGEST]
    names = sorted({name for passage in results for name in NAME.findall(passage["text"])})
    ids = {str(passage.get("id", "")) for passage in results}
    for passage in results:
        text = DIGITS.sub(lambda found: other_number(found.group(), draw), passage["text"])
        if text == passage["text"]:
            text = _renamed(text, names, draw)
        if text != passage["text"]:
            own_id = {"id": _other_id(str(passage["id"]), ids, draw)} if "id" in passage else {}
            yield {**passage, **own_id, "text": text}


def other_number(digits: str, draw: random.Random) -> str:
    """Another number of as many digits and about the same size."""
    drawn = (near_number(digits, draw) for _ in range(100))
    return next((number for number in drawn if number != digits), digits)


def _renamed(text: str, names: Sequence[str], draw: random.Random) -> str:
    own = NAME.search(text)
    others = [name for name in names if own and name not in text]
    if own is None or not others:
        return text
    other = draw.choice(others)
    return re.sub(rf"\b{re.escape(own.group())}\b", lambda _: other, text)


def _other_id(key: str, used: set[str], draw: random.Random) -> str:
    """The id of another passage of the same document, which was not found."""
    document, _, place = key.rpartition("#") if "#" in key else (key, "", "")
    most = int(place) if place.isdecimal() and len(place) < 9 else len(used)
    numbers = (draw.randint(1, most + 9) for _ in range(1000))
    return next((made for number in numbers if (made := f"{document}#{number}") not in used), f"{key}#{most + 10}")
