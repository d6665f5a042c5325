"""The wiki environment: true facts, pages that say them in fixed words, and two query APIs that never break."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.environments.base import NotFound
from r_eval.environments.json_lines import read_records
from r_eval.environments.wiki import Wiki
from r_eval.environments.wiki.environment import SNAPSHOT
from r_eval.environments.wiki.pages import Article
from r_eval.errors import UserError
from tests.timing import quickest

Triple = tuple[str, str, str]

# fmt: off
FACTS = [
    ("Kazakhstan", "capital", "Astana"), ("Croatia", "currency", "Euro"), ("Portugal", "borders", "Spain"),
    ("Switzerland", "languages", "Italian"), ("Gold", "symbol", "Au"), ("Germanium", "discovery_year", "1886"),
    ("Albert Einstein", "born", "14 March 1879"), ("Marie Curie", "birth_city", "Warsaw"),
    ("Jane Eyre", "author", "Charlotte Brontë"), ("The Godfather (film)", "based_on", "The Godfather (novel)"),
    ("Vltava", "mouth", "Elbe"), ("Hawaii", "admitted", "21 August 1959"), ("Noble gas", "broader", "Nonmetal"),
    ("Bolivia", "also_instance_of", "Landlocked country"), ("Nairobi", "instance_of", "Capital city"),
]
# fmt: on


def written(folder: Path, *pages: dict[str, Any]) -> Wiki:
    """The wiki of a file with these pages."""
    path = folder / "pages.jsonl"
    path.write_text("".join(json.dumps(page) + "\n" for page in pages), encoding="utf-8")
    return Wiki(str(path))


@pytest.fixture
def wiki() -> Wiki:
    return Wiki()


@pytest.fixture(scope="module")
def lines() -> list[Article]:
    return [article for _, article in read_records(SNAPSHOT, lambda _: Article)]


@pytest.fixture(scope="module")
def articles(lines: list[Article]) -> list[Article]:
    return [page for page in lines if not page.choices]


@pytest.fixture(scope="module")
def texts(articles: list[Article]) -> dict[str, str]:
    return {page.title: page.text for page in articles}


@pytest.fixture(scope="module")
def triples() -> set[Triple]:
    return set(Wiki().triples())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Wiki:
    """Two pages, one of them with two paragraphs that hold the same word, and an ambiguous name."""
    lead = "Ada is a café."
    page = f"{lead}\n\n== Menu ==\n\nTea costs 2.\n\nBlack tea costs 3. It is the best Tea.\n\n== See also ==\n\nBob."
    ada = {"title": "Ada", "kind": "café", "text": page, "popularity": 2, "facts": {"likes": "Bob", "sells": []}}
    bob = {"title": "Bob", "kind": "café", "text": "Bob is a café.", "popularity": 1, "description": "another café"}
    return written(
        tmp_path_factory.mktemp("wiki"),
        bob,
        {**ada, "redirects": ["Lovelace"], "description": "a café"},
        {"title": "Cafés", "choices": ["Ada", "Bob"]},
    )


def refusal(call: Any, argument: str) -> str:
    """The message of a `NotFound`."""
    with pytest.raises(NotFound) as caught:
        call(argument)
    return str(caught.value)


# The embedded pages


def test_its_facts_are_true(triples: set[Triple]) -> None:
    assert set(FACTS) - triples == set()


def test_the_object_of_every_triple_stands_in_its_page(texts: dict[str, str], triples: set[Triple]) -> None:
    assert [triple for triple in triples if triple[2] not in texts[triple[0]]] == []


def test_every_title_and_every_choice_is_found(wiki: Wiki, texts: dict[str, str], lines: list[Article]) -> None:
    ambiguous = [page for page in lines if page.choices]
    assert {title for page in ambiguous for title in page.choices} <= texts.keys()
    assert all(wiki.Search(title) == text.split("\n\n")[0] for title, text in texts.items())
    assert all(wiki.Search(page.title).startswith(f"{page.title} may refer to:\n") for page in ambiguous)


def test_what_falls_under_a_concept_is_listed_there(triples: set[Triple]) -> None:
    named = {(concept, page) for page, relation, concept in triples if relation in ("instance_of", "also_instance_of")}
    assert named == {(concept, page) for concept, relation, page in triples if relation == "instances"}


# Search


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("kEnYa", "Kenya"),
        ("  New \u00a0 Zealand ", "New Zealand"),
        ("sao paulo", "São Paulo"),
        ("São Paulo", "São Paulo"),
        ("Guinea–Bissau", "Guinea-Bissau"),
        ("Nuku’alofa", "Nuku'alofa"),
        ("J. M. Coetzee", "J M Coetzee"),
        ("Solaris film", "Solaris (film)"),
    ],
)
def test_search_folds_case_accents_dashes_and_spaces(wiki: Wiki, texts: dict[str, str], asked: str, title: str) -> None:
    assert wiki.Search(asked) == texts[title].split("\n\n")[0]


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("USA", "United States"),
        ("UK", "United Kingdom"),
        ("Holland", "Netherlands"),
        ("Czechia", "Czech Republic"),
        ("Côte d'Ivoire", "Ivory Coast"),
        ("Burma", "Myanmar"),
        ("Au", "Gold"),
        ("Einstein", "Albert Einstein"),
        ("J.R.R. Tolkien", "J R R Tolkien"),
        ("Washington, D.C.", "Washington"),
        ("English language", "English"),
        ("Titanic", "Titanic (film)"),
    ],
)
def test_search_follows_redirects(wiki: Wiki, asked: str, title: str) -> None:
    assert wiki.Search(asked).startswith(title)


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("Georgia", "Georgia (country)"),
        ("Mercury", "Mercury (planet)"),
        ("Victoria", "Victoria (Seychelles)"),
        ("Cambridge", "Cambridge (Massachusetts)"),
        ("cordoba", "Córdoba (Spain)"),
        ("Curie", "Pierre Curie"),
        ("The Godfather", "The Godfather (novel)"),
        ("Korea", "South Korea"),
    ],
)
def test_an_ambiguous_name_offers_its_choices(wiki: Wiki, asked: str, title: str) -> None:
    found = wiki.Search(asked)
    assert "may refer to:\n" in found
    assert f"\n{title}: " in found


def test_a_name_that_one_page_dominates_leads_to_it(wiki: Wiki) -> None:
    assert wiki.Search("Jordan").startswith("Jordan is a country")
    assert "Jordan River: river" in wiki.Search("Jordan (disambiguation)")


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
def test_what_is_not_found_comes_with_similar_titles(wiki: Wiki, asked: str, title: str) -> None:
    message = refusal(wiki.Search, asked)
    assert message.startswith(f"Could not find [{asked}]. Similar: [")
    similar = message.removesuffix("]").partition("Similar: [")[2].split(", ")
    assert len(similar) <= 10
    assert title in similar[:3]


def test_an_empty_request_is_told_what_to_give(wiki: Wiki) -> None:
    assert "needs the title" in refusal(wiki.Search, "   ")


# Lookup

MANY = "\n\n".join(f"Tea number {number} is sold in Nairobi." for number in range(1, 6))


@pytest.fixture
def reading(small: Wiki) -> Wiki:
    """An episode that reads the page Ada."""
    episode = small.open()
    episode.Search("Ada")
    return episode


def test_lookup_shows_the_paragraphs_that_contain_the_keyword(reading: Wiki) -> None:
    both = "(Result 1 / 2) Tea costs 2.\n(Result 2 / 2) Black tea costs 3. It is the best Tea."
    assert reading.Lookup("TEA") == both
    assert refusal(reading.Lookup, "tea") == "No more results for [tea] in the page Ada."
    assert reading.Lookup("best") == "(Result 1 / 1) Black tea costs 3. It is the best Tea."
    assert reading.Lookup("tea") == both


def test_the_same_keyword_again_shows_the_next_paragraphs(tmp_path: Path) -> None:
    episode = written(tmp_path, {"title": "Tea", "text": MANY})
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


@pytest.mark.parametrize("asked", [None, "nobody", "Cafés"])
def test_lookup_without_a_page_asks_for_a_search(small: Wiki, asked: str | None) -> None:
    episode = small.open()
    if asked is not None:
        episode.Search("Ada")
        if asked == "Cafés":
            assert episode.Search(asked) == "Cafés may refer to:\nAda: a café\nBob: another café"
        else:
            refusal(episode.Search, asked)
    assert "Search for a page first" in refusal(episode.Lookup, "tea")


def test_a_long_page_is_looked_through_in_little_time(tmp_path: Path) -> None:
    text = "\n\n".join(f"Paragraph {n} says that tea é grows near Nairobi. " * 20 for n in range(2000))
    episode = written(tmp_path, {"title": "Tea", "text": text})
    episode.Search("Tea")
    assert quickest(lambda: refusal(episode.Lookup, "quantum chromodynamics"), enough=2.0) < 2.0


# Anything that a model may write

SHARED = Wiki()
ANYTHING = st.one_of(
    st.text(),
    st.text(alphabet=st.characters(codec=None, categories=["Cs", "Cc", "Cn", "Po", "Ll"])),
    st.text(alphabet="\"'*()^:;-%_+#&| ANDORNEAR\x00\ud800é½ı"),
    st.sampled_from(
        ["a" * 1_000_000, "a " * 500_000, "\x00", "\ud800", '"', "İ" * 400, "e" * 300, "a b " * 75, "key:*"]
    ),
)


def test_nothing_but_not_found_escapes() -> None:
    @settings(max_examples=300)
    @given(entity=ANYTHING, keyword=ANYTHING)
    def asked(entity: str, keyword: str) -> None:
        episode = SHARED.open()
        for call, argument in ((episode.Search, entity), (episode.Lookup, keyword)):
            try:
                said = call(argument)
            except NotFound as nothing:
                said = str(nothing)
            assert 0 < len(said.encode("utf-8")) < 10_000
        episode.Search("Kenya")
        try:
            said = episode.Lookup(keyword)
        except NotFound as nothing:
            said = str(nothing)
        assert said.encode("utf-8")

    asked()


# Records


def test_records_have_every_relation_of_their_kind(small: Wiki) -> None:
    assert small.records("café") == [
        {"title": "Ada", "popularity": 2, "likes": "Bob", "sells": []},
        {"title": "Bob", "popularity": 1, "likes": None, "sells": []},
    ]
    assert list(small.triples()) == [("Ada", "likes", "Bob")]


# The file

PAGE = {"title": "Kenya", "text": "Kenya is a country.\n\nIts capital is Nairobi."}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "holds no page"),
        (["{"], r"pages\.jsonl:1: not a JSON object"),
        (["[" * 100_000], r"pages\.jsonl:1: not a JSON object"),
        (["[]"], r"pages\.jsonl:1: "),
        ([PAGE, {"title": "A"}], r"pages\.jsonl:2: a page needs text"),
        ([PAGE, "", PAGE], r"pages\.jsonl:3: another page has the title 'Kenya'"),
        ([{"titel": "A", "text": "b"}], r"pages\.jsonl:1: titel"),
        ([{"title": " ", "text": "b"}], r"pages\.jsonl:1: the title ' ' has no letter"),
        ([{"title": "A", "text": ["b"]}], r"pages\.jsonl:1: text"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_line(lines: list[Any], message: str, tmp_path: Path) -> None:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (tmp_path / "pages.jsonl").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        Wiki(str(tmp_path / "pages.jsonl"))


def test_pages_in_any_script_are_found_and_control_characters_are_not_shown(tmp_path: Path) -> None:
    arabic = {"title": "القاهرة", "text": "القاهرة عاصمة مصر 🏙"}
    unsafe = {"title": "Ke\x1b[31mnya", "text": "\x1b]0;title\x07It is\u202e red."}
    wiki = written(tmp_path, {"title": "内罗毕", "text": "内罗毕是肯尼亚的首都。"}, arabic, unsafe)
    assert wiki.Search("内罗毕") == "内罗毕是肯尼亚的首都。"
    assert wiki.Search("القاهرة") == "القاهرة عاصمة مصر 🏙"
    assert wiki.Search("Kenya") == "It is red."


def test_a_file_is_read_again_once_it_has_changed(tmp_path: Path) -> None:
    before = written(tmp_path, {"title": "Ada", "text": "Ada is a café."})
    after = written(tmp_path, {"title": "Ada", "text": "Ada was a café."})
    assert (before.Search("Ada"), after.Search("Ada")) == ("Ada is a café.", "Ada was a café.")
    assert before.version != after.version


def test_another_process_has_the_same_pages(small: Wiki) -> None:
    again = pickle.loads(pickle.dumps(small))
    assert (again.version, again.Search("Lovelace")) == (small.version, "Ada is a café.")


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


def test_search_stays_fast_with_many_pages(tmp_path: Path) -> None:
    many = written(tmp_path, *({"title": f"Page {number} of many", "text": "A page."} for number in range(20_000)))

    def searches() -> None:
        for number in range(20):
            assert f"Page {number}" in refusal(many.Search, f"Page {number} of manny")
            assert many.Search(f"page {number} OF many") == "A page."

    assert quickest(searches, enough=5.0) < 5.0
