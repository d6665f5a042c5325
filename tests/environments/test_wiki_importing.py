"""Snapshots of real wikis: three formats with their dumps' quirks, and what becomes of broken records."""

from __future__ import annotations

import bz2
import gzip
import json
import random
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r_eval.environments.base import NotFound
from r_eval.environments.wiki import Wiki
from r_eval.environments.wiki.importing import Report, import_file
from r_eval.environments.wiki.importing.records import pieces
from r_eval.environments.wiki.snapshot import content_hash
from r_eval.errors import UserError

EACH = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


class Desk:
    """Imports texts in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "made" / "out.sqlite"

    def file(self, content: str | bytes) -> Path:
        path = self.folder / "dump"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def report(self, content: str | bytes, format: str | None = None) -> Report:
        return import_file(self.file(content), self.out, format)

    def wiki(self, content: str | bytes, format: str | None = None) -> Wiki:
        self.report(content, format)
        return Wiki(str(self.out))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def lines(*objects: Any) -> str:
    return "".join(json.dumps(found) + "\n" for found in objects)


def page(title: str = "Kenya", text: Any = "Kenya is a country.", **fields: Any) -> dict[str, Any]:
    return {"title": title, "text": text, **fields}


def looked_up(wiki: Wiki, title: str, keyword: str) -> list[str]:
    """All paragraphs of a page that hold a keyword."""
    session, found = wiki.open(), []
    session.Search(title)
    while True:
        try:
            found.append(session.Lookup(keyword).partition(") ")[2])
        except NotFound:
            return found


def similar(wiki: Wiki, text: str) -> str:
    with pytest.raises(NotFound) as refused:
        wiki.open().Search(text)
    return str(refused.value)


# JSON Lines


def test_a_page_is_found_by_its_title_and_its_redirects(desk: Desk) -> None:
    wiki = desk.wiki(lines(page(redirects=["Land of tea", {"title": "Keñia"}])))
    assert wiki.Search("KENYA") == wiki.Search("land of tea") == wiki.Search("Kenia") == "Kenya is a country."


@pytest.mark.parametrize(
    "text",
    [
        "It is big.\n\n== Cities ==\n\nIt has\nNairobi.",
        "It is big.\r\n\r\n== Cities ==\r\n\r\nIt has Nairobi.",
        "It is big.\n== Cities ==\nIt has Nairobi.",
        [["It is big."], ["== Cities =="], ["It has", " Nairobi."]],
        [["Kenya"], ["It is big."], ['It <a href="has">has</a> <a href="x">Nairobi</a>.']],
    ],
)
def test_paragraphs_in_every_form_of_a_text(desk: Desk, text: Any) -> None:
    wiki = desk.wiki(lines(page(text=text)))
    assert wiki.Search("Kenya") == "It is big."
    assert looked_up(wiki, "Kenya", "it has") == ["It has Nairobi."]
    assert looked_up(wiki, "Kenya", "cities") == []


def test_a_list_of_sentences_is_one_paragraph(desk: Desk) -> None:
    assert desk.wiki(lines(page(text=["It is big.", " It has tea."]))).Search("Kenya") == "It is big. It has tea."


def test_the_title_above_the_text_is_no_paragraph(desk: Desk) -> None:
    assert desk.wiki(lines(page(text="Kenya\n\nIt is big."))).Search("Kenya") == "It is big."


def test_titles_that_only_case_tells_apart_are_both_kept(desk: Desk) -> None:
    report = desk.report(lines(page("Iron man", "A race."), page("Iron Man", "A hero.", popularity=9)))
    wiki = Wiki(str(desk.out))
    assert (report.pages, report.alike) == (2, 1)
    assert wiki.Search("Iron man") == "A race."
    assert wiki.Search("Iron Man") == wiki.Search("IRON MAN") == "A hero."
    assert "[Iron Man, Iron man]" in similar(wiki, "Irom man")


def test_choices_make_a_disambiguation_page(desk: Desk) -> None:
    mercury = {"title": "Mercury", "choices": ["Mercury (planet)", {"title": "quicksilver", "description": "a metal"}]}
    wiki = desk.wiki(
        lines(
            {**mercury, "redirects": ["Mercurius"]},
            page("Mercury (planet)", "Mercury is a planet. It is hot."),
            page("Mercury (element)", "Mercury is liquid.", redirects=["Quicksilver"]),
        )
    )
    offered = "Mercury may refer to:\nMercury (planet): Mercury is a planet.\nMercury (element): a metal"
    assert wiki.Search("mercury") == wiki.Search("Mercurius") == offered


def test_choices_that_are_no_pages_are_dropped(desk: Desk) -> None:
    choices = {"title": "Mercury", "choices": ["Kenya", "Nowhere", 3, "kenya", {"title": None}]}
    nothing = {"title": "Void", "choices": ["Nowhere"]}
    report = desk.report(lines(page(description="a country"), choices, nothing))
    assert Wiki(str(desk.out)).Search("Mercury") == "Mercury may refer to:\nKenya: a country"
    assert report.disambiguations == 1
    assert sum(report.broken.values()) == 1


def test_a_page_comes_before_a_redirect_and_the_more_popular_page_before_the_other(desk: Desk) -> None:
    wiki = desk.wiki(
        lines(
            page("Nairobi", "A city.", redirects=["Kenya", "Capital"]),
            page(),
            page("Tokyo", "A larger city.", redirects=["Capital"], popularity=2),
        )
    )
    assert wiki.Search("Kenya") == "Kenya is a country."
    assert wiki.Search("Capital") == "A larger city."


def test_what_cannot_be_used_is_counted(desk: Desk) -> None:
    report = desk.report(
        lines(page(), page(), page("", "x"), page("y" * 301), page("Empty", " \n"), page("Number", 7), [1], page(" - "))
        + '{"title": torn\n'
        + '{"a":' * 100_000
        + "\n\n"
    )
    assert (report.pages, report.duplicates) == (2, 1)
    assert sum(report.broken.values()) == 7
    assert report.first["no text"] == 5
    said = "\n".join(report.lines())
    assert said.startswith("2 pages, 0 redirects, 0 disambiguation pages (json-lines)\n")
    assert "left out: 3 with: not a JSON object in one line (first: record 7)" in said


def test_pages_are_records_for_templates(desk: Desk) -> None:
    wiki = desk.wiki(lines(page(), page("Japan", "An island.", popularity=3)))
    assert wiki.records("page") == [{"title": "Japan", "popularity": 3}, {"title": "Kenya", "popularity": 0}]


@EACH
@given(junk=st.text(st.characters(), max_size=60))
def test_no_text_stops_an_import(desk: Desk, junk: str) -> None:
    report = desk.report(
        lines(page(), page(junk, junk, redirects=[junk], description=junk), {"title": "M", "choices": [junk]})
        + junk.encode("utf-8", "replace").decode()
        + "\n"
        + lines(page("Last"))
    )
    assert report.pages >= 2
    assert Wiki(str(desk.out)).Search("Last") == "Kenya is a country."


# CirrusSearch


def document(title: str, text: str, opening: str | None = None, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    index = {"index": {"_type": "_doc", "_id": "7"}}
    return index, {"title": title, "namespace": 0, "text": text, "opening_text": opening, **fields}


def test_a_cirrus_document_is_a_page_with_its_opening_first(desk: Desk) -> None:
    redirect = [{"namespace": 0, "title": "Land of tea"}, {"namespace": 10, "title": "Kenya box"}]
    text = "Kenya is big. It has tea. " + "Nairobi grew. " * 100
    fields = {"redirect": redirect, "incoming_links": 5, "auxiliary_text": ["Capital Nairobi hidden"]}
    wiki = desk.wiki(lines(*document("Kenya", text, "Kenya is big. It has tea.", **fields)))
    assert wiki.Search("Land of tea") == "Kenya is big. It has tea."
    assert "Could not find" in similar(wiki, "Kenya box")
    parts = looked_up(wiki, "Kenya", "nairobi")
    assert len(parts) > 1
    assert max(map(len, parts)) <= 600
    assert looked_up(wiki, "Kenya", "hidden") == []
    assert wiki.records("page") == [{"title": "Kenya", "popularity": 5}]


def test_pages_of_other_namespaces_are_left_out(desk: Desk) -> None:
    report = desk.report(lines(*document("Kenya", "A country."), *document("Talk:Kenya", "Hm.", namespace=1)))
    assert (report.format, report.pages) == ("cirrus", 1)
    assert "another namespace" in report.lines()[1]


@pytest.mark.parametrize(
    "mark",
    [
        {"template": ["Template:Main other", "Template:Disambiguation"]},
        {"category": ["All disambiguation pages"]},
        {"category": ["Place name disambiguation pages"]},
        {"opening_text": "Mercury may refer to:"},
    ],
)
def test_a_marked_document_is_a_disambiguation_page(desk: Desk, mark: dict[str, Any]) -> None:
    links = ["Help:Disambiguation", "Mercury_(planet)", "Nowhere"]
    _, mercury = document("Mercury", "Mercury may refer to: a planet", outgoing_link=links)
    wiki = desk.wiki(lines(*document("Mercury (planet)", "Mercury is a planet."), {"index": {}}, mercury | mark))
    assert wiki.Search("Mercury") == "Mercury may refer to:\nMercury (planet): Mercury is a planet."


def test_documents_of_odd_types_are_no_more_than_broken(desk: Desk) -> None:
    odd = {"title": "Odd", "text": 5, "redirect": {"a": 1}, "template": "x", "category": [None], "incoming_links": "7"}
    report = desk.report(lines(*document("Kenya", "A country."), {"index": None}, odd, {"index": {}}))
    assert (report.pages, report.broken) == (1, {"no text": 1})


@pytest.mark.parametrize("text", ["One. Two! Three?", "一。二！三？", "no end", "a\nb. c", ""])
def test_pieces_hold_the_whole_text(text: str) -> None:
    for most in (1, 5, 100):
        assert "".join("".join(pieces(text, most)).split()) == "".join(text.split())


# ZIM


def test_a_zim_file_is_imported_with_redirects_and_choices(desk: Desk) -> None:
    pytest.importorskip("lxml", reason="reading HTML needs lxml")
    writer: Any = pytest.importorskip("libzim.writer", reason="ZIM files need libzim")

    class Item(writer.Item):  # type: ignore[misc]
        def __init__(self, title: str, body: str) -> None:
            super().__init__()
            self.title, self.body = title, body

        def get_path(self) -> str:
            return self.title.replace(" ", "_")

        def get_title(self) -> str:
            return self.title

        def get_mimetype(self) -> str:
            return "text/html"

        def get_contentprovider(self) -> Any:
            return writer.StringProvider(f"<html><body>{self.body}</body></html>")

        def get_hints(self) -> dict[Any, Any]:
            return {writer.Hint.FRONT_ARTICLE: True}

    path = desk.folder / "wiki.zim"
    with writer.Creator(path) as creator:
        creator.add_item(Item("Mercury (planet)", "<p>Mercury is a planet.</p><h2>Orbit</h2><p>It is near.</p>"))
        link = '<li><a href="Mercury_(planet)">Mercury (planet)</a>, a planet</li>'
        creator.add_item(Item("Mercury", f"<p>Mercury may refer to:</p><ul>{link}</ul>"))
        creator.add_item(Item("Template:Box", "<p>No article.</p>"))
        creator.add_redirection("Swift_planet", "Swift planet", "Mercury_(planet)", {})
        creator.add_redirection("Mercurius", "Mercurius", "Mercury", {})
    told: list[int] = []
    report = import_file(path, desk.out, progress=told.append)
    wiki = Wiki(str(desk.out))
    assert (report.format, report.pages, report.redirects, report.disambiguations) == ("zim", 1, 1, 1)
    assert wiki.Search("swift planet") == "Mercury is a planet."
    assert wiki.Search("Mercurius") == "Mercury may refer to:\nMercury (planet): a planet"
    assert looked_up(wiki, "Swift planet", "near") == ["It is near."]
    assert told == sorted(told)
    assert told[-1] == path.stat().st_size


def test_a_damaged_zim_file_is_said_so(desk: Desk) -> None:
    pytest.importorskip("libzim", reason="ZIM files need libzim")
    with pytest.raises(UserError, match="is no ZIM file, or not whole"):
        desk.report(b"ZIM\x04" + b"\0" * 200)


# The file


@pytest.mark.parametrize("packed", [gzip.compress, bz2.compress])
def test_compressed_files_are_read(desk: Desk, packed: Any) -> None:
    plain = lines(page(), page("Japan")).encode()
    halves = plain.split(b"\n", 1)
    once, twice = desk.report(packed(plain)), desk.report(packed(halves[0] + b"\n") + packed(halves[1]))
    assert once == twice == desk.report(plain)


@pytest.mark.parametrize("packed", [gzip.compress, bz2.compress])
def test_what_stands_before_the_damage_of_a_compressed_file_is_kept(desk: Desk, packed: Any) -> None:
    whole = packed(lines(page()).encode()) + packed(lines(*(page(f"P {n}", f"{n} " * 99) for n in range(999))).encode())
    report = desk.report(whole[:-100])
    assert report.pages >= 1
    assert "left out: 1 with: the compressed file is damaged or ends early" in report.lines()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no known format"),
        (b"Kenya is a country.", "no known format"),
        (b'<mediawiki xmlns="x"><page/>', "XML dump of MediaWiki.*source: live"),
        (b'{"id": 1}\n', r"no page that can be used as json-lines \(1 with: no usable title"),
        (b'{"index": {}}\n', r"as cirrus \(no records\)"),
    ],
)
def test_a_file_without_pages_is_refused_and_leaves_nothing(desk: Desk, content: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        desk.report(content)
    assert not desk.out.parent.exists() or not list(desk.out.parent.iterdir())


def test_an_unknown_format_is_refused(desk: Desk) -> None:
    with pytest.raises(UserError, match="unknown format 'xml'; expected one of json-lines, cirrus, zim"):
        desk.report(lines(page()), "xml")


def test_a_failed_import_keeps_the_snapshot_that_was_there(desk: Desk) -> None:
    version = desk.wiki(lines(page())).version
    with pytest.raises(UserError):
        desk.report(lines({"id": 1}))
    assert Wiki(str(desk.out)).version == version
    assert [path.name for path in desk.out.parent.iterdir()] == ["out.sqlite"]


def test_the_stored_hash_is_the_hash_of_the_stored_rows(desk: Desk) -> None:
    report = desk.report(lines(page(redirects=["Land of tea"]), {"title": "K", "choices": ["Kenya"]}))
    with closing(sqlite3.connect(desk.out)) as connection:
        assert content_hash(connection) == report.content_hash
    assert report.content_hash.startswith(Wiki(str(desk.out)).version)


def test_the_hash_does_not_depend_on_the_order_of_the_records(desk: Desk) -> None:
    choices = [{"title": "K", "choices": ["Kenya", "Japan"]}, {"title": "k", "choices": ["Japan"]}]
    pages = [
        page(redirects=["Tea"]),
        page("KENYA", "A ship."),
        page("Japan", redirects=["Tea"], popularity=2),
        *choices,
    ]
    first = desk.report(lines(*pages)).content_hash
    assert desk.report(lines(*reversed(pages))).content_hash == first
    assert desk.report(lines(*pages[1:])).content_hash != first


def test_memory_does_not_grow_with_the_file(desk: Desk) -> None:
    def peak(pages: int) -> int:
        path = desk.folder / "dump"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(lines(page(f"Page {n}", f"{n} " * 500, redirects=[f"P {n}"])) for n in range(pages))
        tracemalloc.start()
        try:
            import_file(path, desk.out)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    assert peak(2400) < peak(800) + 2**20


def test_a_mistyped_title_is_suggested_among_many_with_the_same_words(desk: Desk) -> None:
    rng = random.Random(0)
    words = ["".join(rng.choices(["ka", "ren", "sto", "vi", "lum", "dor"], k=3)).capitalize() for _ in range(60)]
    titles = sorted({" ".join(rng.sample(words, 3)) for _ in range(3000)})
    wiki = desk.wiki(lines(*(page(title, "A page.") for title in titles)))
    for title in rng.sample(titles, 30):
        place = title.index(" ") + 3
        assert title in similar(wiki, f"{title[:place]}x{title[place + 1 :]}")
