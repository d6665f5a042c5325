"""What a short answer claims: without what it denies, and with each of the alternatives that it leaves open.

"London, not Paris" claims London. "Paris or London" claims neither, so it is worth what the worse of the two is worth.
English, Chinese and Russian are read; longer texts, which may deny and weigh a thing on the way, are left whole.
"""

from __future__ import annotations

import re

LONGEST = 300
"""Characters of an answer that is read."""

CUE = re.compile(
    r"\b(?:not|never|or|rather|instead|no longer|не|или|либо)\b|n['’]t\b|不是|并非|而非|还是|或者|或"
    r"|(?-i:(?<=[a-z])/(?=[A-Z]))",
    re.IGNORECASE,
)
CUES = frozenset({"not", "never", "or", "rather", "instead", "longer"})
"""What an answer must hold to be worth reading, and the same of a text of ASCII letters and digits."""
_DENIED = re.compile(
    r"(?:\b(?:not(?! only\b)|never|no longer|rather than|instead of|не)\b|\b\w{2,6}n['’]t\b|而?不是|并非|而非)"
    r"[^,.;!?，。；！？]*?(?=[,;!?，。；！？]|\.(?:\s|$)|\bbut\b|\bа\b|而是|$)",
    re.IGNORECASE,
)
_OR = re.compile(r"\s(?:or|или|либо)\s|还是|或者|或|(?-i:(?<=[a-z])/(?=[A-Z]))", re.IGNORECASE)
_EITHER = re.compile(r"^\W*(?:(?:either|maybe|perhaps|или|либо)\b|要么)\s*", re.IGNORECASE)


def claims(answer: str) -> tuple[str, ...]:
    """The texts that an answer claims, one where it leaves nothing open; the answer itself where it has no `CUE`.

    >>> claims("London, not Paris"), claims("either Paris or London"), claims("not Paris")
    (('London, ',), ('Paris', 'London'), ('',))
    """
    if len(answer) > LONGEST or CUE.search(answer) is None:
        return (answer,)
    kept = _DENIED.sub("", answer)
    parts = [part for part in _OR.split(_EITHER.sub("", kept)) if any(map(str.isalnum, part))]
    return tuple(parts) or ("",)
