"""Dates and quantities in answers, so that equal ones match in any notation and different ones never do.

A short gold with one date or one quantity in it ("8 June 1916", "2,340 metres", "42", "Apollo 11") has a value. Before
an answer is compared with it, equal values take the gold's notation (`in_notation_of`): "June 8th, 1916", "2.34 km",
"forty-two". An answer with other values of that kind alone contradicts the gold: "9 June 1916" shares two words of
three with it, and is wrong.

- Dates: days, months by name in English and Russian, years, in any order; ISO, dotted and Chinese forms. "05/06/2023"
  may be in May or in June. An answer may be more precise than the gold, and a less precise one is left to its words.
- Quantities: signs, multiples ("3.4 million", "2万", "1.5 × 10^6"), number words up to the hundreds, halves ("two and
  a half", "half an hour", 半小时), an article as one ("a dozen", "an hour", but no rate: "60 km an hour"), units of the
  same measure, which are converted and added up ("1 hour 30 minutes", "1h30"), "%" against a fraction. A number without
  a unit is taken to be in the other's. A gold with decimals says how precisely it is meant: half a unit of its last
  place is allowed. Whole numbers are meant exactly, and "a couple" is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from r_eval.analysis.metrics.normalise import one_notation

Date = tuple[int | None, int | None, int | None]
"""Year, month, day; None for one that is not said."""

_LONGEST_GOLD, _MOST_WORDS, _LONGEST = 60, 4, 2_000
"""Characters and words of a gold that may have a value, and characters of an answer that is searched."""
_SAME = 1e-9
"""Relative difference of floats within which two numbers are the same."""
_MONTH_NAMES = (
    "jan january января январь|feb february февраля февраль|mar march марта март|apr april апреля апрель|may мая май|"
    "jun june июня июнь|jul july июля июль|aug august августа август|sep sept september сентября сентябрь|"
    "oct october октября октябрь|nov november ноября ноябрь|dec december декабря декабрь"
)
_MONTHS = {name: place for place, names in enumerate(_MONTH_NAMES.split("|"), 1) for name in names.split()}
_NAMED = "|".join(sorted(_MONTHS, key=len, reverse=True))
_LONE = "|".join(name for name in _MONTHS if name.isascii() and len(name) > 4 and name != "march")
_DAY, _YEAR = r"\d{1,2}(?:st|nd|rd|th|-?го)?", r"\d{4}(?!\d)"
_DATE = re.compile(
    r"(?<!\d)(?:(?P<iso>\d{4}[-/.](?:0?[1-9]|1[0-2])(?:[-/.]\d{1,2})?)(?![\d-])"
    r"|(?P<numeric>\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(?!\d)"
    r"|(?P<chinese>(?:\d{4}年)?\d{1,2}月(?:\d{1,2}[日号])?)"
    rf"|(?P<day1>{_DAY})(?: of| day of)?[ -](?P<name1>{_NAMED})\.?(?:,? ?[ -](?P<year1>{_YEAR}))?(?: ?(?:года|г\.))?"
    rf"|\b(?P<name2>{_NAMED})\.? (?:the )?(?P<day2>{_DAY})(?!\d)(?:,? ?(?P<year2>{_YEAR}))?"
    rf"|\b(?P<name3>{_NAMED})\.?,? (?P<year3>{_YEAR}))"
    rf"|\b(?P<name4>{_LONE})\b"
)
_MEASURES: dict[str, dict[float, str]] = {
    "length": {
        **{0.001: "mm millimetres millimeters 毫米", 0.01: "cm centimetres centimeters 厘米"},
        **{1.0: "m metre metres meter meters 米 м метров", 1609.344: "mi mile miles", 0.3048: "ft foot feet"},
        **{1000.0: "km kilometre kilometres kilometer kilometers 公里 千米 км", 0.0254: "inch inches"},
    },
    "mass": {
        **{0.001: "g gram grams 克", 1.0: "kg kilo kilos kilogram kilograms 公斤 千克 кг", 1000.0: "t tonne tonnes 吨"},
        **{1e-6: "mg milligrams 毫克", 0.45359237: "lb lbs pound pounds", 0.028349523125: "oz ounce ounces"},
    },
    "time": {
        **{1.0: "sec secs seconds 秒", 60.0: "min mins minute minutes 分钟", 3600.0: "h hr hrs hour hours 小时"},
        **{
            0.001: "ms milliseconds 毫秒",
            86400.0: "day days 天",
            604800.0: "week weeks 周",
            1209600.0: "fortnight fortnights",
        },
    },
    "years": {1.0: "year years 年", 10.0: "decade decades", 100.0: "century centuries", 1 / 12: "month months 个月"},
    "area": {1.0: "sqm m² m2", 1e4: "ha hectare hectares 公顷", 1e6: "km² km2 sqkm"},
    "volume": {0.001: "ml millilitres milliliters", 1.0: "l litre litres liter liters 升"},
    "data": {1e3: "kb", 1e6: "mb", 1e9: "gb", 1e12: "tb"},
    **{"celsius": {1.0: "°c celsius"}, "fahrenheit": {1.0: "°f fahrenheit"}, "kelvin": {1.0: "kelvin"}},
    "share": {0.01: "% percent процентов процента", 0.001: "‰"},
    "usd": {1.0: "$ usd us$ dollar dollars 美元"},
    "eur": {1.0: "€ eur euro euros 欧元"},
    "gbp": {1.0: "£ gbp"},
    "cny": {1.0: "¥ cny rmb yuan 元 人民币"},
}
_UNITS = {
    name: (measure, size)
    for measure, units in _MEASURES.items()
    for size, names in units.items()
    for name in names.split()
}
"""Unit to what it measures and its size in the base unit of that."""
_MULTIPLES = {
    **{"hundred": 1e2, "k": 1e3, "thousand": 1e3, "million": 1e6, "mn": 1e6, "m": 1e6, "billion": 1e9, "bn": 1e9},
    **{"trillion": 1e12, "тыс": 1e3, "тысяч": 1e3, "млн": 1e6, "млрд": 1e9, "百": 1e2, "千": 1e3, "万": 1e4, "亿": 1e8},
    **{"dozen": 12.0, "mil": 1e6, "degree": 1.0, "degrees": 1.0},
}
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMBER_WORDS = {
    **{word: number for number, word in enumerate(_SMALL.split())},
    **{word: 10 * number for number, word in enumerate(_TENS.split(), 2)},
}
_HAN_DIGITS = {**{char: number for number, char in enumerate("零一二三四五六七八九")}, "两": 2, "〇": 0}
_HAN_YEAR = re.compile("[〇零一二三四五六七八九]{4}(?=年)")
_HAN_PERCENT = re.compile(r"百分之([\d.]+|[零一二三四五六七八九十两百]{1,5})")
_WORDED = "|".join(sorted(_NUMBER_WORDS, key=len, reverse=True))
_UNIT = r"[\s-]?(?:°?[^\W\d_]{1,14}[23²³]?|[%‰$€£¥])(?![a-z]|(?<![\u4e00-\u9fff])\d)"
_QUANTITY = re.compile(
    r"(?P<money>(?:us)?[$€£¥]\s?)?(?P<sign>(?<![\w)])(?:-|minus\s|минус\s))?"
    r"(?:(?P<digits>(?<![\w.])\d{1,3}(?: \d{3}){1,5}(?:\.\d{1,30})?(?![\d.])"
    r"|(?<![a-z\d.])(?:\d{1,40}(?:\.\d{1,30})?(?:e[+-]?\d{1,2})?|\.\d{1,30}))"
    rf"|\b(?P<words>(?:{_WORDED})(?:[- ](?:{_WORDED}))?)\b"
    r"|(?P<han>^[零一二三四五六七八九十两百]{1,5}$|[零一二三四五六七八九十两百]{1,5}(?=[\u4e00-\u9fff])))"
    rf"(?P<after>{_UNIT})?(?P<more>{_UNIT})?"
)


_FRACTIONS = {"½": ".5", "¼": ".25", "¾": ".75"}
_POWER = re.compile(r"(?<=\d) ?(?:[×x*]|\\times) ?10(?:(?:\^|\*\*)\{?(-?\d{1,2})\}?|([⁰¹²³⁴-⁹]{1,2}))")
"""Times ten to the power of something."""
_ONE_AND = {"a": 1, "an": 1, **_NUMBER_WORDS}
_SINGULAR = "|".join(word for word in (*_MULTIPLES, *_UNITS) if word.isascii() and word.isalpha() and len(word) > 2)
_LEAD = "is|was|takes?|took|lasts?|lasted|for|and|about|around|approximately|roughly|nearly|almost|over|only|exactly"
_PHRASE = re.compile(
    r"\b(?:(?P<half>half)|(?:a|(?P<three>three)) quarters? of) an?(?= )"
    rf"|\b(?P<n>\d+|{'|'.join(_ONE_AND)})(?P<unit> \w+)? and a half\b"
    rf"|\b(?P<hundreds>a|{'|'.join(_SMALL.split())}) hundred (?:and )?(?P<rest>(?:{_WORDED})(?:[- ](?:{_WORDED}))?)\b"
    r"|\b(?P<feet>\d{1,2}) ?(?:ft\.?|feet|['′]) ?(?P<inches>1[01]|\d) ?(?:in\b\.?|\"|''|′′)"
    r"|\b(?P<hours>\d{1,3})(?: ?h(?: (?=\d+ ?m))?(?P<m>[0-5]?\d)(?: ?m(?:ins?)?)?|:(?P<min>[0-5]\d) ?h(?:ours?)?)\b"
    rf"|(?P<lead>^|[^\w\s]\s?|\b(?:{_LEAD}) )an?(?= (?-i:{_SINGULAR})\b(?! (?:in|of|at)\b))",
    re.IGNORECASE,
)
"""Numbers in words; a title ("A Thousand Acres") has none."""
_HAN_PHRASE = re.compile(
    r"(?<![\d上下前后大小多])(?P<n>\d{1,3}|[一二两三四五六七八九十]{1,3})?个?(?P<half>半个?)?"
    "(?P<unit>小时|分钟|个月|年|天)(?P<more>半)?"
)
_GOES_ON = re.compile(r"\s*,?\s*(?:and )?")
"""What is between "1 hour" and "30 minutes"."""


class Quantity(NamedTuple):
    """A number in a text.

    Attributes:
        value: With its multiple, in the unit written.
        place: Size of its last digit where it has decimals; 0 of a whole number.
        measure: What its unit measures; "" without a unit.
        size: Of the unit, in the base unit of its measure.
        start, end: Its place, unit included.
    """

    value: float
    place: float
    measure: str
    size: float
    start: int
    end: int


class GoldValue(NamedTuple):
    """The one value in a gold: the dates that it may be, or a quantity; how the gold writes it; the gold around it."""

    dates: frozenset[Date]
    quantity: Quantity | None
    text: str
    gold: str


@lru_cache(maxsize=8_192)
def value_of(gold: str) -> GoldValue | None:
    """The value of a short gold that holds exactly one; None of any other.

    >>> sorted(value_of("8 June 1916").dates), value_of("Apollo 11").text, value_of("3 of 4")
    ([(1916, 6, 8)], '11', None)
    """
    if len(gold) > _LONGEST_GOLD or len(gold.replace(" and ", " ").split()) > _MOST_WORDS:
        return None
    text = _folded(gold)
    dates, quantities = list(_dates(text)), list(_quantities(text))
    if len(dates) == 1:
        found, start, end = dates[0]
        is_alone = all(start <= one.start < end for one in quantities)
        return _gold_value(gold, text, start, end, found) if is_alone else None
    if dates or len(quantities) != 1:
        return None
    return _gold_value(gold, text, quantities[0].start, quantities[0].end, frozenset(), quantities[0])


def _gold_value(
    gold: str, text: str, start: int, end: int, dates: frozenset[Date], quantity: Quantity | None = None
) -> GoldValue:
    """The value at a place of a gold's text as it is searched; a gold that is nothing else is left as written."""
    is_all = (start, end) == (0, len(text))
    return GoldValue(dates, quantity, gold if is_all else text[start:end], gold if is_all else text)


