"""Snapshots of real bibliographies: three formats with their dumps' quirks, and what becomes of broken records."""

from __future__ import annotations

import gzip
import json
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r_eval.environments.aminer import AMiner, Author, indexing
from r_eval.environments.aminer.importing import Report, import_file
from r_eval.environments.aminer.snapshot import content_hash
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

    def aminer(self, content: str | bytes, format: str | None = None) -> AMiner:
        self.report(content, format)
        return AMiner(str(self.out))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def lines(*papers: dict[str, Any]) -> str:
    return "".join(json.dumps(paper) + "\n" for paper in papers)


def paper(key: str = "p1", **fields: Any) -> dict[str, Any]:
    return {"id": key, "title": f"Title {key}", "year": 2001, "n_citation": 3, "authors": [{"name": "Ada"}]} | fields


ADA, BOB = {"id": "a", "name": "Ada Lovelace", "org": "Acme"}, {"id": "b", "name": "Bob", "org": "Beta Lab"}


# Citation network: scholars


def test_a_scholar_is_made_of_all_papers(desk: Desk) -> None:
    aminer = desk.aminer(
        lines(
            paper("p1", authors=[ADA, BOB], year=2010, n_citation=4, keywords=["sorting"]),
            paper("p2", authors=[ADA | {"org": "Old Place"}], year=1999, n_citation=1, keywords=["Sorting", "graphs"]),
            paper("p3", authors=[BOB], n_citation=9),
        )
    )
    (found,) = aminer.searchPerson(name="lovelace ada")
    assert (found.person_id, found.organization, found.num_pubs, found.num_citation) == ("a", "Acme", 2, 5)
    assert found.interests == aminer.getPersonInterest("a") == ["Sorting", "graphs"]
    assert [other.name for other in aminer.getCoauthors("a")] == ["Bob"]
    assert [one.pub_id for one in aminer.getPersonPubs("b")] == ["p3", "p1"]
    assert aminer.getPublication("p1").author_list == [Author("a", "Ada Lovelace"), Author("b", "Bob")]
    assert {person["name"]: person["h_index"] for person in aminer.records("person")} == {"Ada Lovelace": 1, "Bob": 2}


def test_what_a_dump_does_not_say_is_empty(desk: Desk) -> None:
    info = desk.aminer(lines(paper(authors=[ADA]))).getPersonBasicInfo("a")
    assert (info.gender, info.position, info.bio, info.email) == ("", "", "", "")
    assert info.education_experience == info.work_experience == []


def test_the_organization_is_the_latest_that_is_known(desk: Desk) -> None:
    written = [(1990, "First"), (2005, "Second"), (2010, ""), (0, "Undated")]
    papers = [paper(f"p{n}", year=year, authors=[ADA | {"org": org}]) for n, (year, org) in enumerate(written)]
    assert desk.aminer(lines(*papers)).getPersonBasicInfo("a").organization == "Second"


def test_the_name_is_the_most_frequent_and_of_equals_the_longest(desk: Desk) -> None:
    names = ["A. Lovelace", "Ada Lovelace", "A. Lovelace", "Ada Lovelace"]
    papers = [paper(f"p{n}", authors=[ADA | {"name": name}]) for n, name in enumerate(names)]
    assert desk.aminer(lines(*papers)).getPersonBasicInfo("a").name == "Ada Lovelace"


def test_without_ids_name_and_organization_make_a_scholar(desk: Desk) -> None:
    authors = [("Wei Wang", "MIT"), ("WEI WANG", "M I T"), ("Wei  Wang", "mit"), ("Wei Wang", "UCLA")]
    papers = [paper(f"p{n}", authors=[{"name": name, "org": org}]) for n, (name, org) in enumerate(authors)]
    aminer = desk.aminer(lines(*papers))
    assert sorted(person.num_pubs for person in aminer.searchPerson(name="Wei Wang")) == [1, 1, 2]


def test_an_author_stands_once_on_a_paper(desk: Desk) -> None:
    assert desk.aminer(lines(paper(authors=[ADA, BOB, ADA]))).getPublication("p1").author_list[1:] == [
        Author("b", "Bob")
    ]


