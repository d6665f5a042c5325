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
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from r_eval.records import Question
from r_eval.tasks.files import Part
from r_eval.tasks.loaders.base import Data, form
from r_eval.tasks.loaders.reading import lines
from r_eval.tasks.questions import place_in_order

HIGH_SHARE, LOW_SHARE = 0.1, 0.5
"""The most frequent tenth of the subjects has high frequency, the least frequent half low."""
SPARE = 200
"""Extra pairs to make up for demonstrations and pairs with too many objects."""
MANY = 20
"""Maximum objects of a pair; more could not be answered in full."""
EXPECTS = "Wikidata5M: lines of subject, relation and object (Q.., P.., Q..) with tabs between"
TRIPLE = re.compile(r"\s*Q(\d{1,10})\s*\t\s*P(\d{1,10})\s*\t\s*Q(\d{1,10})\s*", re.ASCII)
NAMED = re.compile(r"\s*Q([0-9]{1,10})\s*\t\s*(\S.*)", re.DOTALL)

Pair = tuple[int, str]


class WikidataSettings(Part):
    """`aliases`: the file of entity names, next to the triples in the published archive."""

    aliases: str
    frequency: Literal["high", "low"] | None = None


def _is_triples(path: Path, sample: Sequence[Any]) -> bool:
    if sample or not path.is_file():
        return False
    return _triple(next((text for _, text in lines(path)), "")) is not None


@form("wikidata5m", EXPECTS, settings=WikidataSettings, is_like=_is_triples)
def wikidata5m(source: str, settings: WikidataSettings, data: Data) -> Iterator[Question]:
    """The questions of the first pairs in a seeded order, or of all pairs without a sample size."""
    path, names = Path(source), Path(settings.aliases)
    digest = hashlib.blake2b(str(settings).encode(), digest_size=8)
    named_ids = {entity[0] for _, text in _hashed(names, digest) if (entity := _named(text)) is not None}
    counts = collections.Counter[int]()
    subjects: set[int] = set()
    for place, text in _hashed(path, digest):
        data.records += 1
        if (triple := _triple(text)) is None:
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


def _questions(path: Path, names: Path, pairs: set[Pair], named_ids: set[int], data: Data) -> Iterator[Question]:
    objects: dict[Pair, dict[int, None]] = {pair: {} for pair in pairs}
    for s, p, o in _triples(path):
        if (s, p) in objects and o in named_ids and len(objects[s, p]) <= MANY:
            objects[s, p][o] = None
    few = {pair: list(members) for pair, members in objects.items() if len(members) <= MANY}
    if len(few) < len(objects):
        data.skipped[f"more than {MANY} answers"] += len(objects) - len(few)
    wanted_ids = {s for s, _ in pairs} | {o for members in few.values() for o in members}
    name_of: dict[int, list[str]] = {}
    for _, text in lines(names):
        if (entity := _named(text)) is not None and entity[0] in wanted_ids:
            name_of.setdefault(entity[0], list(dict.fromkeys(entity[1])))
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


def _hashed(path: Path, digest: hashlib.blake2b) -> Iterator[tuple[str, str]]:
    for place, text in lines(path):
        digest.update(text.encode(errors="surrogateescape"))
        yield place, text


def _triples(path: Path) -> Iterator[tuple[int, str, int]]:
    return (triple for _, text in lines(path) if (triple := _triple(text)) is not None)


def _triple(text: str) -> tuple[int, str, int] | None:
    match = TRIPLE.fullmatch(text)
    return (int(match[1]), f"P{int(match[2])}", int(match[3])) if match else None


def _named(text: str) -> tuple[int, list[str]] | None:
    """The number and the names of an entity; None for a line that has none."""
    match = NAMED.fullmatch(text)
    return (int(match[1]), [name for part in match[2].split("\t") if (name := part.strip())]) if match else None


@functools.cache
def phrases() -> dict[str, str]:
    """A question per relation, with {} for the subject."""
    text = files("r_eval.tasks.loaders").joinpath("wikidata_phrases.tsv").read_text(encoding="utf-8")
    rows = (line.partition("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return {relation: phrase for relation, _, phrase in rows}