def in_notation_of(value: GoldValue, answer: str) -> str | None:
    """An answer with each value that equals a gold's in the gold's notation; None where it contradicts the gold.

    An answer contradicts a gold where it has values of the gold's kind, and none of them is the gold's or a vaguer one.
    """
    if len(answer) > _LONGEST:
        return answer
    text = _folded(answer)
    if re.fullmatch(_YEAR, value.text):
        text = _years(text)
    found = _compared_dates(text, value.dates) if value.quantity is None else _compared(text, value.quantity)
    spans = list(found)
    equal = [(start, end, value.text) for is_equal, start, end in spans if is_equal]
    if not equal:
        return None if spans else answer
    return _replaced(text, equal)


def _folded(text: str) -> str:
    """The text as it is searched: numbers in one notation, ASCII digits, small letters, one kind of minus."""
    text = _POWER.sub(lambda match: "e" + (match[1] or unicodedata.normalize("NFKC", match[2])), text)
    text = re.sub("(?:(?<=\\d) )?[½¼¾]", lambda match: _FRACTIONS[match[0][-1]], text)
    text = _PHRASE.sub(_english_digits, unicodedata.normalize("NFKC", one_notation(text)))
    text = text.lower().replace("per cent", "percent")
    if not text.isascii():
        text = re.sub(r"(?<![\w ])–(?=\d)|(?<=\s)–(?=\d)|−", "-", text)
        text = "".join([str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text])
        text = _HAN_YEAR.sub(lambda match: "".join(str(_HAN_DIGITS[char]) for char in match[0]), text)
        text = _HAN_PHRASE.sub(_han_digits, text)
        text = _HAN_PERCENT.sub(lambda match: f"{match[1] if match[1].isascii() else _han_number(match[1])[0]}%", text)
    return text