def test_interests_are_weighed_over_all_papers(desk: Desk) -> None:
    fields = [{"name": "Mathematics", "w": 0.4}, {"name": "Sorting", "w": 0.9}, {"name": "Noise", "w": 0.0}]
    papers = [paper(f"p{n}", authors=[ADA], fos=fields, keywords=keys) for n, keys in enumerate([["sets"], [], []])]
    assert desk.aminer(lines(*papers)).getPersonInterest("a") == ["Sorting", "Mathematics", "sets"]


def test_at_most_ten_interests_are_kept(desk: Desk) -> None:
    aminer = desk.aminer(lines(paper(authors=[ADA], keywords=[f"topic {n}" for n in range(30)])))
    assert len(aminer.getPersonInterest("a")) == 10


def test_citations_are_counted_in_the_file_where_the_source_does_not(desk: Desk) -> None:
    one, two, three = paper("p1"), paper("p2", references=["p1", "p1", "x"]), paper("p3", references=["p1", "p2"])
    del one["n_citation"]
    two["n_citation"] = "many"
    aminer = desk.aminer(lines(one, two, three))
    assert [aminer.getPublication(key).num_citation for key in ("p1", "p2", "p3")] == [2, 1, 3]


# Citation network: forms of the file


def test_all_ways_to_write_the_dump_give_the_same_snapshot(desk: Desk) -> None:
    papers = [
        paper("p1", authors=[ADA], title='A [ { title, "x": } ]'),
        paper("p2", authors=[BOB], abstract="Ünï\n\ncode"),
    ]
    texts = [
        lines(*papers),
        "\ufeff" + json.dumps(papers),
        json.dumps(papers, indent=4, ensure_ascii=False),
        json.dumps(papers, indent=0),
        json.dumps(papers, separators=(",", ":")),
        "[\n" + "\n,".join(map(json.dumps, papers)) + "\n]\n",
        "[" + ",\r\n".join(map(json.dumps, papers)) + "\r\n]",
        "".join(map(json.dumps, papers)),
        json.dumps({"papers": papers}),
    ]
    hashes = {desk.report(text).content_hash for text in texts[:-1]}
    assert len(hashes) == 1
    assert desk.report(gzip.compress(texts[0].encode())).content_hash in hashes


def test_numbers_in_mongodbs_wrapping_are_numbers(desk: Desk) -> None:
    text = """[
    {
        "_id" : "p1", "title" : "Of \\"NumberInt(5)\\"", "year" : NumberInt(1984), "n_citation" : NumberLong("12"),
        "authors" : [ { "_id" : "a", "name" : "Ada", "gid": NaN } ], "venue" : { "_id" : "v", "raw" : "J. Sort." }
    },
    {
        "_id" : {"$oid": "p2"}, "title" : "Other", "year" : NumberInt( 1985 ), "authors" : []
    }
]"""
    found = desk.aminer(text).getPublication("p1")
    assert (found.title, found.year, found.num_citation, found.venue) == ('Of "NumberInt(5)"', 1984, 12, "J. Sort.")
    assert AMiner(str(desk.out)).getPublication("p2").year == 1985


def test_an_inverted_abstract_is_put_in_order(desk: Desk) -> None:
    index = {"IndexLength": 10**12, "InvertedIndex": {"sort": [1, 3], "We": [0], "and": [2], "bad": "x", "no": [None]}}
    assert desk.aminer(lines(paper(indexed_abstract=index))).getPublication("p1").abstract == "We sort and sort"


