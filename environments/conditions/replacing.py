"""Replaces values by others, consistently, in whatever an environment returns, and back in what it is asked for.

A value is a name, a number or a date. It is found as whole tokens: "7" is not in "1987" nor in "7,000", "Oslo" is not
in "Oslovian", but it is in "Oslo's". Text in Han, kana or hangul has no spaces between words, and is found anywhere. A
number is found with and without thousands separators, a date in the forms of FORMS; its replacement has the form in
which it was found.

Everything is replaced in one pass, the longest value first, so that what was put in is never replaced again. A new
value may so be one of the old ones: what was called A is called B then, and what was called B is called C. A value
that is replaced by itself stays, whatever is replaced within it.
"""

from __future__ import annotations

import datetime
import random
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
FORMS = (
    "{day} {month} {year}",
    "{month} {day}, {year}",
    "{year}-{number:02}-{day:02}",
    "{year}年{number}月{day}日",
)
"""How a date may be written."""

SHORT = 3
"""A name of at most so many letters counts only in the case in which it is given: "WY" is not in "wy"."""

UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts that put no spaces between words."""
_WORD = rf"[^\W_{UNSPACED}]"
_NUMBER = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_GAP = re.compile(r"[\s_]+")
_TOKEN = re.compile(rf"{_NUMBER.pattern}(?!{_WORD})|{_WORD}+|[{UNSPACED}]")
_PARTS = {
    "day": r"(?P<day>[0-9]{1,2})",
    "month": f"(?P<month>{'|'.join(MONTHS)})",
    "year": r"(?P<year>[0-9]{4})",
    "number": r"(?P<number>[0-9]{1,2})",
}
_DATES = {form: re.compile(re.sub(r"\{(\w+)(?::02)?\}", lambda name: _PARTS[name[1]], form)) for form in FORMS}


def normal(text: str) -> str:
    """A text in the form in which values are compared: NFKC."""
    return unicodedata.normalize("NFKC", text)


def tokens(text: str) -> list[str]:
    """The words, numbers and single Han characters of a text, without regard to case and thousands separators."""
    return [token.replace(",", "") for token in _TOKEN.findall(normal(text).casefold())]


def is_number(text: str) -> bool:
    """Whether a text is a number without a sign, with or without thousands separators."""
    return _NUMBER.fullmatch(text) is not None


def as_date(text: str) -> tuple[datetime.date, str] | None:
    """The date that a text is, and which of FORMS it is written in; None where it is none."""
    for form, pattern in _DATES.items():
        found = pattern.fullmatch(text)
        if found is not None:
            month = MONTHS.index(found["month"]) + 1 if "month}" in form else int(found["number"])
            try:
                return datetime.date(int(found["year"]), month, int(found["day"])), form
            except ValueError:
                return None
    return None


def dated(date: datetime.date, form: str) -> str:
    """A date in one of FORMS."""
    return form.format(day=date.day, month=MONTHS[date.month - 1], number=date.month, year=f"{date.year:04}")


class Replacements:
    """Old values and their replacements.

    Args:
        values: The new value by the old one, both of one kind; no two have the same new value, and no new value has
            words in common with another old one (see `overlap` and `same_kind`).

    Example:
        >>> changes = Replacements({"Oslo": "Lima", "43,976": "51,208"})
        >>> changes.forward({"capital": "Oslo", "is": ["OSLO's 43976 inhabitants"], "people": 43976})
        {'capital': 'Lima', 'is': ["LIMA's 51208 inhabitants"], 'people': 51208}
        >>> changes.back("Lima")
        'Oslo'
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = {normal(old): normal(new) for old, new in values.items()}
        forms = {old: new for pair in self.values.items() for old, new in _forms(*pair)}
        used = {_key(new) for new in forms.values()}
        self._gone = _pattern(old for old in forms if _key(old) not in used)
        for old in self.values:
            if _key(old) not in used:
                forms |= dict(_forms(unheard_of(old), old))
        self._forward = _Direction(forms)
        self._back = _Direction({new: old for old, new in forms.items()})

    def forward(self, value: Any) -> Any:
        """Plain data of an environment with the new values in place of the old ones."""
        return self._forward.over(value)

    def back(self, value: Any) -> Any:
        """Arguments of a model with the old values in place of the new ones.

        An old value becomes one that no environment has heard of, which `forward` turns into the old one again: an
        environment that repeats what it was asked for says the model's own words.
        """
        return self._back.over(value)

    def traces(self, text: str) -> bool:
        """Whether a text contains an old value; one that is a new value too is none."""
        return self._gone.search(normal(text)) is not None


