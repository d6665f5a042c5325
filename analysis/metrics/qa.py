"""Metrics of short answers: token F1, exact match, word F1, substring match and covered match.

The published forms, with their quirks, are in `published`. What these repair of token F1 (SQuAD, HotpotQA):

- Tokens are those of `normalise`. Two empty texts score 1, an empty one against any other 0; an empty list is empty.
- A gold that joins values by ";" and an answer in any list form are compared as bags of tokens, so that order and
  notation cost nothing. Against such a gold, "100,200" may also be two numbers.
- Texts that differ only in where words are broken score 1 ("Ph.D" and "PhD", "Sports Team" and "SportsTeam", "10 km"
  and "10km"), as long as their numbers are the same ("1 5" is not "15"). Where a text has camel case, its words are
  also compared separately, and the better reading counts.
- A text that is nothing but a verdict gets 1 or 0 against any other, never a part (`closed`).
- Dates and quantities match in any notation, and others contradict the gold (`values`). Of numbers that a sign joins
  ("2-1", "10:30", "1999-2001") an answer must have all, in their order; "World War I" is not "World War II", "vitamin
  A" not "vitamin C", "5 am" not "5 pm", and "44 BC" not "44 AD".
- A short gold with one of a set of opposites ("North Korea", "Second World War", 北京大学) is none with another of it.
- What an answer denies is no part of it, and what it leaves open counts as its worst alternative (`claims`).
- A sentence that states the gold in its place ("The capital of Kenya is Nairobi.") scores 1.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from r_eval.analysis.metrics.closed import CUE, claims, closed_value, pair_of, verdict
from r_eval.analysis.metrics.literals import gold_values, list_values, split
from r_eval.analysis.metrics.normalise import TokenRow, tokens, without_articles, words
from r_eval.analysis.metrics.segment import bare, segments
from r_eval.analysis.metrics.values import in_notation_of, value_of
from r_eval.errors import UserError
from r_eval.tasks.placeholders.expressions import BadExpression, Expression, is_true, parse

_SHORT, _SENTENCE = 8, 30
"""Tokens of a gold that an answer can state, and of a sentence that states it."""
_UNIT_SIGN = re.compile("[$€£¥￥%‰]")
"""Signs that are no token, and without which "$5" and "€5" were the same."""
_DIGITS = re.compile(r"\d+")
_COMPOUND = re.compile(r"\s*\d+(?:\s?[-–:/]\s?\d+)+\s*")
"""A range, a time, a ratio or a result: numbers that mean something together and in this order."""
_NUMERAL = re.compile(r"(?<=[a-z] )(?:(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})|[A-Z](?!\.\s?\w))\b|\b[A-Z]\d{1,2}\b")
"""A Roman numeral, or the letter that tells things of one name apart; no initial."""
_SIDE = re.compile(r"\d\s?(?:(b\.?c)|(ce|a\.?d)|(a\.?m)|(p\.?m))(?:e|\.)?(?![a-z])", re.IGNORECASE)
"""The side of a year or of a day that a number is on; the groups are the sides."""
_OPPOSITES = (
    "north northern 北|south southern 南|east eastern 东|west western 西",
    "upper|lower",
    "inner|outer",
    "old|new",
    "major greater|minor lesser",
    "senior sr elder|junior jr younger",
    "first 1st|second 2nd|third 3rd|fourth 4th|fifth 5th|sixth 6th|seventh 7th|eighth 8th|ninth 9th|tenth 10th",
    "male men mens boys 男|female women womens girls 女",
    "mother|father",
    "brother|sister",
    "son|daughter",
    "husband|wife",
    "spring|summer|autumn|winter",
)
"""Words that tell things of one name apart."""
_OPPOSED = {
    word: (place, side)
    for place, line in enumerate(_OPPOSITES)
    for side, words_ in enumerate(line.split("|"))
    for word in words_.split()
}
_GROUPED = re.compile(r"(?<!\d)\d{1,3}(?: \d{3})+(?!\d)")
_COPULAS = frozenset({"is", "was", "are", "were", "是", "为", "это", "является"})
_LINKS = frozenset({"in", "on", "at", "by", "from", "of", "to", "as", "for", "about", "called", "named", "在", "于"})
_LOOSE = (("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"), ("\u1100", "\u11ff"), ("\uac00", "\ud7af"))
"""First and last characters of the scripts in which a text may begin and end inside a word."""


class ParsedText(NamedTuple):
    """A text as it is compared: its tokens, and the other ways to cut it.

    Attributes:
        camel, apart: With words apart in camel case; with commas between numbers, not in them.
        closed: The value of a text that is nothing but a verdict.
        several: Whether it joins values by ";".
        has_cue: Whether it may deny something, or leave it open (`claims`).
    """

    text: str
    tokens: TokenRow
    camel: TokenRow
    apart: TokenRow
    closed: str | None
    several: bool
    has_cue: bool


def token_f1(prediction: str, golds: Sequence[str]) -> float:
    """F1 of the multisets of tokens, the best over the golds.

    >>> token_f1("['B', 'A']", ["A;B"]), token_f1("Yes, they were.", ["yes"]), token_f1("1.5", ["15"])
    (1.0, 1.0, 0.0)
    """
    found, best = read(prediction), 0.0
    weighed = []
    for gold in golds:
        wanted = read(gold)
        if found.has_cue and _can_be_claimed(wanted) and found.tokens != wanted.tokens:
            weighed.append(wanted)
            continue
        score = pair_f1(found, wanted)
        if score > best:
            if score == 1.0:
                return 1.0
            best = score
    if weighed:
        parts = map(read, claims(prediction))
        best = max(best, min(max(pair_f1(part, wanted) for wanted in weighed) for part in parts))
    return best


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """1.0 where the answer says a gold and nothing else, in any notation; else 0.0.

    Values joined by ";" are a set: the answer may give them in any order and any list form, but must have each. Unlike
    in token F1, an explanation ("yes, they were") is no match.

    >>> exact_match("The Nile.", ["nile"]), exact_match('["b", "a"]', ["A;B"]), exact_match("A", ["A;B"])
    (1.0, 1.0, 0.0)
    """
    return float(any(_is_equal(prediction, gold) for gold in golds))


def word_f1(prediction: str, golds: Sequence[str]) -> float:
    """F1 of words, the best over the golds; two texts without words score 1 if they are the same.

    How RAGQuestEval compares two answers to one question. Words are those of `segment`: unlike token F1 it reads no
    lists and no verdicts, keeps articles, and never looks at characters.

    >>> word_f1("173 家。", ["１７３家"]), word_f1("in Berlin", ["Berlin"])
    (1.0, 0.6666666666666666)

    Raises:
        MissingExtra: There is Chinese text, and jieba is not installed.
    """
    return max((_word_pair(prediction, gold) for gold in golds), default=0.0)


def substring_match(prediction: str, golds: Sequence[str]) -> float:
    """1.0 if the answer contains a gold as whole consecutive words; else 0.0. Against an empty gold, equality.

    >>> substring_match("It was founded in Paris.", ["paris"]), substring_match("comparison", ["paris"])
    (1.0, 0.0)
    """
    return float(any(_is_held(prediction, gold) for gold in golds))


def covered_match(prediction: str, golds: Sequence[str]) -> float:
    """1.0 where the answer holds what any gold, an expression ("Paris & (1987 | 1988)"), asks for; else 0.0.

    The grammar is that of `tasks.placeholders.expressions`. Whole words and numbers are held ("1" is not in "10
    dogs"), articles among them ("vitamin A" is not "vitamin"). Han and kana characters are words of their own. In
    scripts that put no space between words, or hang endings on them (Thai, Lao, Burmese, Khmer, Hangul), a text may
    begin and end inside a word.

    >>> covered_match("Tea in 1987, I think.", ["tea & (1987 | 1988)"]), covered_match("10 dogs", ["1"])
    (1.0, 0.0)

    Raises:
        UserError: A gold is no expression.
    """
    trees = [_tree(gold) for gold in golds]
    holds = _holder(prediction)
    return float(any(is_true(tree, holds) for tree in trees))


def overlap(found: Sequence[str], wanted: Sequence[str]) -> float:
    """F1 of two multisets; 1 where both are empty, 0 where one is."""
    if not found or not wanted:
        return float(not found and not wanted)
    return f_measure((Counter(found) & Counter(wanted)).total(), len(found), len(wanted))


def f_measure(common: int, found: int, wanted: int) -> float:
    """The harmonic mean of precision and recall, from what two texts have in common and how much there is in each."""
    if not common:
        return 0.0
    precision, recall = common / found, common / wanted
    return 2 * precision * recall / (precision + recall)


@lru_cache(maxsize=4_096)
def read(text: str) -> ParsedText:
    """The reading of a text; golds come back, so that the last ones are remembered."""
    values = list_values(text)
    parts = [text] if values is None else values

    def cut(camel: bool = False, thousands: bool = True) -> TokenRow:
        return without_articles([word for part in parts for word in words(part, camel, thousands)])

    plain, whole = cut(), " ".join(parts)
    apart = cut(thousands=False) if values is None and "," in text else plain
    camel = plain if text.islower() else cut(camel=True)
    has_cue = CUE.search(whole) is not None
    return ParsedText(whole, plain, camel, apart, closed_value(plain), ";" in text, has_cue)


def pair_f1(found: ParsedText, gold: ParsedText) -> float:
    """Token F1 of an answer and one gold."""
    if found.tokens == gold.tokens:
        return float(_same_unit(found.text, gold.text))
    if not found.tokens or not gold.tokens:
        return 0.0
    if gold.closed is not None or found.closed is not None:
        return _closed(found, gold)
    is_list = found.several or gold.several
    value = value_of(gold.text)
    is_other = not is_list and len(gold.tokens) <= _SHORT and _is_opposed(found.camel, gold.camel)
    if is_other or _is_another_number(found.text, gold.text):
        return 0.0
    if value is not None:
        text = in_notation_of(value, found.text)
        if text is None:
            return overlap(found.apart, gold.tokens) if gold.several and found.apart != found.tokens else 0.0
        if text is not found.text:
            found, gold = read(text), read(value.gold)
    score = max(overlap(found.tokens, gold.tokens), overlap(found.camel, gold.camel))
    if is_list or found.apart == gold.apart:
        score = max(score, overlap(found.apart, gold.apart))
    if score < 1.0 and (_same_letters(found.tokens, gold.tokens) or _states(found.tokens, gold.tokens)):
        return 1.0
    return score


def _closed(found: ParsedText, gold: ParsedText) -> float:
    """1 or 0, where at least one side is nothing but a verdict."""
    value, other = (gold.closed, found) if gold.closed is not None else (found.closed, gold)
    return float(value is not None and verdict(other.text, pair_of(value)) == value)


def _is_another_number(found: str, gold: str) -> bool:
    """Whether an answer and a gold differ in what belongs to a number.

    In Roman numerals and letters, in BC and AD, in a.m. and p.m., or in the numbers of a compound and their order.
    """
    numerals = [set(_NUMERAL.findall(text)) for text in (found, gold)]
    sides = [{match.lastindex for match in _SIDE.finditer(text)} for text in (found, gold)]
    if any(one and two and one.isdisjoint(two) for one, two in (numerals, sides)):
        return True
    numbers, wanted = (f" {' '.join(_DIGITS.findall(text))} " for text in (found, gold))
    return _COMPOUND.fullmatch(gold) is not None and value_of(gold) is None and wanted not in numbers


def _is_opposed(found: TokenRow, gold: TokenRow) -> bool:
    """Whether an answer has all words of a gold, but for the opposite of one of them."""
    own, wanted = ({_OPPOSED[word] for word in row if word in _OPPOSED} for row in (found, gold))
    if not wanted or not {word for word in gold if word not in _OPPOSED} <= {*found}:
        return False
    return not {place for place, _ in own - wanted}.isdisjoint(place for place, _ in wanted - own)


def _same_unit(found: str, gold: str) -> bool:
    """Whether two texts of the same tokens do not differ in the signs of their units."""
    value = value_of(gold) if _UNIT_SIGN.search(gold) else None
    return value is None or in_notation_of(value, found) is not None


def _can_be_claimed(gold: ParsedText) -> bool:
    is_short = 0 < len(gold.tokens) <= _SHORT
    return is_short and gold.closed is None and not gold.several and not gold.has_cue


def _states(found: TokenRow, gold: TokenRow) -> bool:
    """Whether a sentence says that something is the gold, or that the gold is something."""
    if not len(gold) < len(found) <= _SENTENCE or len(gold) > _SHORT or _COPULAS.isdisjoint(found):
        return False
    if found[: len(gold)] == gold and found[len(gold)] in _COPULAS:
        return True
    if found[-len(gold) :] != gold:
        return False
    before = found[: -len(gold)]
    end = len(before)
    while end and before[end - 1] in _LINKS:
        end -= 1
    return not _COPULAS.isdisjoint(before[max(0, end - 2) : end])


def _same_letters(found: TokenRow, gold: TokenRow) -> bool:
    """Whether two texts differ only in where words, or thousands, are broken, with the same numbers in both."""
    if not found or not gold or found[0][0] != gold[0][0] or "".join(found) != "".join(gold):
        return False
    return _numbers(found) == _numbers(gold)


def _numbers(found: TokenRow) -> list[str]:
    return _DIGITS.findall(_GROUPED.sub(lambda match: match[0].replace(" ", ""), " ".join(found)))


def _is_equal(prediction: str, gold: str) -> bool:
    found, wanted = read(prediction), read(gold)
    if found.tokens == wanted.tokens or _same_letters(found.tokens, wanted.tokens):
        return _same_unit(prediction, gold)
    value = value_of(gold)
    text = in_notation_of(value, prediction) if value is not None else None
    if value is not None and text is not None and read(text).tokens == read(value.gold).tokens:
        return True
    values = gold_values(gold)
    return len(values) > 1 and _bag(values) == _bag(_answered(prediction))


def _answered(prediction: str) -> list[str]:
    return list_values(prediction) or split(prediction, ";" if ";" in prediction else ",")


def _bag(values: list[str]) -> list[TokenRow]:
    return sorted(tokens(value) for value in values)


def _word_pair(prediction: str, gold: str) -> float:
    found, wanted = segments(prediction), segments(gold)
    if not found and not wanted:
        return float(bare(prediction) == bare(gold))
    return overlap(found, wanted)


def _is_held(prediction: str, gold: str) -> bool:
    row = f" {' '.join(tokens(gold))} "
    if not row.strip():
        return not tokens(prediction)
    return _is_claimed(prediction, gold, lambda text: row in f" {' '.join(tokens(text))} ")


def _is_claimed(answer: str, gold: str, holds: Callable[[str], bool]) -> bool:
    """Whether all that an answer claims holds a gold: in the gold's notation, and no other value of its kind."""
    wanted = read(gold)
    if wanted.closed is not None:
        return verdict(answer, pair_of(wanted.closed)) == wanted.closed
    parts = claims(answer) if _can_be_claimed(wanted) else (answer,)
    value = value_of(gold)
    if value is None:
        return all(map(holds, parts))
    texts = [(part, in_notation_of(value, part)) for part in parts]
    return all(text is not None and (holds(text) or holds(part)) for part, text in texts)


@functools.lru_cache(maxsize=4096)
def _tree(gold: str) -> Expression:
    try:
        return parse(gold)
    except BadExpression as error:
        raise UserError(f"covered_match cannot read the gold {gold[:80]!r}: {error}") from None


def _holder(answer: str) -> Callable[[str], bool]:
    """Whether a literal is held in all that an answer claims."""
    return lambda literal: _is_claimed(answer, literal, lambda text: _reader(text)(literal))


@functools.lru_cache(maxsize=64)
def _reader(text: str) -> Callable[[str], bool]:
    """Whether a text holds another; a comma between digits is read as one of thousands, and as one between numbers."""
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
