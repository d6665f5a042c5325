"""Wikidata5M: questions about single facts, from triples, the names of their entities, and a phrase for each relation.

The files are larger than memory should be, so they are read several times and only numbers are kept for all entities:
first who has a name, then how often each occurs, then which pairs of subject and relation are asked about, and last the
objects and names of those. A pair with several objects has one gold that joins them by ";".
"""

from __future__ import annotations

import collections
import functools
import hashlib
import heapq
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from r_eval.records import Question
from r_eval.tasks.loaders.base import Format, Item, LeftOut, Settings
from r_eval.tasks.loaders.reading import Fault, lines
from r_eval.tasks.questions import place_in_order

HIGH_SHARE, LOW_SHARE = 0.1, 0.5
"""The tenth of the subjects that occur most often are of high frequency, the half that occur least of low."""
SPARE = 200
"""Pairs kept beyond those that are wanted, so that enough are left without those that are shown as demonstrations and
those with too many objects.
"""
MANY = 20
"""Objects that one gold may join; a pair with more is no question that anybody could answer in full."""


class WikidataSettings(Settings):
    """`aliases`: the file of the entities' names; it stands beside the triples in the published archive."""

    aliases: str
    frequency: Literal["high", "low"] | None = None


class Wikidata5M(Format):
    name = "wikidata5m"
    expects = "Wikidata5M: lines of subject, relation and object (Q.., P.., Q..) with tabs between"
    level = "KS"
    Settings = WikidataSettings

    def read(self, source: str, size: int | None, seed: int) -> Iterator[Item]:
        path, names = Path(source), Path(self.settings.aliases)
        digest = hashlib.blake2b(str(self.settings).encode(), digest_size=8)
        named = {
            number
            for _, fields in _rows(names, digest)
            if (number := _number(fields[0], "Q")) is not None and len(fields) > 1
        }
        counts = collections.Counter[int]()
        subjects: set[int] = set()
        self.seen = 0
        for place, fields in _rows(path, digest):
            triple = _triple(fields)
            self.seen += 1
            if triple is None:
                yield Fault(place, self.expects)
            else:
                counts.update((triple[0], triple[2]))
                subjects.add(triple[0])
        self.version = digest.hexdigest()
        least, most = _bounds([counts[subject] for subject in subjects], self.settings.frequency)
        passed = collections.Counter[str]()
        pairs: set[tuple[int, str]] = set()
        for s, p, o in _triples(path):
            if p not in phrases():
                passed["no phrase for the relation"] += 1
            elif not least <= counts[s] <= most:
                passed["not of the wanted frequency"] += 1
            elif s not in named or o not in named:
                passed["an entity has no name"] += 1
            else:
                pairs.add((s, p))
        yield from (LeftOut(why, number) for why, number in passed.items())
        if size is not None:
            pairs = set(
                heapq.nsmallest(size + SPARE, pairs, key=lambda pair: place_in_order(f"Q{pair[0]}-{pair[1]}", seed))
            )
        yield from self._questions(path, names, pairs, named)

    def _questions(self, path: Path, names: Path, pairs: set[tuple[int, str]], named: set[int]) -> Iterator[Item]:
        objects: dict[tuple[int, str], dict[int, None]] = {pair: {} for pair in pairs}
        for s, p, o in _triples(path):
            if (s, p) in objects and o in named and len(objects[s, p]) <= MANY:
                objects[s, p][o] = None
        kept = {pair: list(found) for pair, found in objects.items() if len(found) <= MANY}
        if len(kept) < len(objects):
            yield LeftOut(f"more than {MANY} answers", len(objects) - len(kept))
        name_of = _names(names, {s for s, _ in pairs} | {o for found in kept.values() for o in found})
        for (s, p), found in sorted(kept.items()):
            values = list(dict.fromkeys(name_of[o][0] for o in found))
            answers = name_of[found[0]] if len(found) == 1 else [";".join(values)]
            yield Question(
                id=f"Q{s}-{p}",
                question=phrases()[p].replace("{}", name_of[s][0]),
                answers=answers,
                level=self.level_of_all or self.level,
                evidence=values if len(values) > 1 else [],
                entities=values,
                meta={"subject": f"Q{s}", "relation": p, "objects": [f"Q{o}" for o in found]},
            )

    @classmethod
    def fits(cls, path: Path, first: Sequence[Any]) -> int:
        if first or not path.is_file():
            return 0
        text = next((text for _, text in lines(path)), "")
        return 3 if isinstance(text, str) and _triple(text.rstrip("\n").split("\t")) else 0


def _bounds(counts: Sequence[int], frequency: str | None) -> tuple[float, float]:
    """How often the subjects of a frequency occur, at least and at most."""
    if frequency is None or not counts:
        return 0, float("inf")
    values = sorted(counts, reverse=frequency == "high")
    wanted = max(1, int((HIGH_SHARE if frequency == "high" else LOW_SHARE) * len(values)))
    last = values[wanted - 1]
    inside = [value for value in values[:wanted] if wanted == len(values) or value != values[wanted]]
    bound = inside[-1] if inside else last  # as many as share a count are in or out together
    return (bound, float("inf")) if frequency == "high" else (0, bound)


def _names(path: Path, wanted: set[int]) -> dict[int, list[str]]:
    """The names of some entities, the usual one first."""
    found: dict[int, list[str]] = {}
    for _, fields in _rows(path):
        number = _number(fields[0], "Q")
        if number in wanted and len(fields) > 1:
            found.setdefault(number, list(dict.fromkeys(fields[1:])))
    return found


def _rows(path: Path, digest: hashlib.blake2b | None = None) -> Iterator[tuple[str, list[str]]]:
    """The lines of a file as their fields, without those that are not text; these have one empty field."""
    for place, text in lines(path):
        if isinstance(text, Fault):
            yield place, [""]
            continue
        if digest is not None:
            digest.update(text.encode())
        yield place, [part for field in text.split("\t") if (part := field.strip())] or [""]


def _triples(path: Path) -> Iterator[tuple[int, str, int]]:
    return (triple for _, fields in _rows(path) if (triple := _triple(fields)) is not None)


def _triple(fields: Sequence[str]) -> tuple[int, str, int] | None:
    if len(fields) != 3:
        return None
    s, p, o = _number(fields[0], "Q"), _number(fields[1], "P"), _number(fields[2], "Q")
    return None if s is None or p is None or o is None else (s, f"P{p}", o)


def _number(id: str, kind: str) -> int | None:
    digits = id.strip()[1:]
    if id.strip()[:1] != kind or not (digits.isascii() and digits.isdigit()) or len(digits) > 10:
        return None
    return int(digits)


@functools.cache
def phrases() -> dict[str, str]:
    """A question for each of the relations that are asked about, with {} for the subject."""
    text = files("r_eval.tasks.loaders").joinpath("wikidata_phrases.tsv").read_text(encoding="utf-8")
    rows = (line.partition("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {relation: phrase for relation, _, phrase in rows}
