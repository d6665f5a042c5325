"""Search over the embedded scholars: names and titles are found however they are written."""

from __future__ import annotations

from typing import Any

import pytest

from r_eval.environments.aminer import AMiner

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


# Scale
