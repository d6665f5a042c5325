"""Where sentences, clauses and words of a text end, in Chinese and in scripts that put spaces between words.

A sentence ends with 。！？；… wherever they stand, with . ! ? before white space or at the end of the text, with ! and
? also before Chinese, and at the end of a line; closing quotes and brackets belong to it. A full stop does not end it
after an abbreviation or an initial, nor before a small letter, nor inside a number, where no space follows. A clause
ends with ，、：, and with , ; : before white space or Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_CJK = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
"""Scripts without spaces between words: Chinese, kana; Thai, Lao, Burmese, Khmer."""

_MARKS = "\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u102b-\u103e\u17b4-\u17d3\u3099\u309a\ufe00-\ufe0f\u200d"
"""Signs that stand on the character before them."""

_CLOSERS = "”’」』）】》〉〕］｝\"')\\]}"
_AFTER = "，。、；：！？…,.;:!?%％" + _CLOSERS
"""Signs that no word begins with, so that they go with the one before them."""

_SENTENCE = re.compile(
    rf"[。！？；…｡][。！？；…｡!?]*[{_CLOSERS}]*|[.!?]+[{_CLOSERS}]*(?=\s|$)|[!?]+[{_CLOSERS}]*(?=[{_CJK}])|\n"
)
_CLAUSE = re.compile(rf"[，、：][{_CLOSERS}]*|[,;:][{_CLOSERS}]*(?=[\s{_CJK}])")
_WORD = re.compile(rf"[{_CJK}][{_MARKS}]*[{_AFTER}]*|[^\s{_CJK}]+")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘]*\Z")
_NEXT = re.compile(r"\s*(\S?)")
_LONGEST_ABBREVIATION = 12

_ABBREVIATIONS = """
    mr mrs ms dr prof st sr jr rev hon gen col lt sgt capt gov sen rep messrs mt ft
    vs etc eg ie e.g i.e cf al fig figs eq eqs sec ch vol no nos pp ed eds approx est dept univ inc ltd co corp bros
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun a.m p.m u.s u.k u.n ph.d
"""
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
_AT_THE_END_TOO = frozenset(
    {"etc", "inc", "ltd", "co", "corp", "bros", "jr", "sr", "al", "a.m", "p.m", "u.s", "u.k", "u.n"}
)
"""Abbreviations that often end a sentence: they do, unless a number follows."""


def sentence_ends(text: str) -> list[int]:
    """Where sentences end, in rising order; the end of the text is one."""
    return _closed((m.end() for m in _SENTENCE.finditer(text) if m[0][0] != "." or _is_end(text, m)), text)


def clause_ends(text: str, sentences: Sequence[int]) -> list[int]:
    """Where clauses end, those that end a sentence among them."""
    return sorted({*sentences, *(m.end() for m in _CLAUSE.finditer(text))})


def words(text: str) -> list[tuple[int, int]]:
    """Where words start and end; signs behind a word belong to it."""
    return [m.span() for m in _WORD.finditer(text)]


def _closed(ends: Iterable[int], text: str) -> list[int]:
    found = list(ends)
    return found if found and found[-1] == len(text) else [*found, len(text)]


def _is_end(text: str, stop: re.Match[str]) -> bool:
    """Whether full stops end a sentence."""
    following = _NEXT.match(text, stop.end(), stop.end() + 20)
    after = following[1] if following else ""
    if after.islower():
        return False
    if len(stop[0]) > 1:
        return True
    before = _LAST_WORD.search(text[max(0, stop.start() - _LONGEST_ABBREVIATION) : stop.start()])
    word = before[0] if before else ""
    if word.lower() in _AT_THE_END_TOO:
        return not after.isdigit()
    initial = len(word) == 1 and word.isalpha() and word.isascii() and word.isupper() and word != "I"
    return not (initial or word.lower() in ABBREVIATIONS)
