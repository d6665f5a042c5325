"""In which of the two languages that R-Eval writes prompts in a text is."""

from __future__ import annotations

import re
from typing import Literal

from r_eval.chinese import HAN, KANA

Language = Literal["en", "zh"]

_HAN = re.compile(rf"[{HAN}]")
_KANA = re.compile(rf"[{KANA}]")
_LETTER = re.compile(r"[^\W\d_]")


def language_of(text: str) -> Language:
    """Chinese where a quarter of the letters or more are Han characters and it is not Japanese, else English.

    >>> language_of("NP137 抗肿瘤"), language_of("The Peking University (北京大学)")
    ('zh', 'en')
    """
    han = len(_HAN.findall(text))
    return "zh" if han > len(_KANA.findall(text)) and 4 * han >= len(_LETTER.findall(text)) else "en"
