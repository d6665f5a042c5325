"""Seasons: sidecars, the season after, and the public and private halves of a set."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.errors import UserError
from r_eval.records import Document, Question
from r_eval.tasks.questions import read_questions, write_questions
from r_eval.tasks.seasons import (
    Previous,
    Refresher,
    Season,
    keep_season,
    read_season,
    season_path,
    split,
    write_season,
    write_set,
)
from tests.commands import typed_here

MODULE = '''
import hashlib, json
from pathlib import Path
from r_eval.environments.base import Environment, NotFound, query_api

FILE = Path(__file__).with_name("library.json")

class Library(Environment):
    """Books and their authors."""

    def __init__(self) -> None:
        self._books = json.loads(FILE.read_text(encoding="utf-8"))

    @property
    def version(self) -> str:
        return hashlib.blake2b(FILE.read_bytes(), digest_size=4).hexdigest()

    @query_api
    def author_of(self, title: str) -> str:
        """Tell who wrote a book.

        Args:
            title: Its title.
        """
        if title not in self._books:
            raise NotFound(f"no book is called {title}")
        return self._books[title]

    def records(self, kind):
        if kind != "book":
            raise KeyError(kind)
        return [{"title": title} for title in self._books]
'''
TEMPLATES = """
environment: "library.py:Library"
templates:
  - id: author-of-book
    level: KS
    from: book
    question: Who wrote {{ book.title }}?
    program: |
      answer = author_of(title=book["title"])