def test_objects_are_read_across_the_pieces_of_a_file(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    papers = [paper(f"p{n}", authors=[ADA], title='Ünï \\ "q" { [ ' + "x" * n) for n in range(40)]
    wrapped = json.dumps(papers, indent=1).replace(" 2001", " NumberInt(2001)")
    whole = desk.report(wrapped)
    for size in (1, 2, 3, 7, 50, 333):
        monkeypatch.setattr("r_eval.environments.aminer.importing.source_file._CHUNK", size)
        assert desk.report(wrapped, "citation-network") == whole
    assert (whole.publications, whole.broken) == (40, {})


# Citation network: what is wrong


@pytest.mark.parametrize(
    "torn",
    [
        '{"id": "t", "title": "cut in a text\n',
        '{"id": "t", "title": "x", "year": \n',
        '{"id": "t", "title": "x", "authors": [{"id": "a", "name": "Ada"},\n',
        '{"id": "t", "title": "x"\n',
        '{"id": "t", "title": "x", "year": 19x4}\n',
        '{"id": "t", "title": "x", "venue": {"raw": "y"}}}\n'.replace("}}}", "]}"),
        '{"id": "t", "title": "x", "year": ' + "9" * 5000 + "}\n",
        '{"id": "t", "title": "x", "deep": ' + "[" * 100_000 + "}\n",
        '{"id": "t", "title": "x", "year": NumberInt(x)}\n',
    ],
)
def test_a_torn_record_costs_only_itself(desk: Desk, torn: str) -> None:
    report = desk.report(lines(paper("p1")) + torn + lines(paper("p2"), paper("p3")))
    assert (report.publications, report.broken) == (3, {"not readable as JSON": 1})
    assert report.first == {"not readable as JSON": 2}


def test_a_file_that_ends_too_early_keeps_what_was_whole(desk: Desk) -> None:
    text = json.dumps([paper("p1"), paper("p2"), paper("p3")], indent=2)
    report = desk.report(text[:-20])
    assert (report.publications, report.broken) == (2, {"not readable as JSON": 1})


def test_a_damaged_gzip_keeps_what_was_whole(desk: Desk) -> None:
    packed = gzip.compress(lines(*(paper(f"p{n}", title=f"{n * 7919}") for n in range(5000))).encode())
    report = desk.report(packed[: len(packed) // 2])
    assert 100 < report.publications < 5000
    assert report.broken["the compressed file is damaged or ends early"] == 1


def test_duplicates_and_broken_records_are_counted_by_kind(desk: Desk) -> None:
    report = desk.report(
        lines(
            paper("p1"),
            paper("p1", title="Again"),
            paper("p2", title=""),
            {"title": "No id"},
            paper("has space"),
            paper("p3", year="soon", authors=None),
            paper("p4", authors=[{"org": "Nobody's"}, ADA]),
        )
    )
    assert (report.publications, report.scholars, report.duplicates) == (3, 2, 1)
    assert report.broken == {"no title": 1, "no usable id": 2}
    assert report.gaps == {"no usable year": 1, "no authors": 1, "an author without a name": 1}
    assert report.first["no usable id"] == 4
    assert "left out: 2 with: no usable id (first: record 4)" in report.lines()
    assert AMiner(str(desk.out)).searchPublication("Again") == []


@pytest.mark.parametrize("text", ["[]", "{}", '{"a": 1}\n{"b": 2}', "[1, 2, 3]", "{" * 1000, '["a"]'])
def test_a_file_without_a_usable_record_is_refused(desk: Desk, text: str) -> None:
    with pytest.raises(UserError, match="no publication that can be used as citation-network"):
        desk.report(text)
    assert not desk.out.exists()


@pytest.mark.parametrize("text", ["", "hello", "<html></html>", "id,title\n1,x\n", "\x00\x01", "%PDF-1.7"])
def test_a_file_of_another_format_is_refused(desk: Desk, text: str) -> None:
    with pytest.raises(UserError, match="no known format"):
        desk.report(text)


def test_a_missing_file_and_an_unknown_format_are_refused(desk: Desk) -> None:
    with pytest.raises(UserError, match="cannot read"):
        import_file(desk.folder / "none", desk.out)
    with pytest.raises(UserError, match="expected one of citation-network, dblp, bibtex"):
        desk.report("[]", "csv")


def test_a_place_that_cannot_be_written_is_named(desk: Desk) -> None:
    path = desk.file(lines(paper()))
    with pytest.raises(UserError, match=f"cannot write {path}/out"):
        import_file(path, path / "out")


def test_nothing_is_left_behind_and_an_old_snapshot_stays(desk: Desk) -> None:
    desk.report(lines(paper()))
    before = desk.out.read_bytes()
    with pytest.raises(UserError):
        desk.report("[]")
    assert desk.out.read_bytes() == before
    assert [entry.name for entry in desk.out.parent.iterdir()] == ["out.sqlite"]


ANY = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8) | st.just("\ud800\x00"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "_id", "name", "org", "raw", "w", "InvertedIndex", "$oid"]), inner)
    ),
    max_leaves=8,
)
FIELDS = ["id", "title", "authors", "venue", "year", "n_citation", "references", "abstract", "indexed_abstract",
          "keywords", "fos"]  # fmt: skip


