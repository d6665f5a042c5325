"""Text to tokens, the way the repaired metrics and the response types compare texts.

Decisions, each with its reason:

- NFKC, case folding, NFKC again (Unicode's caseless matching): full-width, ligature and composed forms are
  equal. Accents stay: "Ñ" is not "N". But "ё" is "е": in Russian the dots are left out as often as not.
- Every character of a punctuation, symbol or separator category ends a token, in any script; format
  characters (soft hyphen, joiners) vanish. The published code deletes ASCII punctuation only, which fuses
  "A;B" and leaves "。".
- Kept inside a token: a decimal point between digits and a minus sign before a number ("1.5" is not "15",
  "-5" is not "5"), and "+" or "#" that end a word ("C++" is not "C"). A fraction of zeros is dropped ("5.0" is "5").
  Decimal digits of every script are read as 0-9.
- Numbers have one notation (`one_notation`): no separators between thousands ("1,234" is "1234"), a decimal point
  ("3,5" is "3.5"). "1.234" may be either, and is left as it is.
- Deleted without a break, as the published code does: an apostrophe between letters ("O'Brien" is "OBrien")
  and the full stops of initials ("U.S." is "US").
- a, an, the are dropped unless nothing would be left ("a" is "a", not "").
- Han, kana and CJK compatibility characters are a token each, since those scripts put no space between words.
- A text of nothing but punctuation keeps it: "+" is not "-", and neither is "".
"""

from __future__ import annotations

import re
import unicodedata

from r_eval.languages import HAN, KANA, one_letter

ARTICLES = frozenset({"a", "an", "the"})
TokenRow = tuple[str, ...]

_APOSTROPHES = "'\u2018\u2019\u02bc\u02bb\uff07"
_MINUS = "-\u2212\u2013"
_WORD = r"[^\s.,+#'\-]"
_LETTER = r"[^\W\d_]"
_SPACED = re.compile(r"(?<=\d)[\u00a0\u2009\u202f'\u2019](?=\d{3}(?!\d))")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_POINTS = re.compile(r"(?<![\d.,])\d{1,3}(?:(?:\.\d{3}){2,9}(?:,\d+)?|(?:\.\d{3}),\d{1,2})(?![\d.,]*\d)")
_COMMA = re.compile(r"(?<![\d.,])(\d+),(\d{1,2})(?![\d,]|\.\d)")
_INITIALS = re.compile(rf"(?<!{_WORD}){_LETTER}(?:\.{_LETTER})+(?!{_WORD})\.?")
_CJK = re.compile(f"[{HAN}{KANA}]")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_BARE_POINT = re.compile(r"^(-?)\.")
_ZEROS = re.compile(r"(?<=\d)\.0+$")
_TOKEN = re.compile(
    rf"(?:(?<!\S)(?<!\d )-(?=\.?\d))?"  # a minus sign, not the dash of a range
    rf"(?:(?<!{_WORD})\.(?=\d))?"  # .5
    rf"(?:{_WORD}|(?<=\d)\.(?=\d)|(?<={_LETTER})'(?={_LETTER}))+"
    rf"(?:[+#]+(?!{_WORD}))?"  # C++, C#
)


def tokens(text: str, camel: bool = False, thousands: bool = True) -> TokenRow:
    """The tokens of a text.

    Args:
        camel: Break words where a capital follows a small letter ("SportsTeam" is "sports team"). Never the
            only reading of a text, so that "McDonald" stays equal to "mcdonald".
        thousands: Read "100,200" as one number, not as two, and "3,5" likewise.
    """
    return without_articles(words(text, camel, thousands))


def words(text: str, camel: bool = False, thousands: bool = True) -> list[str]:
    """The tokens of a text, articles included."""
    raw = unicodedata.normalize("NFKC", text)
    if camel:
        text = _CAMEL.sub(" ", text)
    if text.isascii() and text.replace(" ", "").isalnum():  # the common case
        return text.lower().split()
    if thousands:
        text = one_notation(text)
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).translate(_SEPARATE)
    if thousands:
        text = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)
    text = _INITIALS.sub(lambda match: match[0].replace(".", "") + " ", text)
    found = [_polish(word) for word in _TOKEN.findall(text)]
    return found or [char for char in raw if unicodedata.category(char)[0] not in "ZC"]


def without_articles(found: list[str]) -> TokenRow:
    """The tokens but a, an, the; all of them where nothing else is there."""
    return tuple([word for word in found if word not in ARTICLES] or found)


def readings(text: str) -> tuple[TokenRow, ...]:
    """The ways to read a text as tokens, camel case apart the second; none of a text that has none."""
    cuts = (tokens(text), tokens(text, camel=True)) if _CAMEL.search(text) else (tokens(text),)
    return tuple(filter(None, dict.fromkeys(cuts)))


def one_notation(text: str) -> str:
    """The text with its numbers in one notation.

    >>> one_notation("12,000 or 1.234.567,5 or 3,5 or 1'000, but 1.234 and 1,2,3")
    '12000 or 1234567.5 or 3.5 or 1000, but 1.234 and 1,2,3'
    """
    text = _SPACED.sub("", text).replace("\u066b", ".").replace("\u066c", "")
    text = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)
    text = _POINTS.sub(lambda match: match[0].replace(".", "").replace(",", "."), text)
    return _COMMA.sub(r"\1.\2", text)


def _polish(word: str) -> str:
    word = word.replace("'", "")
    if word.count(".") == 1:
        word = _ZEROS.sub("", word)
    return _BARE_POINT.sub(r"\g<1>0.", word)


class _Separate(dict[int, str]):
    """Translation table filled as characters are met: what each becomes before the tokens are cut."""

    def __missing__(self, code: int) -> str:
        self[code] = result = self._become(chr(code))
        return result

    @staticmethod
    def _become(char: str) -> str:
        category = unicodedata.category(char)
        if char in ".,+#":
            return char
        if char in _APOSTROPHES:
            return "'"
        if char in _MINUS:
            return "-"
        if category == "Nd":
            return str(unicodedata.decimal(char))
        if category in ("Cf", "Cs"):
            return ""
        if category[0] in "PSZC":
            return " "
        return f" {char} " if _CJK.match(char) else one_letter(char)


_SEPARATE = _Separate()
