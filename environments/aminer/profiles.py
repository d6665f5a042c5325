"""What a web search for a scholar would show: the texts from which the profiling task asks for a profile.

The results of one search stand in a text, numbered, in no order. Among them are the scholar's page today, an older page
for every former post, the doctorate and a publication. Some are about namesakes, or, where there are none, about
somebody with the same family name. All of it is computed from the snapshot; nothing else is said.

A namesake never has worked, and does not work now, where the scholar has: a name and one of the scholar's organisations
name one person.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .dice import Dice
from .store import Store

_MOST_NAMESAKES = 2
_TODAY = (
    ("{organization}, staff", "{name}, {position} since {since}. Topics: {topics}."),
    ("People at {organization}", "{name} ({position}) joined in {since} and works on {topics}."),
    ("{organization}, who does what", "Since {since}: {name}, {position}. Ask about {topics}."),
)
_FORMERLY = (
    ("Staff list of {organization}, archived", "{name}, {position}, {since} to {until}."),
    ("{organization}, annual report {year}", "{position} {name} works on {topic}."),
    ("Programme of a workshop, {year}", "{name}, {position} at {organization}, speaks about {topic}."),
)
_DOCTORATE = (
    ("Alumni of {school}", "{name}, PhD {year}, now at {organization}."),
    ("Speakers of the winter school", "{name} ({organization}) holds a PhD from {school}, awarded in {year}."),
    ("Catalogue of theses, {year}", "PhD thesis of {name}, {school}. The author is now at {organization}."),
)
_PUBLICATION = (
    ("{venue}", '"{title}" by {authors}, {year}.'),
    ("New publications, {year}", "{authors}: {title}. In: {venue}."),
)


@dataclass(frozen=True, slots=True)
class _Scholar:
    person_id: str
    name: str
    organization: str
    position: str
    interests: list[str]
    education: list[tuple[str, str, int]]
    """Degree, organisation, year; oldest first."""
    work: list[tuple[str, str, int, int | None]]
    """Position, organisation, first year, last year (None: still there); oldest first."""

    @property
    def places(self) -> list[str]:
        return [place for _, place, _, _ in self.work]

    @property
    def doctorate(self) -> tuple[str, int] | None:
        """Who gave it, and when."""
        found = [(place, year) for degree, place, year in self.education if degree == "PhD"]
        return found[-1] if found else None


def profiles(store: Store) -> list[dict[str, Any]]:
    """A record for every scholar whose posts and interests are known, in the order of the snapshot."""
    scholars = list(_scholars(store))
    bearers: dict[str, list[_Scholar]] = defaultdict(list)
    families: dict[str, list[_Scholar]] = defaultdict(list)
    for scholar in scholars:
        bearers[scholar.name].append(scholar)
        families[_family(scholar.name)].append(scholar)
    papers = _papers(store)
    records = []
    for scholar in scholars:
        dice = Dice("search results", scholar.person_id)
        namesakes = dice.some(_apart(scholar, bearers[scholar.name]), _MOST_NAMESAKES)
        strangers = [other for other in families[_family(scholar.name)] if other.name != scholar.name]
        others = namesakes or dice.some(_apart(scholar, strangers), 1)
        text = _text(dice, scholar, others, papers[scholar.person_id])
        records.append({**_record(scholar), "num_namesakes": len(namesakes), "text": text})
    return records


def _scholars(store: Store) -> Iterable[_Scholar]:
    sql = "SELECT id, name, organization, position, interests, education, work FROM person ORDER BY seq"
    for person_id, name, organization, position, *lists in store.stream(sql):
        interests, education, work = map(json.loads, lists)
        if position and interests and work and work[-1][0] == position:
            degrees = [(degree, place, year) for degree, place, year in education]
            posts = [(post, place, first, last) for post, place, first, last in work]
            yield _Scholar(person_id, name, organization, position, interests, degrees, posts)


def _papers(store: Store) -> dict[str, list[tuple[str, str, int, list[str]]]]:
    """Title, venue, year and authors of each scholar's publications."""
    sql = """
        SELECT publication.seq, title, venue, year, person.id, person.name
        FROM publication JOIN authorship ON authorship.publication = publication.seq
        JOIN person ON person.seq = authorship.person ORDER BY publication.seq, place"""
    written: dict[str, list[tuple[str, str, int, list[str]]]] = defaultdict(list)
    last: int | None = None
    authors: list[str] = []
    for seq, title, venue, year, person_id, name in store.stream(sql):
        if seq != last:
            last, authors = seq, []
        authors.append(name)
        written[person_id].append((title, venue, year, authors))
    return written


