"""In which language a text is, of those that R-Eval knows something about."""

from __future__ import annotations

import re
from typing import Literal

from r_eval.chinese import HAN, KANA
from r_eval.russian import RUSSIAN

Language = Literal["en", "zh"]
"""Languages that every prompt is written in."""
Recognised = Literal["en", "zh", "ru"]

_HAN = re.compile(rf"[{HAN}]")
_KANA = re.compile(rf"[{KANA}]")
_CYRILLIC = re.compile(rf"[{RUSSIAN}]")
_LETTER = re.compile(r"[^\W\d_]")


def language_of(text: str) -> Language:
    """Chinese where a quarter of the letters or more are Han characters and it is not Japanese, else English.

    >>> language_of("NP137 抗肿瘤"), language_of("The Peking University (北京大学)")
    ('zh', 'en')
    """
    han = len(_HAN.findall(text))
    return "zh" if han > len(_KANA.findall(text)) and 4 * han >= len(_LETTER.findall(text)) else "en"


def recognised(text: str) -> Recognised:
    """As `language_of`; and Russian where half of the letters or more are Cyrillic ones.

    >>> recognised("Кто основал IBM?"), recognised("Tolstoy (Толстой) wrote it"), recognised("北京大学")
    ('ru', 'en', 'zh')
    """
    cyrillic = len(_CYRILLIC.findall(text))
    return "ru" if cyrillic and 2 * cyrillic >= len(_LETTER.findall(text)) else language_of(text)
