"""Text to words for search: of Chinese jieba's (default mode), of other scripts runs of letters and digits, folded.
A number with a point or commas is one word, and of few texts: `3120.09` is not `3120` and `09`.

NFKC first, so that full-width and composed forms are equal, then case folding. Kana, and the letters of Thai, Lao,
Burmese and Khmer with their marks, are a word each, since those scripts put no space between words. Russian words lose
their endings, so that one form finds another, and ё is е.
"""

from __future__ import annotations

import re
import unicodedata

from r_eval.languages import HAN, chinese_words, stem

VERSION = 2
"""Of the rules; another one makes every index anew."""

_SINGLE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff"
_MARKS = "\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u102b-\u103e\u17b4-\u17d3\u3099\u309a"
_NUMBER = r"[0-9]+(?:[.,][0-9]+)+"
_ASCII = re.compile(rf"{_NUMBER}|[a-z0-9]+")
_PIECE = re.compile(rf"{_NUMBER}|[{HAN}]+|[{_SINGLE}][{_MARKS}]*|(?:[^\W_{HAN}{_SINGLE}][{_MARKS}]*)+")
_STARTS_IN_HAN = re.compile(f"[{HAN}]").match


def search_words(text: str) -> list[str]:
    """The words of a text, in its order.

    >>> search_words("The U.S. in ２０２４, 1.5%"), search_words("北京大学在Beijing。")
    (['the', 'u', 's', 'in', '2024', '1.5'], ['北京大学', '在', 'beijing'])
    >>> search_words("В Москве живёт Королёв")
    ['в', 'москв', 'живет', 'корол']

    Raises:
        MissingExtra: There is Chinese in it and jieba is not installed, or Russian and snowballstemmer is not.
    """
    if text.isascii():
        return _ASCII.findall(text.lower())
    found: list[str] = []
    for piece in _PIECE.findall(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())):
        if _STARTS_IN_HAN(piece):
            found += chinese_words(piece)
        else:
            found.append(piece if piece.isascii() else stem(piece))
    return found
