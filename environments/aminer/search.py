"""How scholars and publications are found by their words.

A search first takes words as they are, then as beginnings ("M. Curie"), then with a typing error, and stops at the
first way that finds something: a careful request is not answered with lookalikes.
"""

from __future__ import annotations

import heapq
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rapidfuzz.distance import OSA

from r_eval.environments.json_lines import alike

from .source import MOST_HITS

_PLAIN = re.compile("[a-z0-9]+")
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
_SMALL = frozenset(
    ["a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "under", "via", "with"]
)
_MOST_WORDS = 24
"""Words of an argument that are looked for; a name or an organisation with more matches nothing."""
_MOST_CHARACTERS = 2000
_NEAR = 50
"""Words with a typing error that are tried for one word."""


def words(text: str) -> list[str]:
    """The words of a text, without case, accents and punctuation.

    >>> words("Łukasz O'Brien-Müller, Ph.D.")
    ['lukasz', 'o', 'brien', 'muller', 'ph', 'd']
    """
    if text.isascii():
        return _PLAIN.findall(text.lower())
    folded = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS))
    plain = "".join(
        character if character.isalnum() else " " for character in folded if not unicodedata.combining(character)
    )
    return plain.split()


def telling(found: Iterable[str]) -> list[str]:
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
        return self._of(known for known in self._words if known.startswith(word))

    def mistyped(self, word: str) -> set[int]:
        """Where this word stands or, if it stands nowhere, one that differs by one letter left out, added, changed, or
        by two neighbours swapped; failing that, one that begins like it."""
        if word in self._places or len(word) < 4:
            return self.whole(word) or self.beginning(word)
        near = (self._words[place] for place in alike(word, self._words, OSA.similarity, len(word) - 1, _NEAR))
        return self._of(known for known in near if OSA.distance(word, known) == 1) or self.beginning(word)

    def _key(self, found: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted(found) if self._sort else found)

    def _of(self, known: Iterable[str]) -> set[int]:
        return set().union(*(self._places[word] for word in known))


def all_matching(indexes: Mapping[str, WordIndex], given: Mapping[str, str]) -> list[int]:
    """The first places where every field matches its text, at most `MOST_HITS`.

    Of places that match in the same way, those come alone in which the most fields have exactly their text.

    Args:
        indexes: By field; a smaller place comes first.
        given: Texts by field, at least one.
    """
    asked = {field: words(text[:_MOST_CHARACTERS]) for field, text in given.items()}
    if any(len(given[field]) > _MOST_CHARACTERS or not 0 < len(asked[field]) <= _MOST_WORDS for field in given):
        return []
    for way in (WordIndex.whole, WordIndex.beginning, WordIndex.mistyped):
        parts = [way(indexes[field], word) for field, found in asked.items() for word in telling(found)]
        if places := set.intersection(*parts):
            exact = Counter(place for field, found in asked.items() for place in indexes[field].exact(found))
            most = max(exact[place] for place in places)
            return heapq.nsmallest(MOST_HITS, (place for place in places if exact[place] == most))
    return []


def best_matching(index: WordIndex, text: str) -> list[int]:
    """The places of the texts that are a text, or hold all of its words, or most of those that any text holds; at most
    `MOST_HITS`."""
    found = words(text[:_MOST_CHARACTERS])
    if not found:
        return []
    asked = telling(found)[:_MOST_WORDS]
    places = index.exact(found) or set.intersection(*map(index.whole, asked))
    if places:
        return heapq.nsmallest(MOST_HITS, places)
    known = [held for word in asked if (held := index.mistyped(word))]
    counts = Counter(place for held in known for place in held)
    enough = [place for place, count in counts.items() if 2 * count >= len(known)]
    return heapq.nsmallest(MOST_HITS, enough, key=lambda place: (-counts[place], place))
