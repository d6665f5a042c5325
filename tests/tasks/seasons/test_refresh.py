"""`r-eval generate --refresh`: the season after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r_eval.records import Question
from r_eval.tasks.graphs.source import TripleFile
from r_eval.tasks.questions import read_questions, write_questions
from r_eval.tasks.seasons import Refresher
from r_eval.tasks.seasons.making import season_of
from tests.tasks.seasons.conftest import Shelve, Typed


def first(typed: Typed, *more: object) -> None:
    done = typed("generate", "templates.yaml", "--count", 10, "--out", "one.jsonl", *more)
    assert (done.returncode, done.stderr) == (0, "")


def season(folder: Path, stem: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / f"{stem}.season.json").read_text(encoding="utf-8"))
    return data


def texts(path: Path) -> set[str]:
    return {q.question for q in read_questions(path)}


def test_a_generated_file_says_where_it_comes_from(library: Path, typed: Typed) -> None:
    first(typed, "--seed", 7)
    found = season(library, "one")
    assert (found["schema"], found["version"], found["seed"], found["count"]) == (1, "1.0.0", 7, 10)
    assert (found["environment"], found["file"]) == ("library.py:Library", "templates.yaml")
    assert found["records"] == {"book": 30}
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
    assert [season(library, name)["version"] for name in names] == ["1.0.0", "1.1.0", "1.2.0"]
    assert len({season(library, name)["seed"] for name in names}) == 3
    assert season(library, "three")["previous"]["version"] == "1.1.0"
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
    assert "season 1.0.0 (one.jsonl) is not beside two.jsonl as it was" in done.stdout
    assert done.returncode == 0


def test_the_note_counts_what_a_newer_snapshot_changed(library: Path, typed: Typed, shelve: Shelve) -> None:
    first(typed)
    asked = sorted(texts(library / "one.jsonl"))
    books = [text.removeprefix("Who wrote ").removesuffix("?").replace(" ", "_") for text in asked]
    shelve(**{books[0]: "Somebody else", books[1]: None, "New_one": "A", "New_two": "B"})
    done = typed("generate", "templates.yaml", "--refresh", "one.jsonl", "--out", "two.jsonl")
    assert "1 of the 10 old questions would have another answer today (author-of-book-" in done.stdout
    assert "1 of the 10 old questions can no longer be solved (author-of-book-" in done.stdout
    assert "records of kind book: 30 -> 31 (+1)" in done.stdout
    assert "the environment's knowledge has changed: " in done.stdout
    assert all(line in done.stdout for line in season(library, "two")["changes"])


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
    data = season(library, "one") | {"version": "1.x"}
    (library / "one.season.json").write_text(json.dumps(data), encoding="utf-8")
    done = typed("generate", "templates.yaml", "--refresh", "one.jsonl", "--out", "two.jsonl")
    assert done.returncode == 2
    assert "one.season.json: version: '1.x' is no version" in done.stderr


def test_a_graph_file_over_a_file_of_triples_has_a_season_too(tmp_path: Path) -> None:
    facts, head = tmp_path / "facts.tsv", "subject\trelation\tobject\n"
    facts.write_text(f"{head}Kenya\tcapital\tNairobi\nChad\tcapital\tN'Djamena\n", encoding="utf-8")
    graph = tmp_path / "graph.yaml"
    graph.write_text("triples: facts.tsv\ngraph: {}\n", encoding="utf-8")
    before = season_of(graph, tmp_path / "one.jsonl", "", TripleFile(facts), 0, 1)
    facts.write_text(f"{head}Kenya\tcapital\tNairobi\n", encoding="utf-8")
    after = season_of(graph, tmp_path / "one.jsonl", "", TripleFile(facts), 0, 1)
    assert (before.environment, before.records, after.records) == ("", {"triples": 2}, {"triples": 1})
    assert before.environment_version != after.environment_version


def test_no_type_is_crowded_out_of_the_next_season(tmp_path: Path) -> None:
    asked = Question(id="a", question="Who?", answers=["Ida"], level="KS")
    write_questions(tmp_path / "one.jsonl", [asked])
    types = ["simple"] * 5 + ["set"] * 2 + ["comparison"] * 3
    made = [
        asked.model_copy(update={"id": str(place), "question": f"Who is {place}?", "meta": {"type": type}})
        for place, type in enumerate(types)
    ]
    chosen = Refresher([tmp_path / "one.jsonl"]).chosen([asked, *made], 6)
    assert [question.meta["type"] for question in chosen] == ["simple"] * 2 + ["set"] * 2 + ["comparison"] * 2
