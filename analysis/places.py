"""Where an observation holds a text: the places that the page marks.

`responses.Observed` says whether it does; its tokens do not know where in the text they were cut. So the text is cut
here into pieces whose places are known, and each is read alone by the same rules. In the few texts where that reads
otherwise (JSON with escapes, a dash that turns out a range) no place is found, and the page marks the whole text.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple

from r_eval.analysis.metrics.normalise import ARTICLES, TokenRow, readings, words

Span = tuple[int, int]

_PIECE = re.compile(r"\S+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CJK = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_INNER = re.compile(rf"[{_CJK}]|[^{_CJK},.\-]+")
_MARKS = ".,+#'-"
LONGEST_KNOWN = 64
"""Characters of a piece whose words are remembered."""


class _Cut(NamedTuple):
    """The words of a text without articles, unless it has no others, and where each stands."""

    words: list[str]
    spans: list[Span]


class TextPlaces:
    """The places of one text, to be asked for many others; a place is (start, end) in characters."""

    def __init__(self, text: str) -> None:
        self._text = text

    def of(self, wanted: str) -> list[Span]:
        """Where the text has the wanted tokens in a row, in order, without overlaps; empty where no place is known."""
        found: set[Span] = set()
        for cut in (self._plain, self._camel):
            found = found or {span for reading in readings(wanted) for span in _rows(cut, reading)}
        return _apart(sorted(found))

    @cached_property
    def _plain(self) -> _Cut:
        return _cut(self._text, camel=False)

    @cached_property
    def _camel(self) -> _Cut:
        return _cut(self._text, camel=True)


def _rows(cut: _Cut, wanted: TokenRow) -> Iterator[Span]:
    """Where the words of a text are the wanted ones."""
    row, at = list(wanted), -1
    while True:
        try:
            at = cut.words.index(row[0], at + 1)
        except ValueError:
            return
        if cut.words[at : at + len(row)] == row:
            yield cut.spans[at][0], cut.spans[at + len(row) - 1][1]


def _apart(spans: list[Span]) -> list[Span]:
    """Spans that overlap as one."""
    apart: list[Span] = []
    for start, end in spans:
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart


def _cut(text: str, camel: bool) -> _Cut:
    read: list[tuple[str, Span]] = []
    for match in _PIECE.finditer(text.translate(_BLANKS)):
        piece = match[0]
        if not camel and piece.isascii() and piece.isalnum():  # most are
            read.append((piece.lower(), match.span()))
        else:
            read.extend(_read(piece, match.start(), camel))
    content = [(word, span) for word, span in read if word not in ARTICLES] or read
    return _Cut([word for word, _ in content], [span for _, span in content])


def _read(piece: str, start: int, camel: bool) -> Iterator[tuple[str, Span]]:
    """The words of a piece without separators in it, which starts at a place of the text."""
    if camel:
        bounds = [0, *(match.start() for match in _CAMEL.finditer(piece)), len(piece)]
        for left, right in itertools.pairwise(bounds):
            yield from _read(piece[left:right], start + left, camel=False)
        return
    for word, (left, right) in _known(piece) if len(piece) <= LONGEST_KNOWN else _careful(piece):
        yield word, (start + left, start + right)


@lru_cache(maxsize=1 << 15)
def _known(piece: str) -> tuple[tuple[str, Span], ...]:
    """The words of a short piece: the same ones come again and again."""
    return tuple(_careful(piece))


def _careful(piece: str) -> Iterator[tuple[str, Span]]:
    """The words of a piece with marks in it; those with the same place in the text share it."""
    if not piece.strip(_MARKS):
        return
    whole = words(piece)
    if len(whole) > 1:
        inner = [match for match in _INNER.finditer(piece) if match[0].strip(_MARKS)]
        if [word for match in inner for word in words(match[0])] == whole and len(inner) == len(whole):
            for word, match in zip(whole, inner, strict=True):
                yield word, _trimmed(match[0], match.start(), word)
            return
    for word in whole:
        yield word, _trimmed(piece, 0, word)


def _trimmed(piece: str, start: int, word: str) -> Span:
    """The place of a piece without the marks around it that are no part of its word."""
    body = piece.rstrip(".,'-")
    lead = len(body) - len(body.lstrip(",'" if word[0] in "-0" else ".,'-"))
    return start + lead, start + len(body)


class _Blanks(dict[int, str]):
    """Translation table, filled as characters are met, that keeps places: separators become blanks."""

    def __missing__(self, code: int) -> str:
        self[code] = result = self._become(chr(code))
        return result

    @staticmethod
    def _become(char: str) -> str:
        if char in _MARKS:
            return char
        if char in "\u2018\u2019\u02bc\u02bb\uff07":
            return "'"
        if char == "\u2212":
            return "-"
        category = unicodedata.category(char)
        return " " if category[0] in "PSZC" and category not in ("Cf", "Cs") else char


_BLANKS = _Blanks()
