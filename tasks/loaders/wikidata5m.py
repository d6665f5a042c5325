"""Wikidata5M: questions about single facts, from triples, entity names and a phrase per relation.

The files are too large for memory, so they are read several times and only numbers are stored for all entities: first
the named entities, then their frequencies, then the pairs of subject and relation, and last their objects and names. A
pair with several objects has one gold that joins them by ";".
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
from r_eval.tasks.loaders.base import Data, Settings, form
from r_eval.tasks.loaders.reading import lines
from r_eval.tasks.questions import place_in_order

HIGH_SHARE, LOW_SHARE = 0.1, 0.5
"""The most frequent tenth of the subjects has high frequency, the least frequent half low."""
SPARE = 200
"""Extra pairs to make up for demonstrations and pairs with too many objects."""
MANY = 20
"""Maximum objects of a pair; more could not be answered in full."""
EXPECTS = "Wikidata5M: lines of subject, relation and object (Q.., P.., Q..) with tabs between"

Pair = tuple[int, str]


class WikidataSettings(Settings):
    """`aliases`: the file of entity names, next to the triples in the published archive."""

    aliases: str
    frequency: Literal["high", "low"] | None = None


def _is_triples(path: Path, sample: Sequence[Any]) -> bool:
    if sample or not path.is_file():
        return False
    text = next((text for _, text in lines(path)), "")
    return _triple(text.split("\t")) is not None


@form("wikidata5m", EXPECTS, settings=WikidataSettings, is_like=_is_triples)
def wikidata5m(source: str, settings: WikidataSettings, data: Data) -> Iterator[Question]:
    """The questions of the first pairs in a seeded order, or of all pairs without a sample size."""
    path, names = Path(source), Path(settings.aliases)
    digest = hashlib.blake2b(str(settings).encode(), digest_size=8)
    named_ids = {_number(fields[0], "Q") for _, fields in _rows(names, digest) if len(fields) > 1}
    counts = collections.Counter[int]()
    subjects: set[int] = set()
    for place, fields in _rows(path, digest):
        data.records += 1
        if (triple := _triple(fields)) is None:
            data.add_fault(place, EXPECTS)
        else:
            counts.update((triple[0], triple[2]))
            subjects.add(triple[0])
    data.version = digest.hexdigest()
    least, most = _bounds([counts[subject] for subject in subjects], settings.frequency)
    pairs: set[Pair] = set()
    for s, p, o in _triples(path):
        if p not in phrases():
            data.skipped["no phrase for the relation"] += 1
        elif not least <= counts[s] <= most:
            data.skipped["not of the wanted frequency"] += 1
        elif s not in named_ids or o not in named_ids:
            data.skipped["an entity has no name"] += 1
        else:
            pairs.add((s, p))
    if data.samples is not None:
        n_pairs = data.samples + SPARE
        pairs = set(heapq.nsmallest(n_pairs, pairs, key=lambda p: place_in_order(f"Q{p[0]}-{p[1]}", data.seed)))
    yield from _questions(path, names, pairs, named_ids, data)


def _questions(path: Path, names: Path, pairs: set[Pair], named_ids: set[int | None], data: Data) -> Iterator[Question]:
    objects: dict[Pair, dict[int, None]] = {pair: {} for pair in pairs}
    for s, p, o in _triples(path):
        if (s, p) in objects and o in named_ids and len(objects[s, p]) <= MANY:
            objects[s, p][o] = None
    few = {pair: list(members) for pair, members in objects.items() if len(members) <= MANY}
    if len(few) < len(objects):
        data.skipped[f"more than {MANY} answers"] += len(objects) - len(few)
    wanted_ids = {s for s, _ in pairs} | {o for members in few.values() for o in members}
    name_of: dict[int | None, list[str]] = {}
    for _, fields in _rows(names):
        if (number := _number(fields[0], "Q")) in wanted_ids and len(fields) > 1:
            name_of.setdefault(number, list(dict.fromkeys(fields[1:])))
    for (s, p), members in sorted(few.items()):
        values = list(dict.fromkeys(name_of[o][0] for o in members))
        yield Question(
            id=f"Q{s}-{p}",
            question=phrases()[p].replace("{}", name_of[s][0]),
            answers=name_of[members[0]] if len(members) == 1 else [";".join(values)],
            level="KS",
            evidence=values if len(values) > 1 else [],
            entities=values,
            meta={"subject": f"Q{s}", "relation": p, "objects": [f"Q{o}" for o in members]},
        )


def _bounds(counts: Sequence[int], frequency: str | None) -> tuple[float, float]:
    """Minimum and maximum count of the subjects of a frequency; subjects with equal counts stay together."""
    if frequency is None or not counts:
        return 0, float("inf")
    values = sorted(counts, reverse=frequency == "high")
    n_selected = max(1, int((HIGH_SHARE if frequency == "high" else LOW_SHARE) * len(values)))
    inside = [value for value in values[:n_selected] if n_selected == len(values) or value != values[n_selected]]
    bound = inside[-1] if inside else values[n_selected - 1]
    return (bound, float("inf")) if frequency == "high" else (0, bound)


def _rows(path: Path, digest: hashlib.blake2b | None = None) -> Iterator[tuple[str, list[str]]]:
    """The fields of each line of a file."""
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
    """A question per relation, with {} for the subject."""
    text = files("r_eval.tasks.loaders").joinpath("wikidata_phrases.tsv").read_text(encoding="utf-8")
    rows = (line.partition("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {relation: phrase for relation, _, phrase in rows}
