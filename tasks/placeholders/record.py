"""A PRGB record: a query, documents with placeholders, and for each variant the values and the answer."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from r_eval.languages import HAN, KANA
from r_eval.tasks.placeholders.expressions import BadExpression, parse

_INSIDE = rf"[^\W{HAN}{KANA}]"
"""A character that continues a word; Chinese and Japanese have no word boundaries."""
_WORD = re.compile(_INSIDE)

Kind = Literal["filtering", "combination", "reasoning"]

KINDS: Mapping[str, Kind] = {
    "filter": "filtering",
    "combination_v1": "combination",
    "combination_v2": "combination",
    "combination_v3": "combination",
}
"""The task of a sub-task; all others are reasoning, as published."""


def substitute(text: str, values: Mapping[str, str]) -> str:
    """Replace every placeholder by its value in one pass, so that placeholders in values are not replaced; at the same
    position the longest placeholder wins.

    Placeholders that begin or end with a letter, digit or underscore match whole words only: X1 does not match in X10,
    nor 5 in 5.5.

    >>> substitute("X1 met X10.", {"X1": "Ann", "X10": "the X1 group"})
    'Ann met the X1 group.'
    """
    return _pattern(frozenset(values)).sub(lambda match: values[match[0]], text) if values else text


def placeholders_in(text: str, tokens: frozenset[str]) -> set[str]:
    """The placeholders in a text."""
    return set(_pattern(tokens).findall(text)) if tokens else set()


@functools.lru_cache(maxsize=256)
def _pattern(tokens: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(_bordered(token) for token in sorted(tokens, key=lambda token: (-len(token), token))))


def _bordered(token: str) -> str:
    """A pattern for one placeholder with its word boundaries."""
    before = rf"(?<!{_INSIDE})" if _WORD.match(token[:1]) else ""
    after = rf"(?!{_INSIDE})" if _WORD.match(token[-1:]) else ""
    if token[:1].isdecimal():
        before += r"(?<!\d[.,])"
    if token.isdecimal():
        after += r"(?![.,]\d)"
    return f"{before}{re.escape(token)}{after}"


def number_as_text(value: object) -> object:
    """Convert a number to text; nothing else, such as `no` in YAML, is a text by chance."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair") from None
    return text.strip()


Filled = Annotated[str, BeforeValidator(number_as_text), AfterValidator(_filled)]


class Placeholders(BaseModel):
    """The values of the placeholders and the answer, an expression (see `expressions`), of each variant."""

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


class PlaceholderRecord(BaseModel):
    """One record; unknown keys are ignored.

    Attributes:
        id: `<sub-task>-<number>`.
        golden_doc: The documents that support the answer.
        noise_doc_level1: Documents about other things.
        noise_doc_level2: Documents about siblings: the same dimension of another thing of the kind.
        noise_doc_level3: More general documents: true of the kind, but not of the thing in question.
        program: The gold program, which published records lack.
    """

    model_config = ConfigDict(extra="ignore")

    id: Filled
    query: Filled
    golden_doc: Annotated[list[Filled], Field(min_length=1)]
    noise_doc_level1: list[Filled]
    noise_doc_level2: list[Filled]
    noise_doc_level3: list[Filled]
    placeholder_item: Placeholders
    program: str | None = None

    @property
    def subtask(self) -> str:
        return self.id.partition("-")[0]

    @property
    def kind(self) -> Kind:
        return KINDS.get(self.subtask, "reasoning")
