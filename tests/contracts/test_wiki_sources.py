"""What the wiki environment must do, wherever its pages come from: a snapshot, a ZIM file, a real MediaWiki.

The same pages are put in all three. What only one source has to do is tested in `tests/environments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from r_eval.environments.base import NotFound
from r_eval.environments.wiki import Wiki
from tests import hostile, mediawiki
from tests.wikis import CHOICES, PAGES, REDIRECTS, live, refusal, snapshot, zim

# The three sources


@pytest.fixture(scope="module")
def running(installed_wiki: mediawiki.MediaWiki) -> Iterator[mediawiki.Served]:
    with installed_wiki.running() as served:
        yield served


@pytest.fixture(scope="module", params=["snapshot", "zim", "live"])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Wiki:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "live":
        return live(request.getfixturevalue("running"), folder / "replies.sqlite")
    return snapshot(folder) if request.param == "snapshot" else zim(folder)


@pytest.fixture
def wiki(shared: Wiki) -> Wiki:
    """An episode."""
    return shared.open()


# Search


@pytest.mark.parametrize("title", PAGES)
def test_a_page_is_opened_by_its_title(wiki: Wiki, title: str) -> None:
    assert wiki.Search(title) == PAGES[title][0]


@pytest.mark.parametrize("name", REDIRECTS)
def test_a_redirect_opens_the_page_under_its_own_title(wiki: Wiki, name: str) -> None:
    assert wiki.Search(name) == PAGES[REDIRECTS[name]][0]
    assert refusal(wiki.Lookup, "unicorn") == f"No results for [unicorn] in the page {REDIRECTS[name]}."


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("  Kenya ", "Kenya"),
        ("kenya", "Kenya"),
        ("kEnYa", "Kenya"),
        ("Mercury_(planet)", "Mercury (planet)"),
        ("mercury  (PLANET)", "Mercury (planet)"),
        ("heroes album", '"Heroes" (album)'),
        ("Ac/Dc", "AC/DC"),
        ("what is to be done", "What Is to Be Done?"),
        ("[[Kenya]]", "Kenya"),
    ],
)
def test_case_spaces_and_punctuation_do_not_matter(wiki: Wiki, asked: str, title: str) -> None:
    assert wiki.Search(asked) == PAGES[title][0]


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("asked", [str, str.lower, str.upper])
def test_an_ambiguous_title_offers_its_choices(wiki: Wiki, name: str, asked: Callable[[str], str]) -> None:
    first, *lines = wiki.Search(asked(name)).split("\n")
    assert name in first
    for line, choice in zip(lines, CHOICES[name], strict=False):
        assert line.startswith(choice.title)


@pytest.mark.parametrize(("asked", "title"), [("Kennya", "Kenya"), ("Mercury planets", "Mercury (planet)")])
def test_a_similar_title_is_offered_and_not_opened(wiki: Wiki, asked: str, title: str) -> None:
    message = refusal(wiki.Search, asked)
    assert message.startswith(f"Could not find [{asked}]. Similar: [")
    assert title in message.partition("Similar: ")[2]
    assert "Search for a page first" in refusal(wiki.Lookup, "e")


HOSTILE = [
    "|", "#", "[[", "\x1fKenya\x1fJapan", "Kenya|Japan", "a" * 10_000, "東" * 300, "Special:Random", "talk:kenya",
    ":Talk:Kenya", "Talk : Kenya", "Media:X", "style.css", "Kenya\nJapan", "Kenya&titles=Japan", "insource:/.*/",
    "~~~~", "{{PAGENAME}}", "C#", *(text for text in hostile.HOSTILE if len(text) < 1_000),
]  # fmt: skip


@pytest.mark.parametrize("asked", HOSTILE, ids=lambda asked: ascii(asked)[1:30])
def test_hostile_titles_open_nothing(wiki: Wiki, asked: str) -> None:
    message = refusal(wiki.Search, asked)
    assert message.startswith("Could not find [")
    assert len(message.encode("utf-8")) < 2000
    assert "Search for a page first" in refusal(wiki.Lookup, "a")


# Lookup


def test_lookup_goes_round_the_paragraphs_that_hold_a_keyword(wiki: Wiki) -> None:
    wiki.Search("Kenya")
    found = "(Result 1 / 2) Nairobi was founded in 1899.\n(Result 2 / 2) The first railway reached Nairobi."
    assert wiki.Lookup("nairobi") == found
    assert refusal(wiki.Lookup, "NAIROBI") == "No more results for [NAIROBI] in the page Kenya."
    assert wiki.Lookup("tea & coffee") == "(Result 1 / 1) Tea & coffee are grown < 3,000 metres."
    assert wiki.Lookup("nairobi") == found


def test_headings_and_what_is_no_running_text_are_not_found(wiki: Wiki) -> None:
    wiki.Search("Kenya")
    for keyword in ("economy", "colony", "edit", "[1]", "see", "function"):
        assert refusal(wiki.Lookup, keyword) == f"No results for [{keyword}] in the page Kenya."


# ZIM alone


def test_accents_do_not_matter_where_the_file_has_an_index_of_titles(tmp_path: Path) -> None:
    assert zim(tmp_path).Search("emile zola") == PAGES["Émile Zola"][0]


@pytest.mark.parametrize(
    "content", [b"", b"no archive, but long enough to look like one" * 10, b"ZIM\x04" + bytes(200)]
)
def test_what_is_no_zim_file_is_refused(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("libzim", reason="ZIM files need libzim")
    path = tmp_path / "other.zim"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no ZIM file"):
        Wiki(source="zim", zim=str(path))


# MediaWiki alone


def transcript(wiki: Wiki) -> list[str]:
    """What an episode hears that finds, follows, chooses, misses and looks up."""

    episode, said = wiki.open(), []
    for title in (
        "Kenya",
        "kEnYa",
        "Nippon",
        "Mercury",
        "Victoria",
        "Kennya",
        "Nobody at all",
        "Talk:Kenya",
        "",
        "東京",
    ):
        for call, word in ((episode.Search, title), (episode.Lookup, "a")):
            try:
                said.append(call(word))
            except NotFound as nothing:
                said.append(str(nothing))
    return said


def test_a_page_costs_one_request_and_the_second_time_none(running: mediawiki.Served, tmp_path: Path) -> None:
    wiki = live(running, tmp_path / "replies.sqlite")
    before = running.requests
    wiki.open().Search("Kenya")
    assert running.requests - before == 1
    wiki.open().Search("Kenya")
    live(running, tmp_path / "replies.sqlite").Search("Kenya")
    assert running.requests - before == 1


def test_without_extracts_the_rendered_page_is_read(running: mediawiki.Served, tmp_path: Path) -> None:
    plain = live(running, tmp_path / "replies.sqlite", user_agent=f"tests {mediawiki.WITHOUT_EXTRACTS}")
    assert transcript(plain) == transcript(live(running, tmp_path / "others.sqlite"))


def test_a_run_is_repeated_with_the_network_cut(installed_wiki: mediawiki.MediaWiki, tmp_path: Path) -> None:
    with installed_wiki.running() as served:
        first = transcript(live(served, tmp_path / "replies.sqlite"))
    assert transcript(live(served, tmp_path / "replies.sqlite")) == first