@EACH
@given(odd=st.lists(st.dictionaries(st.sampled_from(FIELDS), ANY), max_size=6))
def test_ill_typed_fields_never_stop_an_import(desk: Desk, odd: list[dict[str, Any]]) -> None:
    good = paper("good", authors=[ADA])
    report = desk.report(lines(*({**paper(f"p{n}"), **fields} for n, fields in enumerate(odd)), good))
    assert report.publications + report.duplicates + sum(report.broken.values()) == len(odd) + 1
    aminer = AMiner(str(desk.out))
    for kind, api, key in (("person", "getPersonPubs", "person_id"), ("publication", "getPublication", "pub_id")):
        for record in aminer.records(kind):
            aminer.render(api, getattr(aminer, api)(record[key]))


@EACH
@given(text=st.text('{}[]",:\\ \nN1aé', max_size=60))
def test_any_text_between_two_records_leaves_the_first(desk: Desk, text: str) -> None:
    report = desk.report(lines(paper("p1")) + text + "\n" + lines(paper("p2")))
    assert 1 <= report.publications <= 2
    assert sum(report.broken.values()) <= 30


# DBLP


def dblp(*records: str, declared: str = "") -> str:
    head = f'<?xml version="1.0" encoding="ISO-8859-1"?>\n<!DOCTYPE dblp SYSTEM "dblp.dtd"{declared}>'
    return f"{head}\n<dblp>{''.join(records)}</dblp>"


ARTICLE = """<article key="journals/x/Y99" mdate="2020-01-01"><author orcid="0">J&ouml;rg M&uuml;ller 0001</author>
<author>Ana Lima</author><title>Sorting in <i>O</i>(<sub>n</sub>) &amp; more &mdash; again.</title><year>1999</year>
<journal>J. Sort.</journal><cite>conf/z/B00</cite><cite>...</cite></article>"""
TALK = """<inproceedings key="conf/z/B00"><author>J&ouml;rg M&uuml;ller 0002</author><title>Talk.</title>
<year>2000</year><booktitle>Z</booktitle></inproceedings>"""
HOME = """<www key="homepages/m/1"><author>J&ouml;rg M&uuml;ller 0001</author><author>J. M&uuml;ller</author>
<title>Home Page</title><note type="award">x</note><note type="affiliation">Acme</note></www>"""


def test_dblp_is_read_with_its_entities_and_markup(desk: Desk) -> None:
    aminer = desk.aminer(dblp(ARTICLE, HOME, TALK))
    found = aminer.getPublication("journals/x/Y99")
    assert found.title == "Sorting in O(n) & more — again"
    assert (found.year, found.venue, found.num_citation) == (1999, "J. Sort.", 0)
    assert [author.name for author in found.author_list] == ["Jörg Müller", "Ana Lima"]
    assert aminer.getPublication("conf/z/B00").num_citation == 1


def test_dblps_numbers_tell_namesakes_apart_and_home_pages_their_organization(desk: Desk) -> None:
    found = desk.aminer(dblp(ARTICLE, HOME, TALK)).searchPerson(name="Jörg Müller")
    assert sorted((person.name, person.organization) for person in found) == [
        ("Jörg Müller", ""),
        ("Jörg Müller", "Acme"),
    ]


