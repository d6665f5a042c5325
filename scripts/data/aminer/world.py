"""The invented world: communities of scholars who write papers together.

A world is a sequence of communities of about forty scholars; four communities make a region, which shares its
organisations. Nobody writes with anyone outside the own community.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from r_eval.environments.aminer.store import words

from .dice import Dice
from .names import CULTURES, FIELDS, SERIES, Organisation, organisation
from .writing import title_and_abstract

SCHOLARS, SEED = 560, 1
NOW = 2023
COMMUNITY = 40
REGION = 4
"""Communities in a region."""
SITES = 8
"""Organisations in a region."""
MOST_PAPERS = 22
"""Of one scholar, so that a list of papers stays short enough to be read."""
_MOST_ADVISEES = 4
_NAMESAKES = 0.17
"""How often a newcomer bears the name of somebody at another organisation of the region."""
_TEAM = (0, 1, 1, 2, 2, 2, 3, 3, 4, 5)
_FIELDS = tuple(FIELDS)
_OTHER_POSITIONS, _OTHER_EVERY = ("Dean", "Chief Scientist", "Curator", "Librarian", "Consultant"), 9
"""Positions that are none of the labels of the profiling task, and how seldom they are."""
_POSITIONS = {
    "university": ("Assistant Professor", "Lecturer", "Associate Professor", "Professor"),
    "laboratory": ("Assistant Researcher", "Associate Researcher", "Associate Researcher", "Researcher"),
    "company": ("Engineer", "Engineer", "Senior Engineer", "Senior Engineer"),
}


@dataclass(slots=True, eq=False)
class WorldScholar:
    number: int
    person_id: str
    name: str
    gender: str
    topics: list[str]
    started: int
    """Year the doctorate was begun; papers come later."""
    doctorate: int | None
    """Year of the doctorate; None for a student."""
    education: list[tuple[str, str, int]]
    """Degree, organisation, year; oldest first."""
    work: list[tuple[str, str, int, int | None]]
    """Position, organisation, first year, last year (None: still there); oldest first."""
    email: str
    advisor: WorldScholar | None
    advisees: list[WorldScholar] = field(default_factory=list)
    papers: list[Paper] = field(default_factory=list)

    @property
    def organization(self) -> str:
        return self.work[-1][1]

    def interests(self) -> list[str]:
        """The topics of the papers, most frequent first, at most five."""
        counts = Counter(paper.topic for paper in self.papers)
        return sorted(counts, key=lambda topic: (-counts[topic], topic))[:5]


@dataclass(slots=True, eq=False)
class Paper:
    number: int
    id: str
    title: str
    abstract: str
    topic: str
    venue: str
    year: int
    num_citation: int
    authors: list[WorldScholar]


@dataclass(slots=True)
class _Region:
    sites: list[Organisation]
    names: list[tuple[str, str, str]] = field(default_factory=list)
    """Name, gender and organisation of everyone so far."""
    taken: set[tuple[str, str]] = field(default_factory=set)


def communities() -> Iterator[list[WorldScholar]]:
    """All scholars of the world, a community at a time, with their papers; numbers run on from one to the next."""
    titles: set[str] = set()
    region = _Region([])
    first_paper = 0
    for number, start in enumerate(range(0, SCHOLARS, COMMUNITY)):
        if number % REGION == 0:
            base = number // REGION * SITES
            region = _Region([organisation(SEED, base + site) for site in range(SITES)])
        dice = Dice(SEED, "community", number)
        subject, neighbour = dice.some(_FIELDS, 2)
        people: list[WorldScholar] = []
        for index in range(COMMUNITY):
            topics = [*dice.some(FIELDS[subject], dice.between(2, 4)), dice.pick(FIELDS[neighbour])]
            people.append(_scholar(dice, region, people, start + index, index / COMMUNITY, topics))
        first_paper += _write_papers(dice, people, titles, first_paper)
        yield people


def _identifier(kind: str, number: int) -> str:
    """24 hexadecimal characters, as AMiner's own ids."""
    return hashlib.blake2b(f"{SEED}/{kind}/{number}".encode(), digest_size=12).hexdigest()


