"""Search results about scholars: they hold the profile that is asked for, and a namesake's pages leave it the only
one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.aminer import AMiner


@pytest.fixture(scope="module")
def aminer() -> AMiner:
    return AMiner()


@pytest.fixture(scope="module")
def records(aminer: AMiner) -> list[dict[str, Any]]:
    return aminer.records("profile")


def results(record: dict[str, Any]) -> list[str]:
    return [part.strip() for part in re.split(r"\[\d+\]", record["text"]) if part.strip()]


def names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text) is not None


def pages_of_today(record: dict[str, Any]) -> list[str]:
    """Results about somebody of the scholar's name that say since when a post has been held."""
    found = [text for text in results(record) if names(text, record["name"])]
    return [text for text in found if re.search(r"since \d{4}|joined in \d{4}", text, re.IGNORECASE)]


def test_every_scholar_of_the_embedded_world_has_a_profile(aminer: AMiner, records: list[dict[str, Any]]) -> None:
    assert [r["person_id"] for r in records] == [p["person_id"] for p in aminer.records("person")]


def test_the_results_hold_the_present_post_and_the_topics(records: list[dict[str, Any]]) -> None:
    for record in records:
        (today,) = [text for text in pages_of_today(record) if record["organization"] in text]
        assert all(str(record[key]) in today for key in ("position", "since"))
        assert all(topic in today for topic in record["interests"])


def test_the_results_hold_the_doctorate(records: list[dict[str, Any]]) -> None:
    for record in records:
        if record["phd_organization"]:
            wanted = (record["name"], record["organization"], record["phd_organization"], str(record["phd_year"]))
            assert any("PhD" in text and all(part in text for part in wanted) for text in results(record))


def test_the_results_hold_every_former_post_in_a_year_in_which_it_was_held(
    aminer: AMiner, records: list[dict[str, Any]]
) -> None:
    for record in records:
        for post in aminer.getPersonBasicInfo(record["person_id"]).work_experience[:-1]:
            wanted = (record["name"], post.organization, post.position)
            found = [text for text in results(record) if all(part in text for part in wanted)]
            years = [int(year) for text in found for year in re.findall(r"\d{4}", text)]
            assert any(post.from_year <= year <= (post.to_year or year) for year in years)


def test_a_name_and_an_organization_single_out_one_page_of_today(records: list[dict[str, Any]]) -> None:
    for record in records:
        assert len([text for text in pages_of_today(record) if record["organization"] in text]) == 1


def test_a_name_and_the_main_topic_single_out_one_page_of_today(records: list[dict[str, Any]]) -> None:
    for record in records:
        assert len([text for text in pages_of_today(record) if record["interests"][0] in text]) == 1


def test_a_namesake_never_appears_where_the_scholar_has_worked(aminer: AMiner, records: list[dict[str, Any]]) -> None:
    for record in records:
        places = {post.organization for post in aminer.getPersonBasicInfo(record["person_id"]).work_experience}
        others = [text for text in pages_of_today(record) if record["organization"] not in text]
        assert len(others) == record["num_namesakes"]
        assert not any(place in text for text in others for place in places)


def test_many_results_are_about_namesakes_and_most_of_the_rest_about_a_similar_name(
    records: list[dict[str, Any]],
) -> None:
    strangers = [r for r in records if any(not names(text, r["name"]) for text in results(r))]
    assert len([r for r in records if r["num_namesakes"]]) >= 90
    assert len(strangers) > len(records) / 2


def test_results_are_short_enough_for_a_small_context(records: list[dict[str, Any]]) -> None:
    assert max(len(record["text"].split()) for record in records) < 250


def test_the_same_snapshot_gives_the_same_results(records: list[dict[str, Any]]) -> None:
    assert AMiner().records("profile") == records


def test_a_bibliography_without_posts_gives_no_profiles(tmp_path: Path) -> None:
    source = tmp_path / "scholars.jsonl"
    scholar = {"name": "Ada", "publications": [{"title": "On Sorting", "year": 2001, "num_citation": 3}]}
    source.write_text(json.dumps(scholar) + "\n", encoding="utf-8")
    aminer = AMiner(scholars=str(source))
    assert aminer.records("person")
    assert aminer.records("profile") == []


def test_an_authorship_is_recorded_with_its_place(aminer: AMiner) -> None:
    authorships = aminer.records("authorship")
    for publication in aminer.records("publication")[::50]:
        authors = [a for a in authorships if a["title"] == publication["title"]]
        assert [a["name"] for a in authors] == publication["authors"]
        assert [a["place"] for a in authors] == list(range(1, len(authors) + 1))
        assert {(a["year"], a["venue"], a["num_citation"]) for a in authors} == {
            (publication["year"], publication["venue"], publication["num_citation"])
        }