"""

Shelve = Callable[..., None]
Typed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder with the environment, its templates and a snapshot of 30 books."""
    (tmp_path / "library.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "templates.yaml").write_text(TEMPLATES, encoding="utf-8")
    _write(tmp_path, {f"Book {n}": f"Author {n}" for n in range(30)})
    return tmp_path


@pytest.fixture
def shelve(library: Path) -> Shelve:
    """Changes the snapshot: a book with an author is added or rewritten, one with None is taken away."""

    def change(**books: str | None) -> None:
        found = json.loads((library / "library.json").read_text(encoding="utf-8"))
        found.update({name.replace("_", " "): author for name, author in books.items()})
        _write(library, {name: author for name, author in found.items() if author is not None})

    return change


@pytest.fixture
def typed(library: Path) -> Typed:
    """Types a command in the library's folder; what it says is asserted by the test."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        return typed_here([*map(str, words)], library)

    return run


def _write(folder: Path, books: dict[str, str]) -> None:
    (folder / "library.json").write_text(json.dumps(books), encoding="utf-8")


def first(typed: Typed, *more: object) -> None:
    done = typed("generate", "templates.yaml", "--count", 10, "--out", "one.jsonl", *more)
    assert (done.returncode, done.stderr) == (0, "")


def sidecar(folder: Path, stem: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / f"{stem}.season.json").read_text(encoding="utf-8"))
    return data


def texts(path: Path) -> set[str]:
    return {q.question for q in read_questions(path)}


def test_a_generated_file_says_where_it_comes_from(library: Path, typed: Typed) -> None:
    first(typed, "--seed", 7)
    found = sidecar(library, "one")
    assert (found["schema"], found["version"], found["seed"], found["count"]) == (1, "1.0.0", 7, 10)
    assert (found["environment"], found["file"]) == ("library.py:Library", "templates.yaml")
    assert (found["previous"], found["changes"]) == (None, [])


def test_the_next_seasons_ask_nothing_again_and_have_versions_and_seeds_of_their_own(
    library: Path, typed: Typed
) -> None:
    first(typed)
    for old, new in (("one", "two"), ("two", "three")):
        done = typed("generate", "templates.yaml", "--refresh", f"{old}.jsonl", "--out", f"{new}.jsonl")
        assert done.returncode == 0
    names = ("one", "two", "three")
    assert len(set[str]().union(*(texts(library / f"{name}.jsonl") for name in names))) == 30
    assert [sidecar(library, name)["version"] for name in names] == ["1.0.0", "1.1.0", "1.2.0"]
    assert len({sidecar(library, name)["seed"] for name in names}) == 3
    assert sidecar(library, "three")["previous"]["version"] == "1.1.0"
    done = typed("generate", "templates.yaml", "--refresh", "one.jsonl", "--count", 25, "--out", "more.jsonl")
    assert (done.returncode, "only 20 of the 25 questions" in done.stderr) == (0, True)


def test_a_season_that_was_renamed_is_found_by_its_content_and_one_that_is_gone_is_named(
    library: Path, typed: Typed
) -> None:
    first(typed)
    typed("generate", "templates.yaml", "--refresh", "one.jsonl", "--out", "two.jsonl")
    (library / "one.jsonl").rename(library / "old.jsonl")
    assert len(Refresher([library / "two.jsonl"]).earlier) == 2
    (library / "old.jsonl").unlink()
    done = typed("generate", "templates.yaml", "--refresh", "two.jsonl", "--out", "three.jsonl")
    assert "season 1.0.0 one.jsonl is not in the folder of two.jsonl" in done.stdout
    assert done.returncode == 0


def test_the_note_counts_what_a_newer_snapshot_changed(library: Path, typed: Typed, shelve: Shelve) -> None:
    first(typed)
    asked = sorted(texts(library / "one.jsonl"))
    books = [text.removeprefix("Who wrote ").removesuffix("?").replace(" ", "_") for text in asked]
    shelve(**{books[0]: "Somebody else", books[1]: None, "New_one": "A", "New_two": "B"})
    done = typed("generate", "templates.yaml", "--refresh", "one.jsonl", "--out", "two.jsonl")
    assert "old questions with another answer today: 1 (author-of-book-" in done.stdout
    assert "old questions that can no longer be solved: 1 (author-of-book-" in done.stdout
    assert "the environment's knowledge has changed: " in done.stdout
    assert all(line in done.stdout for line in sidecar(library, "two")["changes"])


def test_a_changed_template_file_is_noted(library: Path, typed: Typed) -> None:
    first(typed)
    path = library / "templates.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("Who wrote", "Who is the author of"), encoding="utf-8")
    done = typed("generate", "templates.yaml", "--refresh", "one.jsonl", "--out", "two.jsonl")
    assert "the file templates.yaml has changed: " in done.stdout
    programs = {q.program for name in ("one", "two") for q in read_questions(library / f"{name}.jsonl")}
    assert len(programs) == 20, "the same question in other words is the same question"


def test_earlier_files_stay_as_they_are_and_the_same_inputs_give_the_same_bytes(library: Path, typed: Typed) -> None:
    first(typed)
    before = {path.name: path.read_bytes() for path in library.glob("one.*")}
    for name in ("two", "again"):
        typed("generate", "templates.yaml", "--refresh", "one.jsonl", "--out", f"{name}.jsonl")
    assert {path.name: path.read_bytes() for path in library.glob("one.*")} == before
    for end in ("jsonl", "season.json"):
        assert (library / f"two.{end}").read_bytes() == (library / f"again.{end}").read_bytes()


def test_an_earlier_season_is_never_written_over(library: Path, typed: Typed) -> None:
    first(typed)
    before = (library / "one.jsonl").read_bytes()
    done = typed("generate", "templates.yaml", "--refresh", "one.jsonl", "--out", "./one.jsonl")
    assert done.returncode == 2
    assert "is an earlier season's file" in done.stderr
    assert (library / "one.jsonl").read_bytes() == before


@pytest.mark.parametrize("text", ["who  wrote BOOK 1?", "Who wrote Book 1?"])
def test_case_and_spaces_make_no_new_question(library: Path, typed: Typed, text: str) -> None:
    typed("generate", "templates.yaml", "--count", 30, "--out", "one.jsonl")
    made = Question(id="x", question=text, answers=["Author 1"], level="KS")
    assert Refresher([library / "one.jsonl"]).new([made]) == []


def test_a_season_file_that_is_damaged_names_its_key(library: Path, typed: Typed) -> None:
    first(typed)
    data = sidecar(library, "one") | {"version": "1.x"}
    (library / "one.season.json").write_text(json.dumps(data), encoding="utf-8")
    done = typed("generate", "templates.yaml", "--refresh", "one.jsonl", "--out", "two.jsonl")
    assert done.returncode == 2
    assert "one.season.json: version: '1.x' is no version" in done.stderr


def test_no_type_is_crowded_out_of_the_next_season(tmp_path: Path) -> None:
    asked = Question(id="a", question="Who?", answers=["Ida"], level="KS")
    write_questions(tmp_path / "one.jsonl", [asked])
    types = ["simple"] * 5 + ["set"] * 2 + ["comparison"] * 3
    made = [
        asked.model_copy(update={"id": str(place), "question": f"Who is {place}?", "meta": {"type": type}})
        for place, type in enumerate(types)
    ]
    chosen = Refresher([tmp_path / "one.jsonl"]).choose([asked, *made], 6)
    assert [question.meta["type"] for question in chosen] == ["simple"] * 2 + ["set"] * 2 + ["comparison"] * 2


SEASON = Season(
    version="1.2.0",
    environment="../news/reports.py:Reports",
    environment_version="9",
    seed=7,
    count=1,
    file="../words/graph.yaml",
    previous=Previous(version="1.1.0", questions="ab", file="../old/private.jsonl"),
)
QUESTION = Question(id="q", question="Who?", answers=["Ida"], level="KS")


def test_the_halves_say_which_they_are(tmp_path: Path) -> None:
    public, private = tmp_path / "public.jsonl", tmp_path / "private.jsonl"
    write_set([QUESTION], public, SEASON, private, seed=0)
    parts = [found.part for half in (public, private) if (found := read_season(half)) is not None]
    assert parts == ["public", "private"]


def test_a_whole_set_says_nothing_of_parts(tmp_path: Path) -> None:
    write_set([QUESTION], tmp_path / "whole.jsonl", SEASON, None, seed=0)
    assert "part" not in json.loads(season_path(tmp_path / "whole.jsonl").read_text(encoding="utf-8"))


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    write_season(tmp_path / "a.jsonl", SEASON)
    path = season_path(tmp_path / "a.jsonl")
    path.write_text(path.read_text(encoding="utf-8").replace('"count": 1', '"count": 1, "part": "half"'), "utf-8")
    with pytest.raises(UserError, match="part"):
        read_season(tmp_path / "a.jsonl")


def test_a_runs_copy_names_files_without_their_folders(tmp_path: Path) -> None:
    write_season(tmp_path / "a.jsonl", SEASON)
    keep_season(tmp_path / "a.jsonl", tmp_path / "copy.jsonl")
    found = read_season(tmp_path / "copy.jsonl")
    assert found is not None
    assert (found.version, found.environment, found.file) == ("1.2.0", "reports.py:Reports", "graph.yaml")
    assert found.previous == Previous(version="1.1.0", questions="ab", file="private.jsonl")


def test_questions_without_a_season_leave_none(tmp_path: Path) -> None:
    keep_season(tmp_path / "a.jsonl", tmp_path / "copy.jsonl")
    assert not season_path(tmp_path / "copy.jsonl").exists()


words = st.text("abc ", min_size=1, max_size=6)
questions = st.lists(
    st.builds(
        Question, id=st.uuids().map(str), question=words, answers=st.lists(words, min_size=1), level=st.just("KS")
    ),
    max_size=8,
)


def question(**changes: Any) -> Question:
    fields: dict[str, Any] = {"id": "capital-1", "question": "Where?", "answers": ["Paris"], "level": "KS", **changes}
    return Question(**fields)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_nothing_of_a_gold_is_in_the_public_files(library: Path, typed: Typed) -> None:
    typed("generate", "templates.yaml", "--seed", 4711, "--out", "public.jsonl", "--private", "private.jsonl")
    told = (library / "public.jsonl").read_text(encoding="utf-8")
    told += (library / "public.season.json").read_text(encoding="utf-8")
    private = read_questions(library / "private.jsonl")
    assert [{"id": q.id, "question": q.question} for q in private] == read(library / "public.jsonl")
    assert all(q.answers[0].startswith("Author ") and q.program for q in private)
    secrets = [text for q in private for text in (*q.answers, *q.evidence, q.program or "", q.meta["question_id"])]
    assert [text for text in (*secrets, "author-of-book", "author_of", "4711", "templates") if text in told] == []


def test_public_ids_tell_neither_the_template_nor_the_place(library: Path, typed: Typed) -> None:
    typed("generate", "templates.yaml", "--count", 30, "--out", "public.jsonl", "--private", "private.jsonl")
    typed("generate", "templates.yaml", "--count", 30, "--out", "plain.jsonl")
    public = read(library / "public.jsonl")
    assert all(re.fullmatch("[0-9a-f]{16}", line["id"]) for line in public)
    assert [line["id"] for line in public] == sorted(line["id"] for line in public)
    assert [line["question"] for line in public] != [q.question for q in read_questions(library / "plain.jsonl")]


def test_an_existing_file_is_split_with_its_season(library: Path, typed: Typed) -> None:
    typed("generate", "templates.yaml", "--out", "plain.jsonl")
    (library / "sub").mkdir()
    done = typed("data", "split", "plain.jsonl", "--public", "public.jsonl", "--private", "sub/private.jsonl")
    assert done.returncode == 0
    season = json.loads((library / "sub" / "private.season.json").read_text(encoding="utf-8"))
    assert (season["environment"], season["file"]) == ("../library.py:Library", "../templates.yaml")
    assert typed("check", "sub/private.jsonl").returncode == 0


def test_the_next_season_is_made_from_the_private_file(library: Path, typed: Typed) -> None:
    typed("generate", "templates.yaml", "--count", 10, "--out", "public.jsonl", "--private", "private.jsonl")
    done = typed(
        "generate", "templates.yaml", "--refresh", "private.jsonl", "--out", "next.jsonl", "--private", "answers.jsonl"
    )
    assert "season 1.1.0" in done.stdout
    asked = {line["question"] for name in ("public", "next") for line in read(library / f"{name}.jsonl")}
    assert len(asked) == 20


def test_both_halves_in_one_file_and_a_half_over_the_source_are_refused(library: Path, typed: Typed) -> None:
    done = typed("generate", "templates.yaml", "--out", "x.jsonl", "--private", "x.jsonl")
    assert (done.returncode, (library / "x.jsonl").exists()) == (2, False)
    typed("generate", "templates.yaml", "--out", "plain.jsonl")
    before = (library / "plain.jsonl").read_bytes()
    done = typed("data", "split", "plain.jsonl", "--public", "plain.jsonl", "--private", "y.jsonl")
    assert (done.returncode, (library / "plain.jsonl").read_bytes()) == (2, before)


def test_a_context_is_public_and_the_ids_of_its_right_texts_are_not(tmp_path: Path) -> None:
    asked = question(context=[Document(title="France", text="A country.")], meta={"text_ids": [17], "type": "simple"})
    (private,) = split([asked])
    write_set([asked], tmp_path / "public.jsonl", None, tmp_path / "private.jsonl", 0)
    (line,) = read(tmp_path / "public.jsonl")
    assert line == {"id": private.id, "question": "Where?", "context": [{"title": "France", "text": "A country."}]}
    assert private.meta == {"text_ids": [17], "type": "simple", "question_id": "capital-1"}


@given(questions)
def test_every_question_is_kept_under_an_id_of_its_own(asked: list[Question]) -> None:
    private = split(asked)
    assert len({q.id for q in private}) == len(asked)
    assert {q.meta["question_id"] for q in private} == {q.id for q in asked}


@given(questions)
def test_the_order_of_the_file_does_not_matter(asked: list[Question]) -> None:
    assert split(asked) == split(asked[::-1])


@pytest.mark.parametrize(("version", "after"), [("1.9.0", "1.10.0"), ("1.10.3", "1.11.0")])
def test_versions_are_compared_as_numbers_and_the_minor_one_counts_seasons(
    tmp_path: Path, version: str, after: str
) -> None:
    for name, one in (("a", version), ("b", "1.2.0")):
        write_questions(tmp_path / f"{name}.jsonl", [question()])
        write_season(tmp_path / f"{name}.jsonl", Season(version=one, environment="", environment_version="", count=1))
    assert Refresher([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]).version == after


@pytest.mark.parametrize("text", ["", "1", "1.2", "1.2.3.4", "v1.2.3", "1.02.3", "1.-2.3", "1.2.x", "1.2.3\n", "1.2.³"])
def test_what_is_no_version_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected major\.minor\.patch"):
        Season(version=text, environment="", environment_version="", count=1)
