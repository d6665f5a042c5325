"""How scholars and publications are found by their words, be they mistyped, in another order, or only some of them.

What is found is what fits best: a careful request is not answered with lookalikes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rapidfuzz import fuzz

from r_eval.environments.json_lines import most_similar, plain

from .shapes import MOST_HITS

LEAST_SIMILAR = 75.0
"""What a text must score of 100 to be found; one that holds all the words asked for scores 100."""


def words(text: str) -> list[str]:
    """The words of a text, without case, accents and punctuation.

    >>> words("Łukasz O'Brien-Müller, Ph.D.")
    ['lukasz', 'o', 'brien', 'muller', 'ph', 'd']
    """
    return "".join(char if char.isalnum() else " " for char in plain(text)).split()


class TextIndex:
    """The places of texts by their words.

    Args:
        texts: For every place, the texts of which each can be asked for; a smaller place comes first.
    """

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, each in enumerate(texts):
            for text in each:
                self._places[_key(text)].append(place)
        self._keys = list(self._places)

    def scores(self, text: str) -> dict[int, tuple[float, float]]:
        """By place: how well one of its texts holds the words asked for, and how much it is like the whole of them."""
        key = _key(text)
        found: dict[int, tuple[float, float]] = {}
        for score, number in most_similar(key, self._keys, fuzz.token_set_ratio, LEAST_SIMILAR, len(self._keys)):
            rank = score, fuzz.ratio(key, self._keys[number])
            for place in self._places[self._keys[number]]:
                found[place] = max(found.get(place, rank), rank)
        return found


def _key(text: str) -> str:
    return " ".join(sorted(words(text)))


def all_matching(indexes: Mapping[str, TextIndex], texts: Mapping[str, str]) -> list[int]:
    """The first places where every field fits its text best, at most `MOST_HITS`; exact texts come alone.

    Args:
        indexes: By field.
        texts: By field, at least one.
    """
    found = [indexes[field].scores(text) for field, text in texts.items()]
    ranks = {
        place: (sum(each[place][0] for each in found), sum(each[place][1] == 100 for each in found))
        for place in set(found[0]).intersection(*found)
    }
    best = max(ranks.values(), default=(0, 0))
    return sorted(place for place, rank in ranks.items() if rank == best)[:MOST_HITS]


def best_matching(index: TextIndex, text: str) -> list[int]:
    """The places of the texts that hold the words asked for best, those most like the whole of them first; at most
    `MOST_HITS`."""
    found = index.scores(text)
    best = max((score for score, _ in found.values()), default=0)
    ranked = sorted((-likeness, place) for place, (score, likeness) in found.items() if score == best)
    return [place for _, place in ranked[:MOST_HITS]]
