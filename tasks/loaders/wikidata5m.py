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
from r_eval.tasks.loaders.base import Item, LeftOut, Read, Settings, form
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
EXPECTS = "Wikidata5M: lines of subject, relation and object (Q.., P.., Q..) with tabs between"

Pair = tuple[int, str]


class WikidataSettings(Settings):
    """`aliases`: the file of the entities' names; it stands beside the triples in the published archive."""

    aliases: str
    frequency: Literal["high", "low"] | None = None


def _is_triples(path: Path, first: Sequence[Any]) -> bool:
    if first or not path.is_file():
        return False
    text = next((text for _, text in lines(path)), "")
    return _triple(text.split("\t")) is not None


@form("wikidata5m", EXPECTS, settings=WikidataSettings, is_like=_is_triples)
def wikidata5m(source: str, settings: WikidataSettings, size: int | None, seed: int) -> Iterator[Item]:
    """The questions of the pairs that come first in the seed's order; all of them where no size is wanted."""
    path, names = Path(source), Path(settings.aliases)
    digest = hashlib.blake2b(str(settings).encode(), digest_size=8)
    named = {_number(fields[0], "Q") for _, fields in _rows(names, digest) if len(fields) > 1}
    counts = collections.Counter[int]()
    subjects: set[int] = set()
    seen = 0
    for seen, (place, fields) in enumerate(_rows(path, digest), 1):
        triple = _triple(fields)
        if triple is None:
            yield Read(seen)
            yield Fault(place, EXPECTS)
        else:
            counts.update((triple[0], triple[2]))
            subjects.add(triple[0])
    yield Read(seen, digest.hexdigest())
    least, most = _bounds([counts[subject] for subject in subjects], settings.frequency)
    passed = collections.Counter[str]()
    pairs: set[Pair] = set()
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
        pairs = set(heapq.nsmallest(size + SPARE, pairs, key=lambda one: place_in_order(f"Q{one[0]}-{one[1]}", seed)))
    yield from _questions(path, names, pairs, named)


def _questions(path: Path, names: Path, pairs: set[Pair], named: set[int | None]) -> Iterator[Item]:
    objects: dict[Pair, dict[int, None]] = {pair: {} for pair in pairs}
    for s, p, o in _triples(path):
        if (s, p) in objects and o in named and len(objects[s, p]) <= MANY:
            objects[s, p][o] = None
    few = {pair: list(found) for pair, found in objects.items() if len(found) <= MANY}
    if len(few) < len(objects):
        yield LeftOut(f"more than {MANY} answers", len(objects) - len(few))
    wanted = {s for s, _ in pairs} | {o for found in few.values() for o in found}
    name_of: dict[int | None, list[str]] = {}
    for _, fields in _rows(names):
        if (number := _number(fields[0], "Q")) in wanted and len(fields) > 1:
            name_of.setdefault(number, list(dict.fromkeys(fields[1:])))
    for (s, p), found in sorted(few.items()):
        values = list(dict.fromkeys(name_of[o][0] for o in found))
        yield Question(
            id=f"Q{s}-{p}",
            question=phrases()[p].replace("{}", name_of[s][0]),
            answers=name_of[found[0]] if len(found) == 1 else [";".join(values)],
            level="KS",
            evidence=values if len(values) > 1 else [],
            entities=values,
            meta={"subject": f"Q{s}", "relation": p, "objects": [f"Q{o}" for o in found]},
        )


def _bounds(counts: Sequence[int], frequency: str | None) -> tuple[float, float]:
    """How often the subjects of a frequency occur, at least and at most: as many as share a count go together."""
    if frequency is None or not counts:
        return 0, float("inf")
    values = sorted(counts, reverse=frequency == "high")
    wanted = max(1, int((HIGH_SHARE if frequency == "high" else LOW_SHARE) * len(values)))
    inside = [value for value in values[:wanted] if wanted == len(values) or value != values[wanted]]
    bound = inside[-1] if inside else values[wanted - 1]
    return (bound, float("inf")) if frequency == "high" else (0, bound)


def _rows(path: Path, digest: hashlib.blake2b | None = None) -> Iterator[tuple[str, list[str]]]:
    """The lines of a file as their fields."""
    for place, text in lines(path):
        if digest is not None:
            digest.update(text.encode(errors="surrogateescape"))
        yield place, [part for field in text.split("\t") if (part := field.strip())]


def _triples(path: Path) -> Iterator[tuple[int, str, int]]:
    return (triple for _, fields in _rows(path) if (triple := _triple(fields)) is not None)


def _triple(fields: Sequence[str]) -> tuple[int, str, int] | None:
    if len(fields) != 3:
        return None
    s, p, o = _number(fields[0], "Q"), _number(fields[1], "P"), _number(fields[2], "Q")
    return None if s is None or p is None or o is None else (s, f"P{p}", o)


def _number(id: str, kind: str) -> int | None:
    digits = id.strip()[1:]
    valid = id.strip()[:1] == kind and digits.isascii() and digits.isdigit() and len(digits) <= 10
    return int(digits) if valid else None


@functools.cache
def phrases() -> dict[str, str]:
    """A question for each of the relations that are asked about, with {} for the subject."""
    text = files("r_eval.tasks.loaders").joinpath("wikidata_phrases.tsv").read_text(encoding="utf-8")
    rows = (line.partition("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {relation: phrase for relation, _, phrase in rows}
