"""Whether an answer says the gold's number.

Read are: thousands separators ("1,234", "1 234", "1'234", "1.234.567,5"), decimal points, signs, exponents, digits of
every script, words that multiply ("3.4 million", "2万"), and units of measure (`units`), which are converted. Where
one side gives no unit, its number is taken to be in the other's; units that measure different things do not match.

How close is close: a gold with decimals says how precisely it is meant, so half a unit of its last place is allowed
("3.14" takes 3.1416, "3.4 million" takes 3,412,000); an integer is meant exactly, since it may be a year or a count. A
`tolerance` allows a share of the gold besides: `numeric_match@0.05` is within 5 %.

Which number is the answer: an answer must hold as many numbers as the gold, in its order. Where it holds more, only
those with the gold's kind of unit count; a list of guesses is not an answer. A gold without a number, and an
answer that is the gold's text, are judged by exact match.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from r_eval.analysis.metrics.exact import exact_match
from r_eval.analysis.metrics.units import MULTIPLES, UNITS

_LONGEST = 20_000
"""Characters of an answer that are read."""
_SAME = 1e-9
"""Share of the gold within which two numbers are the same, for the sake of floating point."""
_NUMBER = re.compile(
    r"(?P<money>(?:us)?[$€£¥₹]\s?)?"
    r"(?P<sign>(?<![\w)])[-+])?"
    r"(?P<digits>(?<![\w.,])\d{1,3}(?:,\d{3}){1,9}(?![\d,])(?:\.\d{1,30})?"
    r"|(?<![\w.,])\d{1,3}(?:\.\d{3}){2,9}(?![\d.])(?:,\d{1,30})?"
    r"|(?<![\w.,])\d{1,3}(?:[ '’]\d{3}){1,9}(?!\d)(?:[.]\d{1,30})?"
    r"|(?<![A-Za-z\d.])(?:\d{1,40}(?:\.\d{1,30})?|\.\d{1,30}))"
    r"(?P<exponent>e[-+]?\d{1,3}(?!\w))?"
    r"(?P<after>\s?(?:[a-z]{1,12}[23²³]?|[%‰$€£¥₹]|[\u4e00-\u9fff]{1,3})(?![a-z\d]))?"
    r"(?P<more>\s?(?:[a-z]{1,12}[23]?|[%‰$€£¥₹]|[\u4e00-\u9fff]{1,3})(?![a-z\d]))?"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a text.

    Attributes:
        value: As written, multiplied ("3 million" is 3e6), in the unit written.
        place: Size of its last digit where it has decimals; 0 where it is an integer.
        measure: What its unit measures; None without a unit.
        size: Of the unit in the base unit of its measure.
    """

    value: float
    place: float = 0.0
    measure: str | None = None
    size: float = 1.0


def numeric_match(prediction: str, golds: Sequence[str], tolerance: float = 0.0) -> float:
    """1.0 or 0.0: whether a gold's number is said.

    Args:
        tolerance: Share of the gold by which the answer may be off.

    >>> numeric_match("about 1,234 km", ["1234"]), numeric_match("1.2 km", ["1200 m"]), numeric_match("1913", ["1912"])
    (1.0, 1.0, 0.0)
    """
    found = numbers(prediction)
    for gold in golds:
        if exact_match(prediction, [gold]) or _said(found, numbers(gold), tolerance):
            return 1.0
    return 0.0


def numbers(text: str) -> list[Number]:
    """The numbers of a text, in order."""
    text = unicodedata.normalize("NFKC", text[:_LONGEST]).lower().replace("\u2212", "-")
    text = "".join([str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text])
    return [number for match in _NUMBER.finditer(text) if (number := _read(match)) is not None]


def _read(match: re.Match[str]) -> Number | None:
    digits = _plain(match["digits"])
    try:
        value = float(f"{digits}{match['exponent'] or ''}")
    except (ValueError, OverflowError):
        return None
    if value in (float("inf"), float("-inf")):
        return None
    decimals = len(digits.partition(".")[2])
    place = 10.0**-decimals if decimals and not match["exponent"] else 0.0
    after, more = ((match[name] or "").strip() for name in ("after", "more"))
    factor = 1.0
    if after in MULTIPLES:
        factor, after = MULTIPLES[after], more
    elif not after.isascii() and after[:1] in MULTIPLES:
        factor, after = MULTIPLES[after[:1]], after[1:]
    spaced = match[0].count(" ") > 0
    measure, size = UNITS.get((match["money"] or "").strip() or _unit(after, spaced), (None, 1.0))
    sign = -1.0 if match["sign"] == "-" else 1.0
    return Number(sign * value * factor, place * factor, measure, size)


def _unit(word: str, spaced: bool) -> str:
    """The unit in a word; Chinese has no space behind it, so its first letters may be one. "1990s" are no seconds."""
    if word.isascii():
        return word if word != "s" or spaced else ""
    return next((word[:length] for length in (3, 2, 1) if word[:length] in UNITS), word)


def _plain(digits: str) -> str:
    """Digits with a decimal point and nothing else."""
    for separator in " '’":
        digits = digits.replace(separator, "")
    if digits.count(".") > 1:
        return digits.replace(".", "").replace(",", ".")
    return digits.replace(",", "")


def _said(found: list[Number], gold: list[Number], tolerance: float) -> bool:
    if not gold:
        return False
    if len(found) > len(gold):
        kinds = {number.measure for number in gold}
        found = [number for number in found if number.measure in kinds]
    return len(found) == len(gold) and all(_close(one, two, tolerance) for one, two in zip(found, gold, strict=True))


def _close(found: Number, gold: Number, tolerance: float) -> bool:
    allowed = max(gold.place / 2, abs(gold.value) * max(tolerance, _SAME))
    return any(abs(value - gold.value) <= allowed * (1 + _SAME) for value in _values(found, gold))


def _values(found: Number, gold: Number) -> list[float]:
    """What was found, in the gold's unit; a share without a sign may be a fraction or of a hundred."""
    if found.measure == gold.measure:
        return [found.value * found.size / gold.size]
    if found.measure is not None and gold.measure is not None:
        return []
    if "share" in (found.measure, gold.measure):
        return [found.value, found.value * found.size / gold.size]
    return [found.value]