def test_broken_dblp_records_are_counted(desk: Desk) -> None:
    report = desk.report(
        dblp(ARTICLE, ARTICLE, "<article><title>x</title></article>", "<book key='b'><year>1</year></book>")
    )
    assert (report.publications, report.duplicates) == (1, 1)
    assert report.broken == {"no usable key": 1, "no title": 1}


def test_dblp_that_ends_too_early_keeps_what_was_whole(desk: Desk) -> None:
    report = desk.report(dblp(ARTICLE, TALK, ARTICLE)[:-60])
    assert (report.publications, report.broken) == (2, {"no XML from here on": 1})


LAUGHS = " [" + '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 30)) + "]"


@pytest.mark.parametrize(
    "declared",
    [
        LAUGHS,
        ' [<!ENTITY a29 SYSTEM "file:///etc/passwd">]',
        ' [<!ENTITY % a29 SYSTEM "http://127.0.0.1:1/x.dtd"> %a29;]',
        ' [<!ENTITY a29 "' + "x" * 100_000 + '">]',
    ],
    ids=["laughs", "file", "parameter", "blowup"],
)
def test_entities_of_the_files_own_are_refused_without_being_read(desk: Desk, declared: str) -> None:
    record = "<article key='k'><title>&a29;" + "&a29;" * 1000 + "</title></article>"
    with pytest.raises(UserError, match="defines XML entities of its own"):
        desk.report(dblp(record, declared=declared))
    assert not desk.out.exists()


def test_an_entity_that_nobody_defines_is_a_space(desk: Desk) -> None:
    aminer = desk.aminer(dblp("<article key='k'><author>A</author><title>one&nosuch;two</title></article>"))
    assert aminer.getPublication("k").title == "one two"