def _family(name: str) -> str:
    return name.rsplit(" ", 1)[-1]


def _apart(scholar: _Scholar, others: list[_Scholar]) -> list[_Scholar]:
    """Those of the others who never worked where the scholar has, and whose main interests are others."""
    places, topics = set(scholar.places), set(scholar.interests)
    return [
        other
        for other in others
        if other is not scholar and places.isdisjoint(other.places) and topics.isdisjoint(other.interests[:3])
    ]


def _record(scholar: _Scholar) -> dict[str, Any]:
    school, year = scholar.doctorate or ("", 0)
    return {
        "person_id": scholar.person_id,
        "name": scholar.name,
        "organization": scholar.organization,
        "position": scholar.position,
        "since": scholar.work[-1][2],
        "topic": scholar.interests[0],
        "interests": scholar.interests[:3],
        "phd_organization": school,
        "phd_year": year,
        "former": [place for place in scholar.places[:-1] if scholar.places.count(place) == 1],
        "num_posts": len(scholar.work),
    }


def _text(dice: Dice, scholar: _Scholar, others: list[_Scholar], papers: list[tuple[str, str, int, list[str]]]) -> str:
    results = [_today(dice, scholar), *_formerly(dice, scholar), *_doctorate(dice, scholar)]
    for other in others:
        results += [_today(dice, other), *(_doctorate(dice, other) if dice.chance(0.5) else [])]
    if papers:
        title, venue, year, authors = dice.pick(papers)
        page, text = dice.pick(_PUBLICATION)
        words = {"title": title, "venue": venue, "year": year, "authors": listed(authors)}
        results.append((page.format_map(words), text.format_map(words)))
    shuffled = dice.some(results, len(results))
    return " ".join(f"[{number}] {page}: {text}" for number, (page, text) in enumerate(shuffled, start=1))


def _today(dice: Dice, scholar: _Scholar) -> tuple[str, str]:
    page, text = dice.pick(_TODAY)
    words = {
        "name": scholar.name,
        "organization": scholar.organization,
        "position": scholar.position,
        "since": scholar.work[-1][2],
        "topics": listed(scholar.interests[:3]),
    }
    return page.format_map(words), text.format_map(words)


def _formerly(dice: Dice, scholar: _Scholar) -> list[tuple[str, str]]:
    results = []
    for position, place, first, last in scholar.work[:-1]:
        page, text = dice.pick(_FORMERLY)
        until = last if last is not None else first + 1
        words = {
            "name": scholar.name,
            "organization": place,
            "position": position,
            "since": first,
            "until": until,
            "year": dice.between(first, max(first, until - 1)),
            "topic": dice.pick(scholar.interests),
        }
        results.append((page.format_map(words), text.format_map(words)))
    return results


def _doctorate(dice: Dice, scholar: _Scholar) -> list[tuple[str, str]]:
    if scholar.doctorate is None:
        return []
    page, text = dice.pick(_DOCTORATE)
    school, year = scholar.doctorate
    words = {"name": scholar.name, "organization": scholar.organization, "school": school, "year": year}
    return [(page.format_map(words), text.format_map(words))]


def listed(items: list[str]) -> str:
    """The items as a sentence has them: "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
