"""The languages that R-Eval treats specially: recognising Chinese and Russian, and their words.

Chinese is split into words by jieba, Russian words are reduced to stems by Snowball; each library is loaded when it is
first needed.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Literal

from r_eval.errors import MissingExtra

if TYPE_CHECKING:
    from jieba import Tokenizer

HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
"""Han characters, as the inside of a class of a regular expression."""
KANA = "\u3040-\u30ff\u31f0-\u31ff"

Language = Literal["en", "zh"]
"""Languages in which every prompt exists."""
Recognised = Literal["en", "zh", "ru"]

_LONGEST_RUN = 100
"""Characters of Chinese that jieba gets at once, since its time grows with the square of their number; and the longest
Russian word that is stemmed."""
_HAN = re.compile(rf"[{HAN}]")
_KANA = re.compile(rf"[{KANA}]")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_LETTER = re.compile(r"[^\W\d_]")
_RUSSIAN_WORD = re.compile("[\u0430-\u044f]+")
"""In lower case, with е for ё; Ukrainian and Serbian have letters besides."""


def language_of(text: str) -> Language:
    """Chinese where a quarter of the letters or more are Han characters and it is not Japanese, else English.

    >>> language_of("NP137 抗肿瘤"), language_of("The Peking University (北京大学)")
    ('zh', 'en')
    """
    han = len(_HAN.findall(text))
    return "zh" if han > len(_KANA.findall(text)) and 4 * han >= len(_LETTER.findall(text)) else "en"


def recognised(text: str) -> Recognised:
    """As `language_of`, and Russian where half of the letters or more are Cyrillic.

    >>> recognised("Кто основал IBM?"), recognised("Tolstoy (Толстой) wrote it"), recognised("北京大学")
    ('ru', 'en', 'zh')
    """
    cyrillic = len(_CYRILLIC.findall(text))
    return "ru" if cyrillic and 2 * cyrillic >= len(_LETTER.findall(text)) else language_of(text)


def chinese_words(run: str) -> list[str]:
    """The words of a run of Han characters, by jieba's default mode.

    Raises:
        MissingExtra: jieba is not installed.
    """
    cut = tokenizer().lcut
    parts = (run[start : start + _LONGEST_RUN] for start in range(0, len(run), _LONGEST_RUN))
    return [word for part in parts for word in cut(part)]


@functools.cache
def tokenizer() -> Tokenizer:
    """jieba's tokenizer with its dictionary read here: by itself it would log, and write a copy to disk.

    Raises:
        MissingExtra: jieba is not installed.
    """
    try:
        import jieba
    except ImportError:
        raise MissingExtra("jieba", "metrics", "splitting Chinese text into words") from None
    made = jieba.Tokenizer()
    made.FREQ, made.total = made.gen_pfdict(made.get_dict_file())
    made.initialized = True
    return made


def one_letter(text: str) -> str:
    """The text with е for every ё, whose dots are as often left out in print.

    >>> one_letter("Королёв, ЁЛКА")
    'Королев, ЕЛКА'
    """
    return text.replace("ё", "е").replace("Ё", "Е")


@functools.lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A Russian word in lower case without its ending, by Snowball; any other word as it is, with е for ё.

    >>> stem("москве"), stem("москвой"), stem("paris")
    ('москв', 'москв', 'paris')

    Raises:
        MissingExtra: snowballstemmer is not installed.
    """
    word = one_letter(word)
    if len(word) > _LONGEST_RUN or _RUSSIAN_WORD.fullmatch(word) is None:
        return word
    try:
        from snowballstemmer.russian_stemmer import RussianStemmer  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtra("snowballstemmer", "metrics", "stemming Russian words") from None
    found: str = RussianStemmer().stemWord(word)  # one a word, since it holds the word, and threads search at once
    return found
