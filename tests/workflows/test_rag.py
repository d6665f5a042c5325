"""RAG: everything is looked up first, then one reply answers from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, run
from r_eval.environments.base import Environment, NotFound, query_api
from r_eval.environments.signatures import specs_of
from r_eval.records import Document, Question
from r_eval.workflows.rag import RAG, search_api

PAGES = {"Mexico": "The capital is Mexico City.", "Kenya": "The capital is Nairobi.", "Oslo": "A city in Norway."}


class Wiki(Environment):
    """Pages by their titles."""

    @query_api
    def Search(self, entity: str) -> str:
        """Find a page."""
        if entity not in PAGES:
            similar = [title for title in PAGES if title in entity]
            raise NotFound(f"Could not find [{entity}]. Similar: [{', '.join(similar)}]")
        return PAGES[entity]

    @query_api
    def Lookup(self, keyword: str) -> str:
        """Look in the page."""
        return keyword


class Library(Environment):
    """Books by what they are about."""

    @query_api
    def count(self) -> int:
        """Count the books."""
        return 9

    @query_api
    def by_subject(self, subject: str, limit: int = 10) -> list[str]:
        """Find books."""
        return [f"{subject} {i}" for i in range(limit)]


class Shelf(Environment):
    """Documents."""

    @query_api
    def retrieve(self, query: str) -> list[dict[str, str]]:
        """Find passages."""
        return [{"id": "1", "title": "One", "text": f"about {query}"}, {"id": "2", "text": "untitled"}]


def ask(text: str, **more: Any) -> Question:
    return Question(id="q1", question=text, answers=["Nairobi"], level="KS", **more)


def read(played: Any) -> str:
    """What the LLM was given to answer from."""
    return str(played.requests[-1].messages[-1].content)


# What is looked up


@pytest.mark.parametrize(
    ("workflow", "environment", "question", "passages"),
    [
        (RAG(), Shelf(), {"text": "q"}, "[1] One\nabout q\n\n[2] untitled"),
        (RAG(), Shelf(), {"text": "Correct this: abc", "query": "abc"}, "[1] One\nabout abc\n\n[2] untitled"),
        (
            RAG(),
            Wiki(),
            {"text": "Which capital is larger, that of Kenya or that of Mexico?"},
            "[1] The capital is Mexico City.\n\n[2] The capital is Nairobi.",
        ),
        (RAG(), Wiki(), {"text": "What?"}, "Nothing was found."),
        (RAG(top_k=2), Library(), {"text": "Cooking"}, "[1] Cooking 0\n\n[2] Cooking 1"),
    ],
    ids=["documents", "query of the question", "similar names", "nothing", "as many as wanted"],
)
def test_the_prompt_has_what_the_search_finds(
    play: Any, workflow: RAG, environment: Environment, question: dict[str, str], passages: str
) -> None:
    played = play(workflow, ["x"], environment=environment, question=ask(**question))
    assert read(played) == f"Passages:\n\n{passages}\n\nQuestion: {question['text']}"


def test_a_long_passage_is_cut_as_an_observation_is(play: Any) -> None:
    played = play(RAG(top_k=1), ["x"], environment=Library(), question=ask("q" * 500), observation=20)
    assert len(read(played)) < 700
    assert "more characters]" in read(played)


@pytest.mark.parametrize(("environment", "name"), [(Library, "by_subject"), (Shelf, "retrieve"), (Wiki, "Search")])
def test_which_api_searches(environment: type[Environment], name: str) -> None:
    assert search_api(specs_of(environment)).name == name


# Perfect retrieval

PROGRAM = "Search(entity='Kenya')\nanswer = 'Nairobi'"
CONTEXT = [Document(title="Kenya", text="Nairobi is in Kenya."), Document(title="Oslo", text="Oslo is in Norway.")]


@pytest.mark.parametrize(
    ("known", "passages"),
    [
        ({"program": PROGRAM}, ["The capital is Nairobi."]),
        ({"program": PROGRAM, "evidence": ["Nairobi", "founded 1899"]}, ["The capital is Nairobi.", "founded 1899"]),
        ({"context": CONTEXT}, ["Kenya\nNairobi is in Kenya.", "Oslo\nOslo is in Norway."]),
        ({"context": CONTEXT, "evidence": ["in Kenya"]}, ["Kenya\nNairobi is in Kenya."]),
        ({"evidence": ["Nairobi is the capital of Kenya."]}, ["Nairobi is the capital of Kenya."]),
        ({"meta": {"sources": ["One.", "Two."]}, "evidence": ["elsewhere"]}, ["One.", "Two."]),
        ({"meta": {"sources": [1, ""]}, "evidence": ["Nairobi"]}, ["Nairobi"]),
    ],
    ids=["program", "program and evidence", "context", "context with evidence", "evidence", "sources", "no texts"],
)
def test_gold_retrieval_gives_the_questions_own_evidence(play: Any, known: Any, passages: list[str]) -> None:
    question = ask("What is the capital of Kenya?", **known)
    played = play(RAG(retrieval="gold"), ["Nairobi"], environment=Wiki(), question=question)
    expected = "\n\n".join(f"[{i}] {text}" for i, text in enumerate(passages, 1))
    assert read(played) == f"Passages:\n\n{expected}\n\nQuestion: What is the capital of Kenya?"
    assert (played.answer, played.outcome) == ("Nairobi", ("finished", ""))
    assert [step.api for step in played.calls] == (["Search"] if "program" in known else [])


def test_gold_retrieval_without_anything_to_give_asks_no_llm(play: Any) -> None:
    played = play(RAG(retrieval="gold"), ["Nairobi"], environment=Wiki(), question=ask("What?"))
    assert played.outcome == ("gave_up", "no_evidence")
    assert played.requests == []


def test_perfect_retrieval_is_a_reference_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "says.py").write_text("def reply(request):\n    return 'Nairobi'\n", encoding="utf-8")
    workflows = ["rag", {"workflow": "rag", "name": "best", "retrieval": "gold"}]
    llms, tasks = ["scripted/says.py:reply"], ["wiki/high-freq"]
    grid = Grid(workflows=workflows, llms=llms, tasks=tasks, samples=1, folder=tmp_path)
    frame = run(grid, out=tmp_path / "run").to_pandas().set_index("workflow")
    assert frame["role"].to_dict() == {"rag": "system", "best": "reference"}


# Settings


@pytest.mark.parametrize("settings", [{"top_k": 0}, {"top_k": "3"}, {"retrieval": "none"}])
def test_a_setting_that_makes_no_sense_is_refused(settings: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        RAG(**settings)
