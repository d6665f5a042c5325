"""A record of PRGB's form: a query, documents with placeholders, and for each variant their values and the answer."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from r_eval.languages import HAN, KANA
from r_eval.tasks.placeholders.expressions import BadExpression, parse

_INSIDE = rf"[^\W{HAN}{KANA}]"
"""A character that goes on with a word; Chinese and Japanese have no borders between words."""
_WORD = re.compile(_INSIDE)

Kind = Literal["filtering", "combination", "reasoning"]

KINDS: Mapping[str, Kind] = {
    "filter": "filtering",
    "combination_v1": "combination",
    "combination_v2": "combination",
    "combination_v3": "combination",
}
"""The task that a sub-task belongs to; any other is reasoning, as published."""


def substituted(text: str, values: Mapping[str, str]) -> str:
    """The text with every placeholder replaced by its value, all at once, so that a value that holds another one is
    left alone; of two that begin at one place the longer is meant.

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


def _text(value: object) -> object:
    """A number stands for the text that it is written as."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair") from None
    return text.strip()


Filled = Annotated[str, BeforeValidator(_text), AfterValidator(_filled)]


class Placeholders(BaseModel):
    """For each variant the values of the placeholders, and the answer: an expression of `expressions`."""

    model_config = ConfigDict(extra="ignore")

    placeholders: list[dict[Filled, Filled]]
    answer: list[Filled]

    @model_validator(mode="after")
    def _alike(self) -> Placeholders:
        values, answers = len(self.placeholders), len(self.answer)
        if not values:
            raise ValueError("holds no variant")
        if values != answers:
            raise ValueError(f"{values} variants of the placeholders, but {answers} answers")
        for number, answer in enumerate(self.answer, 1):
            try:
                parse(answer)
            except BadExpression as error:
                raise ValueError(f"answer {number} ({answer[:80]!r}), {error}") from None
        return self


class Record(BaseModel):
    """One record; what is not named is passed over.

    Attributes:
        id: `<sub-task>-<number>`.
        golden_doc: The documents that the answer follows from.
        noise_doc_level1: Documents about other things.
        noise_doc_level2: About siblings: the same side of something of the same kind.
        noise_doc_level3: About what is more general: true of the kind, not of the thing that is asked.
    """

    model_config = ConfigDict(extra="ignore")

    id: Filled
    query: Filled
    golden_doc: Annotated[list[Filled], Field(min_length=1)]
    noise_doc_level1: list[Filled]
    noise_doc_level2: list[Filled]
    noise_doc_level3: list[Filled]
    placeholder_item: Placeholders

    @property
    def subtask(self) -> str:
        return self.id.partition("-")[0]

    @property
    def kind(self) -> Kind:
        return KINDS.get(self.subtask, "reasoning")

    def tokens(self) -> frozenset[str]:
        """The placeholders of all variants."""
        return frozenset().union(*self.placeholder_item.placeholders)