def _english_digits(match: re.Match[str]) -> str:
    """The digits of a number in words: "half an", "two hours and a half", "a" before a unit; "1h30" in two units."""
    if match["hours"]:
        return f"{match['hours']} hours {match['m'] or match['min']} minutes"
    if match["feet"]:
        return f"{match['feet']} feet {match['inches']} inches"
    if match["hundreds"]:
        rest = sum(_NUMBER_WORDS[word] for word in re.split("[- ]", match["rest"].lower()))
        return str(100 * _ONE_AND[match["hundreds"].lower()] + rest)
    if match["n"]:
        return f"{_ONE_AND.get(match['n'].lower(), match['n'])}.5{match['unit'] or ''}"
    if match["lead"] is not None:
        return f"{match['lead']}1"
    return "0.5" if match["half"] else "0.75" if match["three"] else "0.25"


def _han_digits(match: re.Match[str]) -> str:
    """The digits of a Chinese length of time with a half."""
    number = match["n"] or ""
    if not (match["half"] or match["more"]):
        return f"{number}{match['unit']}" if number else match[0]
    whole = number if number.isdigit() and number.isascii() else _han_number(number)[0]
    return f"{whole or 0}.5{match['unit']}"


def _years(text: str) -> str:
    """A text with the year in place of each date that has one."""
    dated = ((start, end, next(iter(dates))[0]) for dates, start, end in _dates(text))
    return _replaced(text, [(start, end, str(year)) for start, end, year in dated if year])


