"""Passages that a search should not have found: unrelated ones, siblings, near-duplicates that say something else."""

from __future__ import annotations

import random
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from r_eval.records import Question

DIGITS = re.compile(r"[0-9]{1,18}")
NAME = re.compile(r"(?<=[a-zà-ÿа-яё,] )[A-ZÀ-ÞА-ЯЁ][a-zà-ÿа-яё]{2,}")
"""A word with a capital that does not begin a sentence."""

Passage = dict[str, Any]


def are_passages(value: Any) -> bool:
    """Whether a result is a list of passages: records, at least one, each with a text."""
    return isinstance(value, list) and bool(value) and all(isinstance(p, dict) and _has_text(p) for p in value)


def _has_text(passage: Mapping[str, Any]) -> bool:
    return isinstance(passage.get("text"), str)


def answers(passage: Passage, question: Question) -> bool:
    """Whether a passage is no noise for a question: it is from a right document, or a gold or evidence stands in it."""
    key = str(passage.get("id", ""))
    right = question.meta.get("text_ids")
    if isinstance(right, list) and any(key == str(one) or key.startswith(f"{one}#") for one in right):
        return True
    text = passage["text"].casefold()
    values = [value.strip() for gold in question.answers for value in gold.split(";")]
    return any(_stands_in(value.casefold(), text) for value in [*values, *question.evidence] if value)


def _stands_in(value: str, text: str) -> bool:
    """Whether a text has a value; among Latin letters and digits, as whole words."""
    return re.search(rf"(?<![a-z0-9]){re.escape(value)}(?![a-z0-9])", text) is not None


def unrelated(documents: Sequence[Passage], results: Sequence[Passage], drawn: random.Random) -> Iterator[Passage]:
    """The beginnings of documents drawn by chance, as long as what was found is at the median, in its form."""
    length = int(statistics.median(len(passage["text"]) for passage in results))
    known = {str(passage.get("id", "")).rpartition("#")[0] for passage in results}
    for document in drawn.sample(documents, len(documents)):
        if str(document.get("id", "")) in known or not _has_text(document):
            continue
        text = document["text"]
        start = text[:length].rsplit(" ", 1)[0] if len(text) > length else text
        own = {**document, "id": f"{document.get('id', '')}#1", "text": start}
        yield {key: own.get(key, value) for key, value in results[0].items()}


def near_duplicates(results: Sequence[Passage], drawn: random.Random) -> Iterator[Passage]:
    """What was found, the best first, once more with other numbers, or where there is none with another name.

    A passage with neither a number nor a name to change is left out.
    """
    names = sorted({name for passage in results for name in NAME.findall(passage["text"])})
    for passage in results:
        text = DIGITS.sub(lambda found: _other_number(found.group(), drawn), passage["text"])
        if text == passage["text"]:
            text = _renamed(text, names, drawn)
        if text != passage["text"]:
            yield {**passage, **({"id": _other_id(passage["id"], drawn)} if "id" in passage else {}), "text": text}


def _other_number(digits: str, drawn: random.Random) -> str:
    """Another number of as many digits; the first is 0 only where it was."""
    least = 0 if len(digits) == 1 or digits.startswith("0") else 10 ** (len(digits) - 1)
    most = 10 ** (len(digits) - 1) - 1 if len(digits) > 1 and digits.startswith("0") else 10 ** len(digits) - 1
    number = int(digits)
    other = drawn.randint(least, most - 1) if most > least else number
    return f"{other + (other >= number):0{len(digits)}}" if most > least else digits


def _renamed(text: str, names: Sequence[str], drawn: random.Random) -> str:
    own = NAME.search(text)
    others = [name for name in names if own and name not in text]
    if own is None or not others:
        return text
    other = drawn.choice(others)
    return re.sub(rf"\b{re.escape(own.group())}\b", lambda _: other, text)


def _other_id(key: Any, drawn: random.Random) -> str:
    """The id of another passage of the same document, further on than there are any likely to be."""
    return f"{str(key).rpartition('#')[0] or key}#{drawn.randint(100, 999)}"
