"""Where an observation holds a text: the places that the page marks.

`response_types.Observed` says whether it does. Here words are compared without case and articles; where the two read a
text otherwise (JSON with escapes, "1,234" for 1234) no place is found, and the page marks the whole text.
"""

from __future__ import annotations

import re

from r_eval.analysis.metrics.normalise import ARTICLES

Span = tuple[int, int]
"""Start and end, in characters."""
_CJK = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+[+#]*")


class TextPlaces:
    """The places of one text, to be asked for many others."""

    def __init__(self, text: str) -> None:
        self._words, self._spans = _cut(text)

    def of(self, wanted: str) -> list[Span]:
        """Where the text has the wanted words in a row, in order, without overlaps; empty where no place is known."""
        row, _ = _cut(wanted)
        found: list[Span] = []
        at = -1
        while row:
            try:
                at = self._words.index(row[0], at + 1)
            except ValueError:
                break
            if self._words[at : at + len(row)] == row:
                found.append((self._spans[at][0], self._spans[at + len(row) - 1][1]))
                at += len(row) - 1
        return found


def _cut(text: str) -> tuple[list[str], list[Span]]:
    """The words of a text without articles, unless it has no others, and where each stands."""
    every = [(match[0].casefold(), match.span()) for match in _WORD.finditer(text)]
    content = [pair for pair in every if pair[0] not in ARTICLES] or every
    return [word for word, _ in content], [span for _, span in content]