def _replaced(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """A text with other words at some places, given in their order."""
    for start, end, words in reversed(spans):
        text = f"{text[:start]}{words}{text[end:]}"
    return text


def _compared_dates(text: str, wanted: frozenset[Date]) -> Iterator[tuple[bool, int, int]]:
    """The dates of a text that say as much as the gold, and whether each is the gold's; vaguer ones that fit are left
    out."""
    for dates, start, end in _dates(text):
        pairs = [list(zip(gold, date, strict=True)) for gold in wanted for date in dates]
        is_gold = any(all(mine in (None, its) for mine, its in pair) for pair in pairs)
        if is_gold or not any(all(None in (mine, its) or mine == its for mine, its in pair) for pair in pairs):
            yield is_gold, start, end


def _dates(text: str) -> Iterator[tuple[frozenset[Date], int, int]]:
    for match in _DATE.finditer(text):
        found = {date for date in _read_date(match) if 1 <= (date[1] or 1) <= 12 and 1 <= (date[2] or 1) <= 31}
        if found:
            yield frozenset(found), match.start(), match.end()


def _read_date(match: re.Match[str]) -> list[Date]:
    """The dates that a match may mean."""
    own = {name.rstrip("1234"): text for name, text in match.groupdict().items() if text}
    if "name" in own:
        day = re.match(r"\d+", own.get("day", ""))
        return [(int(own["year"]) if "year" in own else None, _MONTHS[own["name"]], int(day[0]) if day else None)]
    first, *rest = map(int, re.findall(r"\d+", match[0]))
    if "numeric" in own:
        return [(rest[1], rest[0], first), (rest[1], first, rest[0])]
    year, month, *day_ = (None, first, *rest) if "chinese" in own and "年" not in match[0] else (first, *rest)
    return [(year, month, day_[0] if day_ else None)]


def _compared(text: str, wanted: Quantity) -> Iterator[tuple[bool, int, int]]:
    """The quantities of a text, and whether each is the gold's."""
    for found in _quantities(text):
        fits = found.measure == wanted.measure or not found.measure or not wanted.measure
        yield fits and _is_same(found, wanted), found.start, found.end


def _is_same(found: Quantity, wanted: Quantity) -> bool:
    allowed = max(wanted.place / 2, abs(wanted.value) * _SAME) * (1 + _SAME)
    values = [found.value]
    if found.measure == wanted.measure:
        values = [found.value * found.size / wanted.size]
    elif "share" in (found.measure, wanted.measure):
        values.append(found.value * found.size / wanted.size)
    return any(abs(value - wanted.value) <= allowed for value in values)


def _quantities(text: str) -> Iterator[Quantity]:
    """The quantities of a text; smaller units right behind larger ones add to them."""
    whole: Quantity | None = None
    for found in _parts(text):
        if whole is None or not _adds_to(whole, found, text):
            if whole is not None:
                yield whole
            whole = found
        else:
            value = whole.value + found.value * found.size / whole.size
            whole = whole._replace(value=value, end=found.end)
    if whole is not None:
        yield whole


def _adds_to(whole: Quantity, found: Quantity, text: str) -> bool:
    """Whether a quantity goes on with another: "30 minutes" behind "1 hour"."""
    is_smaller = 0 <= found.value * found.size < whole.size and found.measure == whole.measure != ""
    return is_smaller and not whole.place and _GOES_ON.fullmatch(text, whole.end, found.start) is not None


def _parts(text: str) -> Iterator[Quantity]:
    for match in _QUANTITY.finditer(text):
        number = _number(match)
        if number is None:
            continue
        value, decimals = number
        factor, (measure, size), end = _scale(match)
        sign = -1.0 if match["sign"] else 1.0
        place = 10.0**-decimals * factor if decimals else 0.0
        if measure == "" and match["money"]:
            measure, size = _UNITS[match["money"].strip()]
        yield Quantity(sign * value * factor, place, measure, size, match.start(), end)


def _number(match: re.Match[str]) -> tuple[float, int] | None:
    """A match's number and how many decimals it has."""
    if match["digits"]:
        digits = match["digits"].replace(" ", "")
        mantissa, _, exponent = digits.partition("e")
        return float(digits), max(0, len(mantissa.partition(".")[2]) - int(exponent or 0))
    if match["words"]:
        parts = [_NUMBER_WORDS[word] for word in re.split("[- ]", match["words"])]
        if len(parts) == 2 and not (parts[0] >= 20 and 1 <= parts[1] <= 9):
            return None
        return float(sum(parts)), 0
    return _han_number(match["han"])


def _han_number(text: str) -> tuple[int, int]:
    total, digit = 0, 0
    for char in text:
        if char in _HAN_DIGITS:
            digit = _HAN_DIGITS[char]
        else:
            total, digit = total + (digit or 1) * (10 if char == "十" else 100), 0
    return total + digit, 0


def _scale(match: re.Match[str]) -> tuple[float, tuple[str, float], int]:
    """The multiple and the unit behind a number, and where they end; a word that is neither is no part of it."""
    factor, end = 1.0, max(match.end(name) for name in ("digits", "words", "han"))
    for name in ("after", "more"):
        word = (match[name] or "").strip(" -\t\n\u00a0")
        if not word:
            break
        if word in _MULTIPLES and factor == 1.0 and (word != "m" or match["money"]):
            factor, end = _MULTIPLES[word], match.end(name)
            continue
        lengths = range(min(4, len(word)), 0, -1) if not word.isascii() else [len(word)]
        if factor == 1.0 and not word.isascii() and word[0] in _MULTIPLES and word[:2] not in _UNITS:
            factor, word, end = _MULTIPLES[word[0]], word[1:], match.start(name) + 1
        unit = next((word[:length] for length in lengths if word[:length] in _UNITS), None)
        if unit is not None:
            return factor, _UNITS[unit], match.end(name) if unit == word else match.start(name) + len(unit)
        break
    return factor, ("", 1.0), end
