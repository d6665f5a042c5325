"""What a web search for a scholar would show: the texts from which the profiling task asks for a profile.

The results of one search stand in a text, numbered, in no order. Among them are the scholar's page today, an older page
for every former post, the doctorate and a publication. Some are about namesakes, or, where there are none, about
somebody with the same family name. All of it is computed from what is known of scholars; nothing else is said.

A namesake never has worked, and does not work now, where the scholar has: a name and one of the scholar's organisations
name one person.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from r_eval.environments.aminer.store import Scholar

from .dice import Dice

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


def profiles(everybody: dict[str, Scholar]) -> list[dict[str, Any]]:
    """A record for every scholar, in the order of the file."""
    scholars = list(everybody.values())
    bearers: dict[str, list[Scholar]] = defaultdict(list)
    families: dict[str, list[Scholar]] = defaultdict(list)
    for scholar in scholars:
        bearers[scholar.name].append(scholar)
        families[_family(scholar.name)].append(scholar)
    records = []
    for scholar in scholars:
        dice = Dice("search results", scholar.id)
        namesakes = dice.some(_apart(scholar, bearers[scholar.name]), _MOST_NAMESAKES)
        strangers = [other for other in families[_family(scholar.name)] if other.name != scholar.name]
        others = namesakes or dice.some(_apart(scholar, strangers), 1)
        text = _text(dice, scholar, others, everybody)
        records.append({**_record(scholar), "num_namesakes": len(namesakes), "text": text})
    return records


def _places(scholar: Scholar) -> list[str]:
    return [place for _, place, _, _ in scholar.work]


def _doctorate_of(scholar: Scholar) -> tuple[str, int] | None:
    """Who gave it, and when."""
    found = [(place, year) for degree, place, year in scholar.education if degree == "PhD"]
    return found[-1] if found else None


def _family(name: str) -> str:
    return name.rsplit(" ", 1)[-1]


def _apart(scholar: Scholar, others: list[Scholar]) -> list[Scholar]:
    """Those of the others who never worked where the scholar has, and whose main interests are others."""
    places, topics = set(_places(scholar)), set(scholar.interests)
    return [
        other
        for other in others
        if other is not scholar and places.isdisjoint(_places(other)) and topics.isdisjoint(other.interests[:3])
    ]


def _record(scholar: Scholar) -> dict[str, Any]:
    school, year = _doctorate_of(scholar) or ("", 0)
    places = _places(scholar)
    return {
        "person_id": scholar.id,
        "name": scholar.name,
        "organization": scholar.organization,
        "position": scholar.position,
        "since": scholar.work[-1][2],
        "topic": scholar.interests[0],
        "interests": scholar.interests[:3],
        "phd_organization": school,
        "phd_year": year,
        "former": [place for place in places[:-1] if places.count(place) == 1],
        "num_posts": len(scholar.work),
    }


def _text(dice: Dice, scholar: Scholar, others: list[Scholar], everybody: dict[str, Scholar]) -> str:
    results = [_today(dice, scholar), *_formerly(dice, scholar), *_doctorate(dice, scholar)]
    for other in others:
        results += [_today(dice, other), *(_doctorate(dice, other) if dice.chance(0.5) else [])]
    paper = dice.pick(scholar.publications)
    authors = listed([everybody[key].name for key in paper.authors])
    words = paper.model_dump(include={"title", "venue", "year"})
    results.append(_result(dice, _PUBLICATION, authors=authors, **words))
    shuffled = dice.some(results, len(results))
    return " ".join(f"[{number}] {page}: {text}" for number, (page, text) in enumerate(shuffled, start=1))


def _result(dice: Dice, wordings: Sequence[tuple[str, str]], **words: object) -> tuple[str, str]:
    """The name and the text of a page in one of the wordings."""
    page, text = dice.pick(wordings)
    return page.format_map(words), text.format_map(words)


def _today(dice: Dice, scholar: Scholar) -> tuple[str, str]:
    known = scholar.model_dump(include={"name", "organization", "position"})
    return _result(dice, _TODAY, since=scholar.work[-1][2], topics=listed(scholar.interests[:3]), **known)


def _formerly(dice: Dice, scholar: Scholar) -> Iterator[tuple[str, str]]:
    for position, place, first, last in scholar.work[:-1]:
        page, text = dice.pick(_FORMERLY)
        until = last if last is not None else first + 1
        words = {"name": scholar.name, "organization": place, "position": position, "since": first, "until": until}
        words |= {"year": dice.between(first, max(first, until - 1)), "topic": dice.pick(scholar.interests)}
        yield page.format_map(words), text.format_map(words)


def _doctorate(dice: Dice, scholar: Scholar) -> Iterator[tuple[str, str]]:
    if (doctorate := _doctorate_of(scholar)) is not None:
        school, year = doctorate
        known = scholar.model_dump(include={"name", "organization"})
        yield _result(dice, _DOCTORATE, school=school, year=year, **known)


def listed(items: list[str]) -> str:
    """The items as a sentence has them: "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
