"""Reading yes, no, true or false out of an answer.

A closed question has two answers, and a token overlap with one of them is not evidence of it: "true or
false" is half of "false", and "there is no such page" holds a "no". So a verdict is read only where it
stands as one:

- yes and no: as the first word, followed by a stop or by a sentence ("No, they were not", "yes it is"), or
  as the last word ("the answer is no"). "No information was found" is no verdict.
- true and false: anywhere; "not true" is false. They are a pair of their own: "yes" does not answer "true
  or false?".
- Where both words of a pair stand in the answer, only a leading one that the end does not contradict counts.

The published code gives "yes, they were" 0 against "yes" and "true or false" 0.5 against "false".
"""

from __future__ import annotations

import re

PAIRS = ({"yes", "no"}, {"true", "false"})
WORDS = frozenset().union(*PAIRS)

_SUBJECTS = "i|we|you|he|she|it|they|this|that|these|those|the|there|both|neither|only|because|since|as|not"
_LEAD = re.compile(
    rf"[\W_]*(yes|no|true|false)(?=\s*(?:$|[^\w\s'’\-])|\s+[-–—]|\s*[–—]|\s+(?:{_SUBJECTS})\b)", re.IGNORECASE
)
_LAST = re.compile(r"(?:^|[\W_])(yes|no|true|false)[\W_]*$", re.IGNORECASE)
_FOUND = re.compile(
    r"(?:\b(not|never|isn['’]?t|wasn['’]?t|aren['’]?t)\s+)?\b(yes|no|true|false|untrue)\b", re.IGNORECASE
)
_NEGATED = {"true": "false", "false": "true"}


def verdict(text: str, pair: set[str]) -> str | None:
    """The word of the pair that an answer decides for; None where it does not decide."""
    found = {_word(match) for match in _FOUND.finditer(text)} & pair
    lead, last = (_of(match, pair) for match in (_LEAD.match(text), _LAST.search(text)))
    if len(found) == 2:
        return lead if lead and last in (None, lead) else None
    if lead or "true" in pair:
        return found.pop() if found else None
    return last


def pair_of(word: str) -> set[str] | None:
    """The pair that a normalised answer belongs to if it is nothing but a verdict."""
    return next((pair for pair in PAIRS if word in pair), None)


def _of(match: re.Match[str] | None, pair: set[str]) -> str | None:
    word = match[1].lower() if match else None
    return word if word in pair else None


def _word(match: re.Match[str]) -> str:
    word = "false" if match[2].lower() == "untrue" else match[2].lower()
    return _NEGATED.get(word, word) if match[1] else word
