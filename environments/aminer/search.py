"""How scholars and publications are found by their words.

A search first takes words as they are, then as beginnings ("M. Curie"), then with a typing error, and stops at the
first way that finds something: a careful request is not answered with lookalikes.
"""

from __future__ import annotations

import heapq
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rapidfuzz.distance import OSA

from r_eval.environments.json_lines import most_similar

from .shapes import MOST_HITS

_LETTERS = str.maketrans({"ø": "o", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
_SMALL = frozenset(
    ["a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "under", "via", "with"]
)
_MOST_WORDS = 24
"""Words of an argument that are looked for; a name or an organisation with more matches nothing."""
_NEAR = 50
"""Words with a typing error that are tried for one word."""


def words(text: str) -> list[str]:
    """The words of a text, without case, accents and punctuation.

    >>> words("Łukasz O'Brien-Müller, Ph.D.")
    ['lukasz', 'o', 'brien', 'muller', 'ph', 'd']
    """
    folded = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS))
    plain = (char if char.isalnum() else " " for char in folded if not unicodedata.combining(char))
    return "".join(plain).split()


def content_words(found: Iterable[str]) -> list[str]:
    """The different words without the small ones ("of", "the"), or all of them if there are only small ones."""
    unique = list(dict.fromkeys(found))
    return [word for word in unique if word not in _SMALL] or unique


class WordIndex:
    """The places of texts by their words.

    Args:
        texts: For every place, the texts of which each can be asked for.
        sort: Whether a text is exactly another with its words in another order, as names are.
    """

    def __init__(self, texts: Iterable[Sequence[str]], sort: bool = False) -> None:
        self._sort = sort
        self._places: defaultdict[str, set[int]] = defaultdict(set)
        self._whole: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
        for place, each in enumerate(texts):
            for found in map(words, each):
                self._whole[self._key(found)].add(place)
                for word in found:
                    self._places[word].add(place)
        self._words = list(self._places)

    def exact(self, found: Sequence[str]) -> set[int]:
        """Where one of the texts has exactly these words."""
        return self._whole.get(self._key(found), set())

    def whole(self, word: str) -> set[int]:
        """Where this word stands."""
        return self._places.get(word, set())

    def beginning(self, word: str) -> set[int]:
        """Where a word stands that begins like this."""
        return self._union(known for known in self._words if known.startswith(word))

    def mistyped(self, word: str) -> set[int]:
        """Where this word stands or, if it stands nowhere, one that differs by one letter left out, added, changed, or
        by two neighbours swapped; failing that, one that begins like it."""
        if word in self._places or len(word) < 4:
            return self.whole(word) or self.beginning(word)
        near = most_similar(word, self._words, OSA.similarity, len(word) - 1, _NEAR)
        known = (self._words[place] for _, place in near)
        return self._union(one for one in known if OSA.distance(word, one) == 1) or self.beginning(word)

    def _key(self, found: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted(found) if self._sort else found)

    def _union(self, known: Iterable[str]) -> set[int]:
        return set().union(*(self._places[word] for word in known))


def all_matching(indexes: Mapping[str, WordIndex], texts: Mapping[str, str]) -> list[int]:
    """The first places where every field matches its text, at most `MOST_HITS`.

    Of places that match in the same way, those come alone in which the most fields have exactly their text.

    Args:
        indexes: By field; a smaller place comes first.
        texts: By field, at least one.
    """
    wanted = {field: words(text) for field, text in texts.items()}
    if not all(0 < len(found) <= _MOST_WORDS for found in wanted.values()):
        return []
    for way in (WordIndex.whole, WordIndex.beginning, WordIndex.mistyped):
        parts = [way(indexes[field], word) for field, found in wanted.items() for word in content_words(found)]
        if places := set.intersection(*parts):
            exact = Counter(place for field, found in wanted.items() for place in indexes[field].exact(found))
            most = max(exact[place] for place in places)
            return heapq.nsmallest(MOST_HITS, (place for place in places if exact[place] == most))
    return []


def best_matching(index: WordIndex, text: str) -> list[int]:
    """The places of the texts that are a text, or hold all of its words, or most of those that any text holds; at most
    `MOST_HITS`."""
    found = words(text)
    if not found:
        return []
    wanted = content_words(found)[:_MOST_WORDS]
    places = index.exact(found) or set.intersection(*map(index.whole, wanted))
    if places:
        return heapq.nsmallest(MOST_HITS, places)
    found_by_word = [places for word in wanted if (places := index.mistyped(word))]
    counts = Counter(place for places in found_by_word for place in places)
    enough = [place for place, count in counts.items() if 2 * count >= len(found_by_word)]
    return heapq.nsmallest(MOST_HITS, enough, key=lambda place: (-counts[place], place))
