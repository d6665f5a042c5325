"""AMiner over the embedded scholars and over one's own: what is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.aminer import AMiner
from tests.environments.conftest import json_lines

AMINER = AMiner()
PEOPLE = AMINER.records("person")


def test_namesakes_are_told_apart_by_their_organization() -> None:
    for person in PEOPLE:
        found = AMINER.searchPerson(name=person["name"], organization=person["organization"])
        assert [hit.person_id for hit in found] == [person["person_id"]]


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
def test_a_name_is_found_however_it_is_written(write: Any) -> None:
    people = PEOPLE[::9]
    missed = [
        person["name"]
        for person in people
        if person["person_id"]
        not in {hit.person_id for hit in AMINER.searchPerson(write(person["name"]), person["organization"])}
    ]
    assert len(missed) <= len(people) // 12, missed  # a distorted name may be somebody else's true one


def test_a_title_is_found_in_spite_of_errors_and_extra_words() -> None:
    for paper in AMINER.records("publication")[::40]:
        words = paper["title"].split()
        mistyped = " ".join([*words[:-1], words[-1][:-2] + words[-1][-1]])
        for text in (mistyped, f"the paper {paper['title']} ({paper['year']})", paper["title"].lower()):
            assert paper["pub_id"] in [hit.pub_id for hit in AMINER.searchPublication(text)]


ADA = {
    "name": "Ada Okello",
    "id": "a1",
    "organization": "University of Nairobi",
    "position": "Professor",
    "interests": ["graph theory", "logic"],
    "education": [["PhD", "University of Nairobi", 2009]],
    "work": [["Professor", "University of Nairobi", 2015, None]],
    "publications": [
        {"title": "Colouring sparse graphs", "venue": "Graphs", "year": 2020, "num_citation": 12},
        {"title": "Games on trees", "year": 2021, "num_citation": 1},
    ],
}
WEI = {
    "name": "王伟",
    "h_index": 3,
    "organization": "北京大学",
    "publications": [{"title": "Colouring sparse graphs", "venue": "Graphs", "year": 2020, "num_citation": 12}],
}


@pytest.fixture
def aminer(tmp_path: Path) -> AMiner:
    return AMiner(json_lines(tmp_path / "scholars.jsonl", ADA, WEI))


@pytest.mark.parametrize("words", [{"name": "ada okello"}, {"organization": "Nairobi"}, {"interest": "logic"}])
def test_a_scholar_is_found(aminer: AMiner, words: dict[str, str]) -> None:
    assert [person.person_id for person in aminer.searchPerson(**words)] == ["a1"]


def test_who_lists_a_publication_is_its_author(aminer: AMiner) -> None:
    assert [one.name for one in aminer.getCoauthors("a1")] == ["王伟"]
    found = aminer.searchPublication("Colouring sparse graphs")
    assert len(found) == 1
    assert [author.name for author in aminer.getPublication(found[0].pub_id).author_list] == ["Ada Okello", "王伟"]


def test_a_publication_may_have_a_line_of_its_own_with_its_authors_in_order(tmp_path: Path) -> None:
    chi = {"name": "Chi Eze", "id": "c1", "advisor": "a1"}
    paper = {"title": "On trees", "id": "p1", "year": 2022, "num_citation": 3, "authors": ["c1", "a1"]}
    aminer = AMiner(json_lines(tmp_path / "scholars.jsonl", paper, ADA, chi))
    assert [author.name for author in aminer.getPublication("p1").author_list] == ["Chi Eze", "Ada Okello"]
    assert [(one.name, one.relation) for one in aminer.getCoauthors("c1")] == [("Ada Okello", "advisor")]
    assert [(one.name, one.relation) for one in aminer.getCoauthors("a1")] == [("Chi Eze", "advisee")]
    assert aminer.searchPerson(name="Ada")[0].num_citation == 16
