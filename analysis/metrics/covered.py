"""Covered match: whether an answer holds what an expression of gold texts asks for ("Paris & (1987 | 1988)").

The grammar is that of `r_eval.tasks.placeholders.expressions`. A text is held where its words stand in the answer in a
row, after the normalisation of `normalise`: NFKC and case folding, digits of every script, a thousands comma dropped.
Whole words and numbers only ("1" is not in "10 dogs"), but articles count, so that "vitamin A" is not "vitamin".
Han and kana characters are words of their own, so that there any part of a text will do. Of scripts that put no space
between words, or that hang endings on them (Thai, Lao, Burmese, Khmer, Hangul), a text may begin and end inside a word.

`covered_match_published` is the published code's verdict to the letter, for comparison with its figures: single "&" and
"|" only, and a text is held as a substring of characters in lower case. What is known to be odd and kept: "" is held by
everything and "1" by "10"; spaces outside a parenthesis make an operand that is always true, after which only the first
operand counts; a parenthesis may be missing. The removal of `<think>` is no part of it: an answer comes here without.
Where it raises an error, which ends its run, the score is 0.
"""

from __future__ import annotations

import functools
import itertools
import unicodedata
from collections.abc import Callable, Sequence

from r_eval.analysis.metrics.normalise import words
from r_eval.errors import UserError
from r_eval.tasks.placeholders.expressions import BadExpression, Expression, failing, parse

_LOOSE = (("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"), ("\u1100", "\u11ff"), ("\uac00", "\ud7af"))
"""First and last characters of the scripts in which a text may begin and end inside a word."""


def covered_match(prediction: str, golds: Sequence[str]) -> float:
    """1.0 where the answer holds what any gold asks for, else 0.0.

    >>> covered_match("Tea in 1987, I think.", ["tea & (1987 | 1988)"]), covered_match("10 dogs", ["1"])
    (1.0, 0.0)

    Raises:
        UserError: A gold is no expression.
    """
    trees = [_tree(gold) for gold in golds]
    holds = _holder(prediction)
    return float(any(not failing(tree, holds) for tree in trees))


def uncovered(prediction: str, gold: str) -> list[str]:
    """The texts for want of which an answer is not right; none where it is.

    >>> uncovered("Tea, I think.", "tea & (1987 | 1988)")
    ['1987', '1988']

    Raises:
        UserError: The gold is no expression.
    """
    return failing(_tree(gold), _holder(prediction))


def covered_match_published(prediction: str, golds: Sequence[str]) -> float:
    """1.0 where the published code finds the first gold in the answer, else 0.0.

    >>> covered_match_published("10 dogs", ["1"]), covered_match_published("a only", ["a & (b|c)"])
    (1.0, 1.0)
    """
    if not golds:
        return 0.0
    try:
        return float(_published(golds[0].lower(), prediction.lower()))
    except IndexError:
        return 0.0


@functools.lru_cache(maxsize=4096)
def _tree(gold: str) -> Expression:
    try:
        return parse(gold)
    except BadExpression as error:
        raise UserError(f"covered_match cannot read the gold {gold[:80]!r}: {error}") from None


def _holder(text: str) -> Callable[[str], bool]:
    """Whether a text is held; a comma between digits is read as one of thousands, and as one that parts numbers."""
    modes = (True, False) if "," in unicodedata.normalize("NFKC", text) else (True,)
    readings = [(_spaced(text, thousands), thousands) for thousands in modes]
    plain = unicodedata.normalize("NFKC", text).casefold()

    def holds(literal: str) -> bool:
        if not any(char.isalnum() for char in literal):  # a sign, which no word has
            return unicodedata.normalize("NFKC", literal).casefold().strip() in plain
        return any(_needle(_spaced(literal, thousands)) in reading for reading, thousands in readings)

    return holds


def _spaced(text: str, thousands: bool) -> str:
    """The words of a text, with a space before, between and behind them."""
    return f" {' '.join(words(text, thousands=thousands))} "


def _needle(spaced: str) -> str:
    """What to look for: a space at an end asks that a word end there."""
    text = spaced.strip()
    return f"{'' if _loose(text[:1]) else ' '}{text}{'' if _loose(text[-1:]) else ' '}"


def _loose(char: str) -> bool:
    return any(first <= char <= last for first, last in _LOOSE)


def _published(gold: str, text: str) -> bool:
    """The verdict of a parser by precedence with two stacks, which believes that an expression is sound.

    Raises:
        IndexError: An operator lacks an operand.
    """
    if not any(sign in gold for sign in "&|()"):
        return gold.strip() in text
    values, waiting = list[bool](), list[str]()

    def apply() -> None:
        sign = waiting.pop()
        if sign == "(":  # one that was never closed: looked for like any text
            values.append(sign in text)
            return
        right, left = values.pop(), values.pop()
        values.append((left and right) if sign == "&" else (left or right))

    for is_sign, run in itertools.groupby(gold, "&|()".__contains__):
        if not is_sign:
            values.append("".join(run).strip() in text)
            continue
        for sign in run:
            if sign == "(":
                waiting.append(sign)
                continue
            tighter = {"&": "&", "|": "&|", ")": "&|"}[sign]
            while waiting and waiting[-1] in tighter:
                apply()
            if sign != ")":
                waiting.append(sign)
            elif waiting:
                waiting.pop()
    while waiting:
        apply()
    return values[0] if values else False
