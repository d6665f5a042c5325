"""Passages and records that do not belong there, among what a search finds."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from r_eval.environments.base import Environment
from r_eval.environments.conditions.noisy import Noisy, Screen
from r_eval.environments.corpus import Corpus
from r_eval.environments.documents import Documents
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.records import Document, Question, Step
from r_eval.seeds import Seeds
from tests.environments.conditions.shelves import Shelves, environment_under
from tests.environments.conftest import json_lines

QUESTION = Question(id="q1", question="When was mill 3 built?", answers=["1803"], level="KS", meta={"text_ids": ["m3"]})
Under = Callable[..., Step]


def called(environment: Environment, api: str, arguments: dict[str, Any], sandbox: Sandbox) -> tuple[Any, Step]:
    """The value of a call, and its step."""
    steps: list[Step] = []
    result = asyncio.run(Session(environment, sandbox, steps.append).call(api, arguments))
    return result.value, steps[0]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Twenty mills with the years in which they were built, and ten lakes."""
    mills = [{"id": f"m{n}", "text": f"The mill of Ada{chr(97 + n)}a was built in {1800 + n}."} for n in range(20)]
    lakes = [{"id": f"l{n}", "text": f"The lake with the number {n} is a quiet place, and deep."} for n in range(10)]
    return Corpus(json_lines(tmp_path_factory.mktemp("corpus") / "documents.jsonl", *mills, *lakes))


@pytest.fixture
def under(corpus: Corpus, sandbox: Sandbox) -> Under:
    """The step of a search under a condition, or bare."""

    def made(condition: Noisy | None = None, epoch: int = 0, **arguments: Any) -> Step:
        environment: Environment = corpus
        if condition is not None:
            environment = environment_under(condition, corpus, Seeds(0, "q1", epoch), QUESTION)
        return called(environment, "retrieve", {"query": "mill", "top_k": 4, **arguments}, sandbox)[1]

    return made


def test_all_that_was_found_stays_in_its_order_and_no_model_sees_what_is_noise(under: Under) -> None:
    step = under(Noisy(3))
    assert sum(key.startswith("noise:") for key in step.retrieved_ids) == 3
    assert [key for key in step.retrieved_ids if not key.startswith("noise:")] == under().retrieved_ids
    seen = re.findall(r"^\[(.*?)\]", step.observation or "", re.MULTILINE)
    assert seen == [key.removeprefix("noise:") for key in step.retrieved_ids]
    assert len(set(seen)) == 7


def test_noise_is_from_other_documents_and_never_from_the_relevant_one(under: Under) -> None:
    step = under(Noisy(25), top_k=1, query="mill built")
    documents = [key.removeprefix("noise:").rpartition("#")[0] for key in step.retrieved_ids]
    assert len(documents) > 15
    assert len(set(documents)) == len(documents)
    assert "m3" not in documents[1:] or documents[0] == "m3"


def test_an_environment_without_a_search_is_refused() -> None:
    with pytest.raises(UserError, match="the condition noisy needs a search"):
        Noisy().question(QUESTION, Shelves())


@pytest.mark.parametrize(
    ("key", "text", "is_excluded"),
    [
        ("m3#1", "x", True),
        ("m3", "x", True),
        ("m31#1", "x", False),
        ("m4#1", "Built in 1803.", True),
        ("m4#1", "Built in 18030.", False),
        ("m4#1", "建于1803年", True),
        ("m4#1", "In the MARSH  of Ély", True),
        ("m4#1", "marshland of Ély", False),
    ],
)
def test_a_passage_that_contains_an_answer_or_evidence_is_no_noise(key: str, text: str, is_excluded: bool) -> None:
    screen = Screen.of(QUESTION.model_copy(update={"evidence": ["marsh of Ély"]}))
    data = json.loads(json.dumps(dataclasses.asdict(screen)))
    assert Screen(**data) == screen
    assert "1803" not in str(data).replace("m3", "")
    assert screen.excludes(key, text) is is_excluded


TITLES = {"English": "The beams of {} are of grovane wood.", "Chinese": "{}的梁是用霜丝木做的。"}


@pytest.mark.parametrize("language", TITLES)
def test_noise_among_documents_is_never_the_questions_own_and_cannot_be_told_by_its_id(
    language: str, sandbox: Sandbox
) -> None:
    own = [TITLES[language].format(f"House {n}") for n in range(41_001, 41_009)]
    context = [Document(title=f"Document {n}", text=text) for n, text in enumerate(own)]
    question = QUESTION.model_copy(update={"context": context, "meta": {"text_ids": ["d1"]}})
    steps: list[Step] = []
    numbers: dict[bool, list[int]] = {True: [], False: []}
    for run in range(30):
        environment = environment_under(Noisy(2), Documents(), Seeds(run, "q1", 0), question)
        session = Session(environment, sandbox, steps.append)
        query = "beams of the House 41001" if language == "English" else "梁 House 41001 彗星 电车"
        found = [asyncio.run(session.call("retrieve", {"query": query, "top_k": 3})) for _ in range(2)]
        seen: dict[str, str] = {}
        for result in found:
            assert len(result.value) == 5
            for passage, key in zip(result.value, result.retrieved_ids, strict=True):
                is_noise = key.startswith("noise:")
                assert (passage["text"] in own) is not is_noise
                assert re.fullmatch(r"d\d+", passage["id"])
                assert f"[{passage['id']}] {passage['text'][:10]}" in result.observation
                assert seen.setdefault(passage["id"], passage["text"]) == passage["text"] or is_noise
                numbers[is_noise].append(int(passage["id"][1:]))
    means = {is_noise: sum(values) / len(values) for is_noise, values in numbers.items()}
    assert abs(means[True] - means[False]) < 150_000