class _Direction:
    """One way of the replacement, over all forms of all values."""

    def __init__(self, forms: Mapping[str, str]) -> None:
        self._new = {_key(old): (_spaced(old), new) for old, new in reversed(list(forms.items()))}
        self._pattern = _pattern(forms)

    def over(self, value: Any) -> Any:
        if isinstance(value, str):
            plain = normal(value)
            return self._pattern.sub(self._put, plain) if self._pattern.search(plain) else value
        if isinstance(value, list | tuple):
            return [self.over(item) for item in value]
        if isinstance(value, dict):
            return {self.over(key): self.over(item) for key, item in value.items()}
        if isinstance(value, int | float) and not isinstance(value, bool):
            new = self._new.get(str(abs(value)), ("", ""))[1].replace(",", "")
            fits = new.isdigit() if isinstance(value, int) else is_number(new)
            return type(value)(f"{'-' * (value < 0)}{new}") if fits else value
        return value

    def _put(self, match: re.Match[str]) -> str:
        written = _spaced(match[0])
        old, new = self._new[_key(written)]
        cases = ((str.islower, str.lower), (str.isupper, str.upper), (str.istitle, str.title))
        return new if written == old else next((change(new) for is_case, change in cases if is_case(written)), new)


def overlap(old: str, new: str) -> bool:
    """Whether a text with the new value could contain the old one again, be it with the words around it."""
    short, long = sorted((tokens(old), tokens(new)), key=len)
    if any(long[at : at + len(short)] == short for at in range(len(long) - len(short) + 1)):
        return True
    return any(long[-k:] == short[:k] or long[:k] == short[-k:] for k in range(1, len(short)))


def same_kind(one: str, other: str) -> bool:
    """Whether two values are both names, numbers or dates, and begin and end in the same sort of script."""
    return _kind(normal(one)) == _kind(normal(other))


def _kind(value: str) -> tuple[bool, ...]:
    scripts = (_UNSPACED.match(value[place]) is not None for place in (0, -1))
    return is_number(value), as_date(value) is not None, *scripts


def unheard_of(value: str) -> str:
    """A name, number or date of the form of a value that nothing is called."""
    draw = random.Random(value)
    if date := as_date(value):
        return dated(datetime.date(draw.randint(9000, 9900), draw.randint(1, 12), draw.randint(1, 28)), date[1])
    if is_number(value):
        number = re.sub("[0-9]", lambda _: draw.choice("0123456789"), value)
        return draw.choice("789") + number[1:]
    if _UNSPACED.search(value):
        return "".join(draw.choice("龘靐齉爩麤灪龖厵滟爨癵籱饢") for _ in range(max(2, len(tokens(value)))))
    return "".join(draw.choice(part) for part in ("QXZ", *("wvkjqxz", "uy") * 3)) + draw.choice("qxz")


def _forms(old: str, new: str) -> list[tuple[str, str]]:
    """How a value and its replacement are written, form by form."""
    one, other = as_date(old), as_date(new)
    if one and other:
        return [(dated(one[0], form), dated(other[0], form)) for form in FORMS]
    if not is_number(old) or old.startswith("0"):
        return [(old, new)]
    plain = old.replace(",", ""), new.replace(",", "")
    separated = _separated(plain[0]), _separated(plain[1])
    whole = "." not in "".join(plain)
    floats = [(f"{plain[0]}.0", f"{plain[1]}.0")] if whole else []  # as JSON has a whole number that was a float
    return [(old, new), *{plain, separated} - {(old, new)}, *floats]


def _separated(number: str) -> str:
    whole, point, rest = number.partition(".")
    return f"{int(whole):,}{point}{rest}"


def _spaced(text: str) -> str:
    """A text with single spaces for all gaps; underscores, as in titles and time zones, are gaps too."""
    return _GAP.sub(" ", text)


def _key(text: str) -> str:
    """A text without regard to case, as a pattern has it: the Turkish i is an i with and without its dot."""
    return _spaced(text).replace("İ", "i").casefold().replace("ı", "i")


def _pattern(values: Iterable[str]) -> re.Pattern[str]:
    """What finds values as whole tokens, the longest first; nothing where there are none."""
    longest = sorted(values, key=lambda value: (-len(value), value))
    return re.compile("|".join(map(_whole, longest)) or "(?!)")


def _whole(value: str) -> str:
    inner = _GAP.pattern.join(re.escape(word) for word in _GAP.split(value))
    if sum(map(str.isalpha, value)) > SHORT:
        inner = f"(?i:{inner})"
    before = "" if _UNSPACED.match(value[0]) else f"(?<!{_WORD})"
    after = "" if _UNSPACED.match(value[-1]) else f"(?!{_WORD})"
    if value[0].isdigit():
        before += r"(?<![0-9][.,])"
    if value[-1].isdigit():
        after += r"(?![.,][0-9])"
    return before + inner + after
