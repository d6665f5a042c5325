"""What ROUGE compares words by: `segment`'s, or, in Russian, stems as DRAGON publishes them.

DRAGON's: runs of `\\w` in lower case, each cut down by Snowball's Russian stemmer, given to rouge-score as a tokenizer.
Beside that ours reads NFKC, and е for ё.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from r_eval.analysis.metrics.segment import segments
from r_eval.errors import UserError
from r_eval.languages import one_letter, stem

Cut = Callable[[str], list[str]]

_WORD = re.compile(r"\w+")


def russian_stems(text: str) -> list[str]:
    """The stems of a text's words.

    >>> russian_stems("В Москве — 3 театра.")
    ['в', 'москв', '3', 'театр']

    Raises:
        MissingExtra: There is Russian in it, and snowballstemmer is not installed.
    """
    return [stem(word) for word in _WORD.findall(one_letter(unicodedata.normalize("NFKC", text)).lower())]


def cut_for(metric: str, language: str | None) -> Cut:
    """How texts are cut for a metric that was named with, or without, a language behind "@".

    Raises:
        UserError: Nothing is known of the language.
    """
    if language is None:
        return segments
    if language != "ru":
        raise UserError(f"{metric}@{language}: expected {metric}@ru, or {metric} for any other language")
    return russian_stems
