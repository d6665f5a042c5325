"""Public and private halves of a question set."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from r_eval.records import Document, Question
from r_eval.tasks.questions import read_questions
from r_eval.tasks.seasons import split, write_public
from tests.tasks.seasons.conftest import Typed

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
    write_public(tmp_path / "public.jsonl", [private])
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