def _scholar(
    dice: Dice, region: _Region, elders: list[WorldScholar], number: int, place: float, topics: list[str]
) -> WorldScholar:
    """The next member of a community; `place` (0 to 1) runs from its senior members to its students."""
    student = place >= 0.84
    if place < 0.25:
        started = dice.between(1981, 2000)
    elif place < 0.55:
        started = dice.between(2001, 2011)
    else:
        started = dice.between(2019, 2022) if student else dice.between(2012, 2017)
    doctorate = None if student else started + dice.between(4, 5)
    advisor, school = _school(dice, region, elders, started, student)
    education = [("BSc", dice.pick(_universities(region)).name, started - dice.between(2, 4))]
    if dice.chance(0.6):
        education.append(("MSc", dice.pick(_universities(region)).name, started - dice.below(2)))
    if doctorate is None:
        work: list[tuple[str, str, int, int | None]] = [("PhD Student", school.name, started, None)]
        site = school
    else:
        education.append(("PhD", school.name, doctorate))
        work, site = _career(dice, region, doctorate)
        if number % _OTHER_EVERY == 0:  # decided by the number, so that nothing else is drawn otherwise
            work[-1] = (_OTHER_POSITIONS[number // _OTHER_EVERY % len(_OTHER_POSITIONS)], *work[-1][1:])
    name, gender = _name(dice, region, site.name)
    scholar = WorldScholar(
        number, _identifier("person", number), name, gender, topics, started, doctorate, education, work,
        f"{'.'.join(words(name))}@{site.domain}", advisor,
    )  # fmt: skip
    if advisor is not None:
        advisor.advisees.append(scholar)
    return scholar


def _universities(region: _Region) -> list[Organisation]:
    return [site for site in region.sites if site.kind == "university"]


def _school(
    dice: Dice, region: _Region, elders: list[WorldScholar], started: int, student: bool
) -> tuple[WorldScholar | None, Organisation]:
    """An advisor who was at a university when the doctorate was begun, and that university."""
    universities = {site.name: site for site in _universities(region)}
    options: list[tuple[WorldScholar, Organisation]] = []
    for elder in elders:
        if elder.doctorate is None or elder.doctorate + 4 > started or len(elder.advisees) >= _MOST_ADVISEES:
            continue
        for _, place, first, last in elder.work[-1:] if student else elder.work:
            if place in universities and first <= started and (last is None or started < last):
                options.append((elder, universities[place]))
    return dice.pick(options) if options else (None, dice.pick(list(universities.values())))


def _career(dice: Dice, region: _Region, doctorate: int) -> tuple[list[tuple[str, str, int, int | None]], Organisation]:
    span = NOW - doctorate
    moves = sorted({doctorate + dice.between(2, span - 1) for _ in range(dice.below(3))} if span > 4 else set())
    years = [doctorate, *moves]
    work: list[tuple[str, str, int, int | None]] = []
    site = dice.pick(region.sites)
    for index, first in enumerate(years):
        last = years[index + 1] if index + 1 < len(years) else None
        if work:
            site = dice.pick([other for other in region.sites if other is not site])
        served = (last or NOW) - doctorate
        level = 0 if served < 4 else 1 if served < 8 else 2 if served < 14 else 3
        work.append((_POSITIONS[site.kind][max(0, level - dice.chance(0.25))], site.name, first, last))
    return work, site


def _name(dice: Dice, region: _Region, site: str) -> tuple[str, str]:
    """A name that nobody else at the organisation bears, though somebody elsewhere may."""
    others = [entry for entry in region.names if entry[2] != site] if dice.chance(_NAMESAKES) else []
    while True:
        if others and dice.chance(0.8):
            name, gender, _ = dice.pick(others)
        else:
            culture = dice.pick(CULTURES)
            gender = "female" if dice.chance(0.42) else "male"
            given = dice.pick_early(culture.female if gender == "female" else culture.male)
            middle = f" {dice.pick('ABCDEFGHJKLMPRSTW')}." if culture.initials and dice.chance(0.35) else ""
            name = f"{given}{middle} {dice.pick_early(culture.family)}"
        if (name, site) not in region.taken:
            region.taken.add((name, site))
            region.names.append((name, gender, site))
            return name, gender


def _write_papers(dice: Dice, people: list[WorldScholar], titles: set[str], number: int) -> int:
    """Give a community its papers, numbered from `number`; returns how many were written."""
    written = 0

    def write(first: WorldScholar, last: WorldScholar | None, year: int) -> None:
        nonlocal written
        topic, authors = dice.pick(first.topics), _team(dice, people, first, last, year)
        title, abstract = title_and_abstract(dice, topic, titles)
        luck = dice.random()
        cited = int((NOW - year + 1) * 2 * luck * luck * luck / (1.03 - luck))
        pub_id = _identifier("publication", number + written)
        paper = Paper(number + written, pub_id, title, abstract, topic, _venue(dice, topic), year, cited, authors)
        for author in authors:
            author.papers.append(paper)
        written += 1

    for scholar in people:
        if scholar.advisor is not None:
            write(scholar, scholar.advisor, dice.between(scholar.started + 1, scholar.doctorate or NOW))
    for scholar in people:
        while len(scholar.papers) < 2:
            write(scholar, None, _year(dice, scholar))
    while written < len(people) * 4:
        free = [scholar for scholar in people if len(scholar.papers) < MOST_PAPERS]
        if not free:
            break
        scholar = dice.pick(free)
        write(scholar, None, _year(dice, scholar))
    return written


def _year(dice: Dice, scholar: WorldScholar) -> int:
    """A year after the scholar's start, recent ones more often."""
    return NOW - int(dice.random() * dice.random() * (NOW - scholar.started))


def _team(
    dice: Dice, people: list[WorldScholar], first: WorldScholar, last: WorldScholar | None, year: int
) -> list[WorldScholar]:
    """The authors in their order: who did the work first, an advisor last; never anybody twice."""
    free = [
        other
        for other in people
        if other.started < year and len(other.papers) < MOST_PAPERS and other is not first and other is not last
    ]
    near = [
        other
        for other in free
        if other.advisor is first or first.advisor is other or other.organization == first.organization
    ]
    authors = [first]
    for _ in range(dice.pick(_TEAM)):
        pool = near if near and dice.chance(0.7) else free
        if pool:
            other = dice.pick(pool)
            if other not in authors:
                authors.append(other)
    if last is not None:
        authors.append(last)
    elif first.advisor in authors:
        authors.remove(first.advisor)
        authors.append(first.advisor)
    return authors


_FIELD_OF = {topic: name for name, topics in FIELDS.items() for topic in topics}


def _venue(dice: Dice, topic: str) -> str:
    return f"{dice.pick(SERIES)} {_FIELD_OF[topic]}"
