"""Token F1 with the quirks of the published form repaired.

F1 of the multisets of tokens (Rajpurkar et al. 2016, SQuAD; Yang et al. 2018, HotpotQA), the best over the
golds. `normalise` says how a text becomes tokens, `verdict` how closed questions are judged, `literals` how
lists are read. Here besides:

- Two empty texts score 1, an empty one against any other 0; an empty list is empty.
- A gold that joins values by ";" and a prediction in any list form are compared as bags of tokens, so order
  and notation cost nothing. Against such a gold, "100,200" may also be two numbers.
- Texts that differ only in where words are broken score 1 ("Ph.D" and "PhD", "Sports Team" and
  "SportsTeam", "10 km" and "10km"), as long as their numbers are the same ("1 5" is not "15"). Where a text
  has camel case, its words are also tried apart, and the better reading counts.
- A text that is nothing but yes, no, true or false gets 1 or 0 against any other, never a part.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from r_eval.analysis.metrics.literals import list_values
from r_eval.analysis.metrics.normalise import Tokens, has_camel, plain_words, tokens, without_articles, words
from r_eval.analysis.metrics.verdict import WORDS, pair_of, verdict

_CACHED_LENGTH = 512
_DIGITS = re.compile(r"\d+")


class Reading(NamedTuple):
    """A text as it is compared: its tokens, and the other ways to cut it where there are any."""

    text: str
    tokens: Tokens
    camel: Tokens | None
    apart: Tokens | None
    word: str | None
    several: bool


def token_f1(prediction: str, golds: Sequence[str]) -> float:
    """F1 of tokens, the best over the golds.

    >>> token_f1("['B', 'A']", ["A;B"]), token_f1("Yes, they were.", ["yes"]), token_f1("1.5", ["15"])
    (1.0, 1.0, 0.0)
    """
    best = 0.0
    found = read(prediction)
    for gold in golds:
        score = pair_f1(found, read(gold))
        if score > best:
            if score == 1.0:
                return 1.0
            best = score
    return best


def read(text: str) -> Reading:
    """The reading of a text; short ones are remembered, since golds and answers come back."""
    return _cached(text) if len(text) <= _CACHED_LENGTH else _read(text)


def _read(text: str) -> Reading:
    simple = plain_words(text)
    if simple is not None:
        plain = without_articles(simple)
        word = plain[0] if len(plain) == 1 and plain[0] in WORDS else None
        return Reading(text, plain, tokens(text, camel=True) if has_camel(text) else None, None, word, False)
    values = list_values(text) if text[:1] in "[{( \n\t" else None
    several = ";" in text
    plain = tokens(text) if values is None else _tokens(text, values)
    camel = _tokens(text, values, camel=True) if has_camel(text) else None
    apart = _tokens(text, values, thousands=False) if "," in text and values is None else None
    if values is not None:
        text = " ".join(values)
    return Reading(text, plain, camel, apart, plain[0] if len(plain) == 1 and plain[0] in WORDS else None, several)


_cached = lru_cache(maxsize=32_768)(_read)


def _tokens(text: str, values: list[str] | None, camel: bool = False, thousands: bool = True) -> Tokens:
    if values is None:
        return tokens(text, camel, thousands)
    return without_articles([word for value in values for word in words(value, camel, thousands)])


def pair_f1(found: Reading, gold: Reading) -> float:
    """Token F1 of two readings."""
    if found.tokens == gold.tokens:
        return 1.0
    if not found.tokens or not gold.tokens:
        return 0.0
    if gold.word is not None or found.word is not None:
        return _closed(found, gold)
    score = _overlap(found.tokens, gold.tokens)
    if score == 1.0:
        return 1.0
    if found.camel or gold.camel:
        score = max(score, _overlap(found.camel or found.tokens, gold.camel or gold.tokens))
    if (found.apart or gold.apart) and (found.several or gold.several):
        score = max(score, _overlap(found.apart or found.tokens, gold.apart or gold.tokens))
    return 1.0 if score < 1.0 and same_letters(found.tokens, gold.tokens) else score


def _closed(found: Reading, gold: Reading) -> float:
    """1 or 0, where at least one side is nothing but a verdict."""
    if gold.word is not None and found.word is not None:
        return float(gold.word == found.word)
    word, other = (gold.word, found) if gold.word is not None else (found.word, gold)
    pair = pair_of(word or "")
    return float(pair is not None and verdict(other.text, pair) == word)


def _overlap(found: Tokens, gold: Tokens) -> float:
    if frozenset(found).isdisjoint(gold):
        return 0.0
    if len(found) + len(gold) > 40:
        common = sum((Counter(found) & Counter(gold)).values())
    else:
        rest, common = list(gold), 0
        for token in found:
            if token in rest:
                rest.remove(token)
                common += 1
    return 2 * common / (len(found) + len(gold))


def same_letters(found: Tokens, gold: Tokens) -> bool:
    """Whether two texts differ only in where words are broken, with the same numbers in both."""
    if not found or not gold or found[0][0] != gold[0][0] or "".join(found) != "".join(gold):
        return False
    return _DIGITS.findall(" ".join(found)) == _DIGITS.findall(" ".join(gold))
