"""The environment `documents`: what comes with a question can be searched, under every condition."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from r_eval.environments.base import NotFound, ToolError
from r_eval.environments.conditions.combined import Combined
from r_eval.environments.conditions.counterfactual import Counterfactual
from r_eval.environments.documents import Documents
from r_eval.environments.opening import open_environment
from r_eval.records import Document, Question
from r_eval.seeds import Seeds
from tests.environments.conftest import Ask

TEXTS = ("The mill at Larkmouth was built in 1711.", "A bridge crosses the Senn.", "The mill at Greenholt is younger.")
PLACES = ("Document 1", "Document 2", "Document 3")


def context(texts: Sequence[str] = TEXTS, titles: Sequence[str] = PLACES) -> list[Document]:
    return [Document(title=title, text=text) for title, text in zip(titles, texts, strict=False)]


@pytest.mark.parametrize(
    ("documents", "query", "top_k", "found"),
    [
        (context(), "mill at Larkmouth", 8, {"d1": TEXTS[0], "d3": TEXTS[2]}),
        (context(), "mill at Larkmouth", 1, {"d1": TEXTS[0]}),
        (context(titles=("Larkmouth", "Senn", "Greenholt")), "Senn", 8, {"d2": f"Senn\n{TEXTS[1]}"}),
        (
            context(("望礁灯塔去年接待了二百名游客。", "柳家渡的梁是木头做的。"), ("文档1", "文档2")),
            "灯塔去年接待了多少游客？",
            8,
            {"d1": "望礁灯塔去年接待了二百名游客。"},
        ),
    ],
    ids=["best first", "no more than wanted", "a title that says something", "Chinese"],
)
def test_documents_are_found_by_their_words(
    documents: list[Document], query: str, top_k: int, found: dict[str, str]
) -> None:
    opened = open_environment("documents").for_documents(documents)
    assert isinstance(opened, Documents)
    assert {passage.id: passage.text for passage in opened.retrieve(query, top_k)} == found


@pytest.mark.parametrize(
    ("documents", "query", "top_k", "kind", "message"),
    [
        (context(), "  ", 8, ToolError, "needs a query"),
        (context(), "mill", 0, ToolError, "top_k must be"),
        (context(), "zebra", 8, NotFound, "Try other words"),
        ([], "mill", 8, NotFound, "No documents come with this question"),
    ],
)
def test_a_wrong_argument_and_what_finds_nothing_are_errors_of_their_own(
    documents: list[Document], query: str, top_k: int, kind: type[ToolError], message: str
) -> None:
    with pytest.raises(ToolError, match=message) as caught:
        Documents().for_documents(documents).retrieve(query, top_k)
    assert type(caught.value) is kind


def test_under_counterfactual_the_new_value_is_found_and_the_old_one_unknown(ask: Ask) -> None:
    golds = {"answers": ["1711"], "evidence": ["1711"], "entities": ["1711"]}
    question = Question(id="a", question="When was the Larkmouth mill built?", level="KS", context=context(), **golds)
    bare, condition = Documents().for_documents(context()), Combined("counterfactual", (Counterfactual(),))
    planned = condition.question(question, bare)
    assert planned is not None
    (new,) = planned.answers
    changed = condition.environment(bare, planned, Seeds(0, "a", 0))
    found = ask(changed, "retrieve", query=f"built in {new}")
    assert (found.retrieved_ids, new in found.observation, "1711" in found.observation) == (["d1"], True, False)
    assert "1711" not in ask(changed, "retrieve", query="built in 1711").observation
    assert planned.context[0].text in found.observation
