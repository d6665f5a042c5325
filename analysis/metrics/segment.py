"""Text to words for the metrics of generated text: ROUGE, BLEU and word F1.

`normalise` is for short answers; here whole sentences are cut. Decisions:

- NFKC first, so that full-width and composed forms are equal, and a trailing stop of any script is dropped (`bare`).
- An ASCII text is cut as rouge-score cuts it without a stemmer: runs of a-z and 0-9, lower case. But a number with its
  sign and separators is one word, in one notation ("-5", "3.1", "12,000" as "12000", "2023-05-06").
- Elsewhere a word is a run of letters, digits and the marks on them. Chinese words are jieba's (default mode); kana are
  a word each, and Thai, Lao, Khmer and Burmese text is cut into letters with their marks, since those scripts put no
  space between words either. Korean puts spaces, and is cut at them. "ё" is "е", as in `normalise`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from r_eval.analysis.metrics.normalise import one_notation
from r_eval.languages import HAN, KANA, chinese_words, one_letter, tokenizer

_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"
_NUMBER = r"(?<![a-z0-9.,:/-])(?:-?[0-9]+(?:[.,:/-][0-9]+)+|-[0-9]+)"
_ASCII_WORD = re.compile(rf"{_NUMBER}|[a-z0-9]+")
_BY_NUMBERS = re.compile(rf"({_NUMBER})")
_MINUS = re.compile(r"(?<![\w])[\u2212\u2013](?=\d)")
_HAS_HAN = re.compile(rf"[{HAN}]")
_PIECE = re.compile(rf"[{HAN}]+|[{KANA}]|[{_SPACELESS}]|[^{HAN}{KANA}{_SPACELESS}]+")
_NO_STOP = frozenset("#%&*@/\\\"'‰‱†‡")
"""Signs of category Po that mean something at the end of a text: "C#", "50%", '5"'."""


def bare(text: str) -> str:
    """The text in NFKC, without white space around it and without the stops at its end, of any script.

    >>> bare(" ＰＡＲＩＳ。"), bare("C#."), bare("?!")
    ('PARIS', 'C#', '?!')
    """
    text = unicodedata.normalize("NFKC", text).strip()
    end = len(text)
    while end and (text[end - 1].isspace() or _is_stop(text[end - 1])):
        end -= 1
    return text[:end] or text


def segments(text: str) -> list[str]:
    """The words of a text, folded.

    >>> segments("The cat's 1.5 m."), segments("北京大学在北京。"), segments("กรุงเทพ")
    (['the', 'cat', 's', '1.5', 'm'], ['北京大学', '在', '北京'], ['ก', 'รุ', 'ง', 'เ', 'ท', 'พ'])

    Raises:
        MissingExtra: There is Chinese in it, and jieba is not installed.
    """
    text = one_notation(text)
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    text = _MINUS.sub("-", one_letter(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())))
    found: list[str] = []
    for place, part in enumerate(_BY_NUMBERS.split(text)):
        if place % 2:
            found.append(part)
            continue
        for run in "".join([char if _in_word(char) else " " for char in part]).split():
            found += [run] if run.isascii() else _pieces(run)
    return found


def spaced(text: str) -> str:
    """The text with a space around every word of a script that puts none, case and punctuation kept.

    >>> spaced("U.S. and 北京大学")
    'U.S. and 北京大学'
    """
    if text.isascii():
        return text
    return " ".join(piece for run in text.split() for piece in _pieces(run))


def jieba_words(text: str) -> list[str]:
    """What jieba's default mode cuts a text into: nothing folded, nothing left out, a space being a word.

    Raises:
        MissingExtra: jieba is not installed.
    """
    return list(tokenizer().lcut(text))


def _pieces(run: str) -> list[str]:
    """Words of a run without spaces; a mark goes with the letter before it."""
    found: list[str] = []
    for piece in _PIECE.findall(run):
        if _HAS_HAN.match(piece):
            found += chinese_words(piece)
        elif found and len(piece) == 1 and unicodedata.category(piece)[0] == "M":
            found[-1] += piece
        else:
            found.append(piece)
    return found


@lru_cache(maxsize=4_096)
def _is_stop(char: str) -> bool:
    return unicodedata.category(char) == "Po" and char not in _NO_STOP


@lru_cache(maxsize=65_536)
def _in_word(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM"
