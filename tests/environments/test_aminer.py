"""The AMiner environment: an invented world that is consistent in all directions, and a search that never
breaks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r_eval.environments.aminer import AMiner
from r_eval.environments.aminer.shapes import Coauthor, PersonInfo, PersonPublication, PublicationResult
from r_eval.environments.base import NotFound


class World:
    """The whole embedded world as the query APIs show it."""

    def __init__(self, aminer: AMiner) -> None:
        self.people = {person["person_id"]: person for person in aminer.records("person")}
        self.papers = {paper["pub_id"]: paper for paper in aminer.records("publication")}
        self.pubs: dict[str, list[PersonPublication]] = {key: aminer.getPersonPubs(key) for key in self.people}
        self.full: dict[str, PublicationResult] = {key: aminer.getPublication(key) for key in self.papers}
        self.coauthors: dict[str, list[Coauthor]] = {key: aminer.getCoauthors(key) for key in self.people}
        self.info: dict[str, PersonInfo] = {key: aminer.getPersonBasicInfo(key) for key in self.people}


@pytest.fixture(scope="module")
def aminer() -> AMiner:
    return AMiner()


@pytest.fixture(scope="module")
def world(aminer: AMiner) -> World:
    return World(aminer)


# The world


def test_coauthors_are_exactly_the_authors_of_the_same_papers(world: World) -> None:
    together: dict[str, set[str]] = {key: set() for key in world.people}
    for paper in world.full.values():
        ids = {author.person_id for author in paper.author_list}
        for key in ids:
            together[key] |= ids - {key}
    for key, listed in world.coauthors.items():
        assert len(listed) == len({coauthor.person_id for coauthor in listed})
        assert {coauthor.person_id for coauthor in listed} == together[key]


# Search


def test_namesakes_are_told_apart_by_their_organization(aminer: AMiner, world: World) -> None:
    for key, person in world.people.items():
        found = aminer.searchPerson(name=person["name"], organization=person["organization"])
        assert [hit.person_id for hit in found] == [key]


@pytest.mark.parametrize(
    "write",
    [
        str.upper,
        lambda name: " ".join(reversed(name.split())),
        lambda name: f"{name[0]}. {' '.join(name.split()[1:])}",
        lambda name: " ".join(word[:4] for word in name.split()),
        lambda name: name.replace("ö", "o").replace("é", "e").replace("ł", "l").replace("ş", "s"),
        lambda name: name[:-3] + name[-2] + name[-3] + name[-1],
        lambda name: name[:-1],
        lambda name: f"  {name}, Ph;'\" ".replace("Ph", ""),
    ],
    ids=["case", "order", "initial", "prefix", "accents", "swapped", "cut", "punctuation"],
)
def test_a_name_is_found_however_it_is_written(aminer: AMiner, world: World, write: Any) -> None:
    people = list(world.people.values())[::9]
    missed = [
        person["name"]
        for person in people
        if person["person_id"]
        not in {hit.person_id for hit in aminer.searchPerson(write(person["name"]), person["organization"])}
    ]
    assert len(missed) <= len(people) // 12, missed  # a distorted name may be somebody else's true one


def test_every_title_finds_its_publication_first(aminer: AMiner, world: World) -> None:
    for key, paper in list(world.papers.items())[::10]:
        assert aminer.searchPublication(paper["title"])[0].pub_id == key


def test_a_title_is_found_in_spite_of_errors_and_extra_words(aminer: AMiner, world: World) -> None:
    for key, paper in list(world.papers.items())[::40]:
        words = paper["title"].split()
        mistyped = " ".join([*words[:-1], words[-1][:-2] + words[-1][-1]])
        for text in (mistyped, f"the paper {paper['title']} ({paper['year']})", paper["title"].lower()):
            assert key in [hit.pub_id for hit in aminer.searchPublication(text)]


NASTY = st.sampled_from(
    ["", " ", "\x00", '"', "a*", "^a", "(", "a" * 2000, "ab " * 24, "university " * 20,
     "\ud800", "x" * 100_000, "a " * 50_000, "é" * 3000, "𝓐𝓫", "²", "ﬀ", "李 明", "0" * 24, "\u0301", "_",
     "NOT a", "-", "%"]
)  # fmt: skip
ANY_TEXT = NASTY | st.text(st.characters(), max_size=60)


def _not_found(call: Any, arguments: tuple[Any, ...]) -> str | None:
    try:
        call(*arguments)
    except NotFound as error:
        return str(error)
    return None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(one=ANY_TEXT, two=ANY_TEXT | st.none(), three=ANY_TEXT | st.none())
def test_no_text_raises_anything_but_not_found(aminer: AMiner, one: str, two: str | None, three: str | None) -> None:
    attempts: list[tuple[Any, tuple[Any, ...]]] = [
        (aminer.searchPerson, (one, two, three)),
        (aminer.searchPerson, (two, three, one)),
        (aminer.searchPublication, (one,)),
        *((getattr(aminer, api), (one,)) for api in AMiner.query_apis() if api.startswith("get")),
    ]
    for call, arguments in attempts:
        message = _not_found(call, arguments)
        assert message is None or 0 < len(message.encode("utf-8")) < 500


# The environment


# Scale