def test_a_dtd_is_never_fetched(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a connection was opened"))
    (desk.folder / "dblp.dtd").write_text("<!ENTITY uuml 'WRONG'>", encoding="utf-8")
    monkeypatch.chdir(desk.folder)
    aminer = desk.aminer(dblp(ARTICLE).replace('"dblp.dtd"', '"http://127.0.0.1:1/dblp.dtd"'))
    assert aminer.searchPerson(name="Müller")


@EACH
@given(cut=st.integers(0, 900), junk=st.text("<>&;/\"'a=!-[] ", max_size=12))
def test_damaged_xml_never_stops_an_import(desk: Desk, cut: int, junk: str) -> None:
    text = dblp(TALK, ARTICLE, HOME, ARTICLE.replace("Y99", "Z"))
    start = text.index("</inproceedings>") + 20
    report = desk.report(text[: start + cut] + junk + text[start + cut :], "dblp")
    assert report.publications >= 1


# BibTeX


@pytest.fixture
def bibtex(desk: Desk) -> Desk:
    for package in ("pybtex", "pylatexenc"):
        pytest.importorskip(package, reason=f"BibTeX needs {package}")
    return desk


BIB = r"""% A comment, and an address me@example.org
@string{js = "J. Sort."}
@comment{ignored}
@Article{knuth:84,
  author = {Donald E. Knuth and M{\"u}ller, J{\"o}rg and {The {ACM} and Friends} and others},
  title = "Literate {P}rogramming \& $O(n)$ {\em more}", journal = js # { B}, year = 1984,
  keywords = {sorting, Graphs; sets}, abstract = {About 100\% of
     it.}, month = jan
}
@phdthesis(lima, author = "Lima, Ana", title = {A Thesis}, school = {Acme University}, date = {2004-05-06})
"""


def test_bibtex_is_read_with_its_strings_names_and_accents(bibtex: Desk) -> None:
    aminer = bibtex.aminer(BIB)
    found = aminer.getPublication("knuth:84")
    assert found.title == "Literate Programming & O(n) more"
    assert (found.venue, found.year, found.abstract) == ("J. Sort. B", 1984, "About 100% of it.")
    assert [author.name for author in found.author_list] == ["Donald E. Knuth", "Jörg Müller", "The ACM and Friends"]
    assert aminer.searchPerson(name="Knuth")[0].interests == ["graphs".title(), "sets", "sorting"]
    (lima,) = aminer.searchPerson(name="Ana Lima")
    assert (lima.organization, aminer.getPublication("lima").year) == ("Acme University", 2004)


def test_a_broken_entry_costs_only_itself(bibtex: Desk) -> None:
    broken = "@article{x, title = {unclosed, author = {A}\n\n@book{untitled, year = 2000}\n@misc{,title={x}}\n"
    report = bibtex.report(
        BIB + broken + "@misc{last, title={Last}, author={B, C, D, E, F}}\n@misc{last, title={Twice}}"
    )
    assert (report.publications, report.duplicates) == (3, 1)
    assert report.broken == {"not readable as BibTeX": 2, "no title": 1}


def test_a_string_that_nothing_defines_stands_for_itself(bibtex: Desk) -> None:
    assert bibtex.aminer("@article{k, title={T}, author={A}, journal=jacm}").getPublication("k").venue == "jacm"


def test_entries_are_read_across_the_pieces_of_a_file(bibtex: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bibtex.report(BIB)
    for size in (1, 5, 64):
        monkeypatch.setattr("r_eval.environments.aminer.importing.source_file._CHUNK", size)
        assert bibtex.report(BIB, "bibtex") == whole


def test_an_entry_without_end_is_left_out(bibtex: Desk) -> None:
    report = bibtex.report(BIB + "@misc{long, title={" + "x y" * 700_000 + "\n@misc{after, title={After}}")
    assert (report.publications, report.broken) == (3, {"an entry without end": 1})


@EACH
@given(junk=st.text('@{}(),="#%\\$~ \na1é', max_size=40))
def test_damaged_bibtex_never_stops_an_import(bibtex: Desk, junk: str) -> None:
    report = bibtex.report(
        f"{BIB}@misc{{odd, title={{a{junk}}}, author={{{junk}}}, note={junk}}}\n@misc{{z, title={{Z}}}}"
    )
    assert report.publications >= 2


# The snapshot


def test_the_stored_hash_is_the_hash_of_the_stored_rows(desk: Desk) -> None:
    report = desk.report(lines(paper("p1", authors=[ADA, BOB]), paper("p2")))
    with closing(sqlite3.connect(desk.out)) as connection:
        assert content_hash(connection) == report.content_hash
    assert report.content_hash.startswith(AMiner(str(desk.out)).version)


def test_one_file_gives_one_hash_and_another_file_another(desk: Desk) -> None:
    one, again, other = (desk.report(lines(paper(year=year))).content_hash for year in (2001, 2001, 2002))
    assert one == again != other


def test_progress_is_told_in_bytes_up_to_the_whole(desk: Desk) -> None:
    path = desk.file(lines(*(paper(f"p{n}", abstract="x" * 2000) for n in range(1500))))
    told: list[int] = []
    import_file(path, desk.out, progress=told.append)
    assert told == sorted(told)
    assert len(told) >= 3
    assert told[-1] == path.stat().st_size


def test_memory_does_not_grow_with_the_file(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, size in (("source_file._CHUNK", 2**12), ("staging._BATCH", 50)):
        monkeypatch.setattr(f"r_eval.environments.aminer.importing.{limit}", size)
    monkeypatch.setattr(indexing, "_folded", indexing._folded.__wrapped__)
    for limit in ("_BATCH", "_MOST_WORDS"):
        monkeypatch.setattr(indexing, limit, 50)

    def peak(papers: int) -> int:
        authors = [[{"name": f"Scholar {n * k % papers}", "org": "Acme"} for k in (1, 3)] for n in range(papers)]
        path = desk.file(lines(*(paper(f"p{n}", authors=team, keywords=[f"t{n}"]) for n, team in enumerate(authors))))
        tracemalloc.start()
        try:
            import_file(path, desk.out)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(50)
    assert peak(800) < 2 * peak(200)  # four times as much, were it all held
