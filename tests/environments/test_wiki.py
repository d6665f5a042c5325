"""The wiki environment: true facts, pages that say them in fixed words, and two query APIs that never break."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.wiki import Wiki
from tests.environments.conftest import json_lines
from tests.wikis import refusal


def written(folder: Path, *pages: dict[str, Any]) -> Wiki:
    """The wiki of a file with these pages."""
    return Wiki(json_lines(folder / "pages.jsonl", *pages))


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("Alber Einstien", "Albert Einstein"),
        ("Kennya", "Kenya"),
        ("Tolstoi", "Leo Tolstoy"),
        ("the country Brazil", "Brazil"),
        ("War Peace", "War and Peace"),
        ("Zü", "Zurich"),
    ],
)
def test_what_is_not_found_comes_with_similar_titles(asked: str, title: str) -> None:
    message = refusal(Wiki().Search, asked)
    assert message.startswith(f"Could not find [{asked}]. Similar: [")
    similar = message.removesuffix("]").partition("Similar: [")[2].split(", ")
    assert len(similar) <= 10
    assert title in similar[:3]


@pytest.fixture
def reading(tmp_path: Path) -> Wiki:
    """An episode that reads a page, two of whose paragraphs hold the same word."""
    text = "Ada is a café.\n\n== Menu ==\n\nTea costs 2.\n\nBlack tea costs 3. It is the best Tea."
    episode = written(tmp_path, {"title": "Ada", "text": text})
    episode.Search("Ada")
    return episode


def test_the_same_keyword_again_shows_the_next_paragraphs(tmp_path: Path) -> None:
    text = "\n\n".join(f"Tea number {number} is sold in Nairobi." for number in range(1, 6))
    episode = written(tmp_path, {"title": "Tea", "text": text})
    episode.Search("Tea")
    assert [line[:14] for line in episode.Lookup("tea").split("\n")] == [f"(Result {n} / 5)" for n in (1, 2, 3)]
    assert [line[:14] for line in episode.Lookup("Tea").split("\n")] == [f"(Result {n} / 5)" for n in (4, 5)]
    assert refusal(episode.Lookup, "tea").startswith("No more results")
    episode.Search("Tea")
    assert episode.Lookup("tea").startswith("(Result 1 / 5) Tea number 1")


@pytest.mark.parametrize("keyword", ["Black tee costs", "blakc tea", "Bláck taa"])
def test_a_misspelt_keyword_finds_what_is_similar_and_says_so(reading: Wiki, keyword: str) -> None:
    said = f"No paragraph contains [{keyword}]; similar:\n(Result 1 / 1) Black tea costs 3. It is the best Tea."
    assert reading.Lookup(keyword) == said


@pytest.mark.parametrize("keyword", ["coffee", "", "  ", "menu", "tee", "tea costs 7.", "x" * 301])
def test_what_no_paragraph_contains_gives_no_results(reading: Wiki, keyword: str) -> None:
    assert refusal(reading.Lookup, keyword).startswith("No results")


def test_pages_in_any_script_are_found_and_control_characters_are_not_shown(tmp_path: Path) -> None:
    arabic = {"title": "القاهرة", "text": "القاهرة عاصمة مصر 🏙"}
    unsafe = {"title": "Ke\x1b[31mnya", "text": "\x1b]0;title\x07It is\u202e red."}
    wiki = written(tmp_path, {"title": "内罗毕", "text": "内罗毕是肯尼亚的首都。"}, arabic, unsafe)
    assert wiki.Search("内罗毕") == "内罗毕是肯尼亚的首都。"
    assert wiki.Search("القاهرة") == "القاهرة عاصمة مصر 🏙"
    assert wiki.Search("Kenya") == "It is red."


@pytest.mark.parametrize(
    ("pages", "asked", "found"),
    [
        ([("Ada", 1), ("ADA", 2)], "ada", "ADA."),
        ([("Ada", 1), ("ADA", 2)], "Ada", "Ada."),
        ([("C", 1), ("C++", 1)], "c++", "C++."),
        ([("!!!", 1), ("???", 1)], "!!!", "!!!."),
    ],
)
def test_the_exact_title_and_then_the_more_popular_page_is_found(
    pages: Iterable[tuple[str, int]], asked: str, found: str, tmp_path: Path
) -> None:
    made = ({"title": title, "text": f"{title}.", "popularity": popularity} for title, popularity in pages)
    assert written(tmp_path, *made).Search(asked) == found
