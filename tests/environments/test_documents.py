"""The environment `documents`: what comes with a question can be searched, under every condition."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from r_eval.environments.base import Environment, NotFound, ToolError
from r_eval.environments.conditions.base import Wrapped
from r_eval.environments.conditions.combined import Combined
from r_eval.environments.conditions.counterfactual import Counterfactual
from r_eval.environments.documents import Documents
from r_eval.environments.opening import open_environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.records import Document, Question
from r_eval.seeds import Seeds
from r_eval.tasks.base import installed
from r_eval.tasks.solving import solve

TEXTS = ("The mill at Larkmouth was built in 1711.", "A bridge crosses the Senn.", "The mill at Greenholt is younger.")


def question(
    texts: Sequence[str] = TEXTS, titles: Sequence[str] = ("Document 1", "Document 2", "Document 3")
) -> Question:
    documents = [Document(title=title, text=text) for title, text in zip(titles, texts, strict=True)]
    answers = {"answers": ["1711"], "evidence": ["1711"], "entities": ["1711"]}
    return Question(id="a", question="When was the Larkmouth mill built?", level="KS", context=documents, **answers)


def opened(asked: Question | None = None) -> Documents:
    return Documents().for_documents((asked or question()).context)


def test_it_is_found_by_its_name() -> None:
    assert isinstance(open_environment("documents"), Documents)


def test_the_document_that_fits_best_comes_first_and_one_without_a_word_of_the_query_not_at_all() -> None:
    assert [passage.id for passage in opened().retrieve("mill at Larkmouth")] == ["d1", "d3"]


def test_no_more_are_found_than_are_wanted() -> None:
    assert len(opened().retrieve("the mill", top_k=1)) == 1


def test_titles_that_tell_the_place_alone_are_left_out() -> None:
    assert opened().records("document")[0]["text"] == TEXTS[0]


def test_a_title_that_says_something_stands_before_the_text() -> None:
    (found, *_) = opened(question(titles=("Larkmouth", "Senn", "Greenholt"))).retrieve("Senn")
    assert found.text == f"Senn\n{TEXTS[1]}"


def test_chinese_is_searched_by_words() -> None:
    asked = question(("望礁灯塔去年接待了二百名游客。", "柳家渡的梁是木头做的。"), ("文档1", "文档2"))
    assert [passage.id for passage in opened(asked).retrieve("灯塔去年接待了多少游客？")] == ["d1"]


@pytest.mark.parametrize(
    ("query", "top_k", "kind"),
    [("", 8, ToolError), ("  ", 8, ToolError), ("zebra", 8, NotFound), ("mill", 0, ToolError)],
)
def test_a_wrong_argument_and_what_finds_nothing_are_errors_of_their_own(
    query: str, top_k: int, kind: type[ToolError]
) -> None:
    with pytest.raises(ToolError) as caught:
        opened().retrieve(query, top_k)
    assert type(caught.value) is kind


def test_without_a_question_there_is_nothing_to_find() -> None:
    with pytest.raises(NotFound, match="No documents come with this question"):
        Documents().retrieve("mill")


def test_a_question_leaves_the_environment_as_it_was() -> None:
    environment = Documents()
    environment.for_documents(question().context)
    assert environment.records("document") == []


def test_an_environment_is_the_same_for_every_question_unless_it_says_otherwise() -> None:
    environment = Environment()
    assert environment.for_documents(question().context) is environment


def test_what_is_around_an_environment_passes_the_question_on() -> None:
    assert len(Wrapped(Documents()).for_documents(question().context).records("document")) == 3


def test_under_counterfactual_the_new_value_is_found_and_the_old_one_unknown() -> None:
    bare, condition = opened(), Combined("counterfactual", (Counterfactual(),))
    asked = condition.question(question(), bare)
    assert asked is not None
    (new,) = asked.answers
    session = Session(condition.environment(bare, asked, Seeds(0, "a", 0)), Sandbox())
    found = asyncio.run(session.call("retrieve", {"query": f"built in {new}"}))
    assert (found.retrieved_ids, new in found.observation, "1711" in found.observation) == (["d1"], True, False)
    assert "1711" not in asyncio.run(session.call("retrieve", {"query": "built in 1711"})).observation
    assert asked.context[0].text in found.observation


@pytest.mark.parametrize("name", ["prgb/combination", "prgb/reasoning-zh"])
def test_gold_programs_find_the_answers_through_it(name: str) -> None:
    with Sandbox() as sandbox:
        solved = asyncio.run(solve(installed(name).questions[:30], Documents(), sandbox))
    assert [s.question.id for s in solved if s.error or not s.answer] == []
