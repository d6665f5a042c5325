"""Chinese text: which characters are Han, and how jieba cuts them into words."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from r_eval.errors import MissingExtra

if TYPE_CHECKING:
    from jieba import Tokenizer

HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
"""Han characters, as the inside of a class of a regular expression."""
KANA = "\u3040-\u30ff\u31f0-\u31ff"

_LENGTH = 100
"""Characters of a run of Chinese that jieba is given at once: its time grows with the square of the run."""


def chinese_words(run: str, extra: str = "metrics") -> list[str]:
    """What jieba's default mode cuts a run of Han characters into.

    Args:
        extra: Which extra of R-Eval brings jieba where it is needed.

    Raises:
        MissingExtra: jieba is not installed.
    """
    cut = tokenizer(extra).lcut
    return [word for start in range(0, len(run), _LENGTH) for word in cut(run[start : start + _LENGTH])]


def tokenizer(extra: str = "metrics") -> Tokenizer:
    """jieba's tokenizer; see `chinese_words`."""
    try:
        return _tokenizer()
    except ImportError:
        raise MissingExtra("jieba", extra, "cutting Chinese text into words") from None


@cache
def _tokenizer() -> Tokenizer:
    """The tokenizer with its dictionary read here: by itself it would log, and write a copy to disk."""
    import jieba

    made = jieba.Tokenizer()
    made.FREQ, made.total = made.gen_pfdict(made.get_dict_file())
    made.initialized = True
    return made
