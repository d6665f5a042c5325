"""Numbers and dates as a language writes them: the formats `number`, `date` and `date-long` of a question's slots."""

from __future__ import annotations

import datetime
import functools
import re
from typing import TYPE_CHECKING, Any

from r_eval.errors import MissingExtra, UserError

if TYPE_CHECKING:
    from babel import Locale

DEFAULT = "en"
ISO = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?(?:T[\d:.+Z-]*)?")
NAMED = ("number", "date", "date-long")
MONTHS = {"date": "yMMM", "date-long": "yMMMM"}
DAYS = {"date": "medium", "date-long": "long"}


def formatted(value: Any, spec: str, language: str | None) -> str:
    """A value by a format spec: one of `NAMED`, else Python's own.

    A date is a text such as 1969-07-20, 1969-07 or 1969; what it leaves out stays out.

    Args:
        language: Whose way of writing; English where it is None.

    Raises:
        ValueError: The value is no number, or no date.
        MissingExtra: babel is not installed.
        UserError: The language is not known.
    """
    if spec not in NAMED:
        return format(value, spec)
    locale = locale_of(language or DEFAULT)
    return _number(value, locale) if spec == "number" else _date(value, spec, locale)


@functools.cache
def locale_of(language: str) -> Locale:
    """A language's ways of writing.

    Raises:
        MissingExtra: babel is not installed.
        UserError: The language is not known.
    """
    try:
        from babel import Locale, UnknownLocaleError
    except ImportError:
        raise MissingExtra("babel", "languages", "writing numbers and dates as a language does") from None
    try:
        return Locale.parse(language.replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        raise UserError(f"the language '{language}' is not known; write it as en, zh or pt_BR") from None


def _number(value: Any, locale: Locale) -> str:
    from babel.numbers import format_decimal

    found = value
    if isinstance(value, str):
        try:
            found = float(value) if "." in value else int(value)
        except ValueError:
            found = None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ValueError(f"{value!r} is no number")
    try:
        return str(format_decimal(found, format=None, locale=locale, decimal_quantization=False))
    except ArithmeticError:
        raise ValueError("it has more digits than can be written out") from None


def _date(value: Any, spec: str, locale: Locale) -> str:
    from babel.dates import format_date, format_skeleton

    found = ISO.fullmatch(str(value))
    if found is None:
        raise ValueError(f"{value!r} is no date; a date is written as 1969-07-20, 1969-07 or 1969")
    year, month, day = found.groups()
    first = datetime.date(int(year), int(month or 1), int(day or 1))
    if day:
        return str(format_date(first, DAYS[spec], locale=locale))
    return str(format_skeleton(MONTHS[spec] if month else "y", first, locale=locale))
