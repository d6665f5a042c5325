"""Which installed fonts have the characters of a figure, for names in Chinese and other scripts.

matplotlib's own font has no Chinese. It takes each character from the first family of a list that has it, and draws a
box where none has; so the list is made from what is written and from what is installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

OWN = "DejaVu Sans"
"""The font that comes with matplotlib."""
PREFERRED = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei"),
    *("Microsoft YaHei", "PingFang SC", "Hiragino Sans GB", "SimHei", "Arial Unicode MS"),
)
"""Families without serifs, asked first; any other that is installed is asked after them."""
OF_BOXES = "Last Resort"
"""Begins the name of a font that has a box for every character."""


def families(texts: Sequence[str]) -> tuple[list[str], set[str]]:
    """The families to draw texts with, in the order in which they are asked, and the characters that none has."""
    left = {char for text in texts for char in text if not char.isspace()}
    taken = []
    for family in (OWN, *_further()):
        if found := _held(family, left):
            taken.append(family)
            left -= found
        if not left:
            break
    return list(dict.fromkeys([OWN, *taken])), left


def _further() -> Iterator[str]:
    """The installed families but matplotlib's own; looked up only where a character is left."""
    from matplotlib.font_manager import get_font_names

    there = set(get_font_names()) - {OWN}
    yield from (family for family in PREFERRED if family in there)
    yield from sorted(family for family in there - set(PREFERRED) if not family.startswith(OF_BOXES))


def _held(family: str, chars: set[str]) -> set[str]:
    """Those of the characters that a family's plainest font has; none where the font cannot be read."""
    from matplotlib.font_manager import FontEntry, fontManager
    from matplotlib.ft2font import FT2Font

    def plain(entry: FontEntry) -> tuple[bool, bool, str]:
        return entry.style != "normal", entry.weight not in (400, "normal", "regular"), str(entry.fname)

    try:
        font = FT2Font(min((entry for entry in fontManager.ttflist if entry.name == family), key=plain).fname)
    except (OSError, RuntimeError, ValueError):
        return set()
    return {char for char in chars if font.get_char_index(ord(char))}
