"""Seasons: sidecars, the season after, and the public and private halves of a set."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.records import Document, Question
from r_eval.tasks.questions import read_questions, write_questions
from r_eval.tasks.seasons import Refresher, Season, keep_season, read_season, split, write_season, write_set
from tests.commands import typed_here

MODULE = '''
from r_eval.environments.base import Environment, query_api

class Library(Environment):
    """Books and their authors."""

    @query_api
    def author_of(self, title: str) -> str:
        """Tell who wrote a book."""
        return title.replace("Book", "Author")

    def records(self, kind):
        return [{"title": f"Book {n}"} for n in range(30)]
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
QUESTION = Question(id="q", question="Who?", answers=["Ida"], level="KS")

Typed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder with the environment of 30 books and its templates."""
    (tmp_path / "library.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "templates.yaml").write_text(TEMPLATES, encoding="utf-8")
    return tmp_path


@pytest.fixture
def generate(library: Path) -> Typed:
    """Types `generate` in the library's folder."""
    return lambda *words: typed_here(["generate", "templates.yaml", *map(str, words)], library)


def sidecar(folder: Path, stem: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / f"{stem}.season.json").read_text(encoding="utf-8"))
    return data


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_next_seasons_ask_nothing_again_and_have_versions_and_seeds_of_their_own(
    library: Path, generate: Typed
) -> None:
    assert generate("--count", 10, "--seed", 7, "--out", "one.jsonl").returncode == 0
    found = sidecar(library, "one")
    assert (found["version"], found["seed"], found["count"]) == ("1.0.0", 7, 10)
    assert (found["environment"], found["file"]) == ("library.py:Library", "templates.yaml")
    path = library / "templates.yaml"
    path.write_text(TEMPLATES.replace("Who wrote", "Who is the author of"), encoding="utf-8")
    for old, new in (("one", "two"), ("two", "three")):
        assert generate("--refresh", f"{old}.jsonl", "--out", f"{new}.jsonl").returncode == 0
    names = ("one", "two", "three")
    assert len({q.program for name in names for q in read_questions(library / f"{name}.jsonl")}) == 30
    assert [sidecar(library, name)["version"] for name in names] == ["1.0.0", "1.1.0", "1.2.0"]
    assert len({sidecar(library, name)["seed"] for name in names}) == 3
    assert sidecar(library, "three")["previous"] == "two.jsonl"
    done = generate("--refresh", "one.jsonl", "--count", 25, "--out", "more.jsonl")
    assert (done.returncode, "only 20 of the 25 questions" in done.stderr) == (0, True)
    (library / "one.jsonl").unlink()
    done = generate("--refresh", "two.jsonl", "--out", "four.jsonl")
    assert "the season before two.jsonl, one.jsonl, is missing" in done.stdout


def test_no_type_is_crowded_out_of_the_next_season(tmp_path: Path) -> None:
    write_questions(tmp_path / "one.jsonl", [QUESTION])
    types = ["simple"] * 5 + ["set"] * 2 + ["comparison"] * 3
    made = [
        QUESTION.model_copy(update={"id": str(place), "question": f"Who is {place}?", "meta": {"type": type}})
        for place, type in enumerate(types)
    ]
    chosen = Refresher([tmp_path / "one.jsonl"]).choose([QUESTION, *made], 6)
    assert [question.meta["type"] for question in chosen] == ["simple"] * 2 + ["set"] * 2 + ["comparison"] * 2


@pytest.mark.parametrize(("version", "after"), [("1.9.0", "1.10.0"), ("1.10.3", "1.11.0")])
def test_versions_are_compared_as_numbers_and_the_minor_one_counts_seasons(
    tmp_path: Path, version: str, after: str
) -> None:
    for name, one in (("a", version), ("b", "1.2.0")):
        write_questions(tmp_path / f"{name}.jsonl", [QUESTION])
        write_season(tmp_path / f"{name}.jsonl", Season(version=one, environment="", environment_version="", count=1))
    assert Refresher([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]).version == after


def test_a_season_file_that_is_damaged_names_its_key(library: Path, generate: Typed) -> None:
    generate("--count", 10, "--out", "one.jsonl")
    data = sidecar(library, "one") | {"version": "1.x"}
    (library / "one.season.json").write_text(json.dumps(data), encoding="utf-8")
    done = generate("--refresh", "one.jsonl", "--out", "two.jsonl")
    assert (done.returncode, "one.season.json: version: " in done.stderr) == (2, True)


def test_a_runs_copy_names_files_without_their_folders(tmp_path: Path) -> None:
    season = Season(
        environment="../news/reports.py:Reports",
        environment_version="9",
        count=1,
        file="../words/graph.yaml",
        previous="../old/private.jsonl",
    )
    write_season(tmp_path / "a.jsonl", season)
    keep_season(tmp_path / "a.jsonl", tmp_path / "copy.jsonl")
    found = read_season(tmp_path / "copy.jsonl")
    assert found is not None
    assert (found.environment, found.file, found.previous) == ("reports.py:Reports", "graph.yaml", "private.jsonl")


# Halves


def test_nothing_of_a_gold_is_in_the_public_files(library: Path, generate: Typed) -> None:
    generate("--seed", 4711, "--out", "public.jsonl", "--private", "private.jsonl")
    told = "".join((library / name).read_text("utf-8") for name in ("public.jsonl", "public.season.json"))
    private = read_questions(library / "private.jsonl")
    assert [{"id": q.id, "question": q.question} for q in private] == read(library / "public.jsonl")
    assert all(q.answers[0].startswith("Author ") and q.program for q in private)
    assert sidecar(library, "public").keys() == {"schema", "version", "environment", "environment_version", "count"}
    secrets = [text for q in private for text in (*q.answers, *q.evidence, q.program or "", q.meta["question_id"])]
    assert [text for text in (*secrets, "author-of-book", "author_of", "4711", "templates") if text in told] == []


def test_an_existing_file_is_split_with_its_season(library: Path, generate: Typed) -> None:
    generate("--out", "plain.jsonl")
    (library / "sub").mkdir()
    split_it = ("data", "split", "plain.jsonl", "--public", "public.jsonl", "--private")
    assert typed_here((*split_it, "sub/private.jsonl"), library).returncode == 0
    season = sidecar(library / "sub", "private")
    assert (season["environment"], season["file"]) == ("../library.py:Library", "../templates.yaml")
    assert typed_here(("check", "sub/private.jsonl"), library).returncode == 0
    before = (library / "plain.jsonl").read_bytes()
    done = typed_here(("data", "split", "plain.jsonl", "--public", "plain.jsonl", "--private", "y.jsonl"), library)
    assert (done.returncode, (library / "plain.jsonl").read_bytes()) == (2, before)


def test_a_context_is_public_and_the_ids_of_its_right_texts_are_not(tmp_path: Path) -> None:
    context = [Document(title="France", text="A country.")]
    asked = QUESTION.model_copy(update={"context": context, "meta": {"text_ids": [17], "type": "simple"}})
    (private,) = split([asked])
    write_set([asked], tmp_path / "public.jsonl", None, tmp_path / "private.jsonl", 0)
    (line,) = read(tmp_path / "public.jsonl")
    assert line == {"id": private.id, "question": "Who?", "context": [{"title": "France", "text": "A country."}]}
    assert private.meta == {"text_ids": [17], "type": "simple", "question_id": "q"}
