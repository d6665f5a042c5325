"""Passages that do not belong there, among what a search finds."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.environments.aminer.environment import AMiner
from r_eval.environments.conditions.distractors import answers, near_duplicates
from r_eval.environments.conditions.faulty import Faulty
from r_eval.environments.conditions.finding import combine
from r_eval.environments.conditions.noisy import LEVELS, PLACES, Noisy
from r_eval.environments.corpus import Corpus
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.records import Question, Step
from r_eval.seeds import Seeds
from tests.environments.conditions.shelves import Shelves

QUESTION = Question(id="q1", question="When was mill 3 built?", answers=["1803"], level="KS", meta={"text_ids": ["m3"]})
ASK: dict[str, Any] = {"query": "mill", "top_k": 4}

Under = Callable[..., Step]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Twenty mills with the years in which they were built, and ten lakes."""
    folder = tmp_path_factory.mktemp("corpus")
    mills = [{"id": f"m{n}", "text": f"The mill of Ada{chr(97 + n)}a was built in {1800 + n}."} for n in range(20)]
    lakes = [{"id": f"l{n}", "text": f"The lake with the number {n} is a quiet place, and deep."} for n in range(10)]
    file = folder / "documents.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in [*mills, *lakes]), encoding="utf-8")
    return Corpus(str(file))


@pytest.fixture
def under(corpus: Corpus) -> Under:
    """The step of a search under a condition, or bare."""

    def made(condition: Any = None, epoch: int = 0, **arguments: Any) -> Step:
        steps: list[Step] = []
        environment: Any = corpus
        if condition is not None:
            environment = condition.environment(corpus, QUESTION, Seeds(0, "q1", epoch))

        async def call() -> None:
            with Sandbox() as sandbox:
                await Session(environment, sandbox, steps.append).call("retrieve", {**ASK, **arguments})

        asyncio.run(call())
        return steps[0]

    return made


def noise_of(step: Step) -> list[str]:
    return [key for key in step.found if key.startswith("noise:")]


def passages(step: Step) -> list[str]:
    """The texts of the passages as the model reads them."""
    return [part.partition("] ")[2] for part in (step.observation or "").split("\n\n")]


@pytest.mark.parametrize("noise", LEVELS)
@pytest.mark.parametrize("at", PLACES)
def test_nothing_that_was_found_is_left_out_and_its_order_stays(under: Under, noise: str, at: str) -> None:
    step = under(Noisy(3, noise, at))
    assert len(step.found) == 7
    assert len(noise_of(step)) == 3
    assert [key for key in step.found if not key.startswith("noise:")] == under().found


@pytest.mark.parametrize("noise", LEVELS)
def test_no_model_sees_which_passages_are_noise(under: Under, noise: str) -> None:
    step = under(Noisy(3, noise))
    seen = re.findall(r"^\[(.*?)\]", step.observation or "", re.MULTILINE)
    assert seen == [key.removeprefix("noise:") for key in step.found]
    assert len(set(seen)) == 7


def test_the_places_are_those_asked_for(under: Under) -> None:
    assert [key.startswith("noise:") for key in under(Noisy(2, at="first")).found] == [True] * 2 + [False] * 4
    assert [key.startswith("noise:") for key in under(Noisy(2, at="last")).found] == [False] * 4 + [True] * 2


def test_random_places_are_the_same_in_the_same_episode_only(under: Under) -> None:
    first = under(Noisy(2), epoch=0).found
    assert under(Noisy(2), epoch=0).found == first
    assert any(under(Noisy(2), epoch=epoch).found != first for epoch in range(1, 5))


def test_siblings_are_what_the_search_ranks_next(under: Under) -> None:
    more = under(top_k=10).found
    wanted = [key for key in more[4:] if not key.startswith("m3#")][:3]
    assert noise_of(under(Noisy(3, "sibling", "last"))) == [f"noise:{key}" for key in wanted]


def test_where_a_search_has_no_more_there_is_less_noise(under: Under) -> None:
    found = under(Noisy(30, "sibling"), top_k=19)
    assert len(noise_of(found)) <= 1


def test_unrelated_passages_are_from_other_documents(under: Under) -> None:
    found = {key.rpartition("#")[0] for key in under().found}
    noise = {key.removeprefix("noise:").rpartition("#")[0] for key in noise_of(under(Noisy(5, "unrelated")))}
    assert len(noise) == 5
    assert not noise & {*found, "m3"}


def test_a_near_duplicate_has_another_number(under: Under) -> None:
    step = under(Noisy(2, "near-duplicate", "last"))
    original, changed = passages(step)[0], passages(step)[4]
    assert original != changed
    assert re.sub(r"[0-9]+", "", original) == re.sub(r"[0-9]+", "", changed)


def test_a_near_duplicate_without_numbers_has_another_name() -> None:
    results = [{"id": "a#1", "text": "The mill of Ada is old."}, {"id": "b#1", "text": "The mill of Eve is new."}]
    changed = [passage["text"] for passage in near_duplicates(results, random.Random(0))]
    assert changed == ["The mill of Eve is old.", "The mill of Ada is new."]


def test_what_has_neither_number_nor_name_has_no_near_duplicate() -> None:
    assert list(near_duplicates([{"id": "a#1", "text": "nothing here"}], random.Random(0))) == []


@given(st.lists(st.text(max_size=30), max_size=5), st.integers())
def test_a_near_duplicate_never_says_the_same(texts: list[str], seed: int) -> None:
    results = [{"id": f"{n}#1", "text": text} for n, text in enumerate(texts)]
    for made in near_duplicates(results, random.Random(seed)):
        (original,) = [one["text"] for one in results if one["id"].rpartition("#")[0] == made["id"].rpartition("#")[0]]
        assert made["text"] != original


@given(st.text("0123456789", min_size=1, max_size=40), st.integers())
def test_another_number_has_as_many_digits(digits: str, seed: int) -> None:
    (made,) = near_duplicates([{"id": "a#1", "text": digits}], random.Random(seed))
    assert len(made["text"]) == len(digits)
    assert made["text"] != digits


@pytest.mark.parametrize(
    ("passage", "is_answer"),
    [
        ({"id": "m3#1", "text": "x"}, True),
        ({"id": "m3", "text": "x"}, True),
        ({"id": "m31#1", "text": "x"}, False),
        ({"id": "m4#1", "text": "Built in 1803."}, True),
        ({"id": "m4#1", "text": "Built in 18030."}, False),
        ({"id": "m4#1", "text": "建于1803年"}, True),
    ],
)
def test_a_passage_that_holds_the_answer_is_no_noise(passage: dict[str, Any], is_answer: bool) -> None:
    assert answers(passage, QUESTION) is is_answer


@pytest.mark.parametrize("noise", ["unrelated", "sibling"])
def test_no_passage_with_the_answer_is_mixed_in(under: Under, noise: str) -> None:
    step = under(Noisy(25, noise), top_k=1, query="lake number 5")
    assert not [key for key in noise_of(step) if key.startswith("noise:m3#")]


def test_a_search_that_finds_nothing_stays_so(under: Under) -> None:
    assert under(Noisy(3), query="zeppelin").error == "not_found"


def test_an_environment_without_a_search_is_refused() -> None:
    with pytest.raises(UserError, match="the condition noisy needs a search"):
        Noisy().question(QUESTION, Shelves())


def test_an_environment_without_documents_has_no_unrelated_noise() -> None:
    with pytest.raises(UserError, match="Shelves has no records of documents"):
        Noisy(noise="unrelated").pool(Shelves())


@pytest.fixture(scope="module")
def scholars() -> AMiner:
    return AMiner()


Search = tuple[str, dict[str, Any]]
SCHOLAR: Search = ("searchPerson", {"name": "Pooja Verma"})
PAPERS: Search = ("searchPublication", {"publication_info": "genetic search"})


def searched(scholars: AMiner, condition: Noisy, search: Search, question: Question = QUESTION) -> list[dict[str, Any]]:
    """The records that come of a search under a condition."""
    environment = condition.environment(scholars, question, Seeds(0, "q1", 0)).open()
    found = asyncio.run(environment.call(*search))
    return [one if isinstance(one, dict) else dataclasses.asdict(one) for one in found]


@pytest.mark.parametrize("noise", LEVELS)
@pytest.mark.parametrize("search", [SCHOLAR, PAPERS])
def test_records_are_mixed_in_that_have_other_ids(scholars: AMiner, noise: str, search: Search) -> None:
    bare = asyncio.run(scholars.call(*search))
    wanted = 1 if noise == "near-duplicate" else 2
    found = searched(scholars, Noisy(wanted, noise, "last"), search)
    assert found[:-wanted] == bare
    assert len({next(value for key, value in one.items() if key.endswith("_id")) for one in found}) == len(found)
    assert all(list(one) == list(bare[0]) for one in found)


@pytest.mark.parametrize("noise", LEVELS)
def test_no_record_that_is_mixed_in_fits_what_was_asked_for(scholars: AMiner, noise: str) -> None:
    found = searched(scholars, Noisy(3, noise, "first"), SCHOLAR)
    assert len(found) > 1
    assert [one["name"] for one in found].count("Pooja Verma") == 1
    assert found[-1]["name"] == "Pooja Verma"


def test_sibling_records_share_words_with_what_was_asked_for(scholars: AMiner) -> None:
    found = searched(scholars, Noisy(3, "sibling", "last"), SCHOLAR)
    assert all({"Pooja", "Verma"} & set(one["name"].split()) for one in found)


def test_a_record_that_holds_the_answer_is_no_noise(scholars: AMiner) -> None:
    wrong = searched(scholars, Noisy(3, "sibling", "last"), SCHOLAR)[1:]
    question = QUESTION.model_copy(update={"answers": [wrong[0]["organization"]], "evidence": []})
    found = searched(scholars, Noisy(3, "sibling", "last"), SCHOLAR, question)
    assert wrong[0] not in found


def test_what_is_no_search_or_finds_no_record_stays_as_it_is(scholars: AMiner) -> None:
    key = searched(scholars, Noisy(1, at="last"), SCHOLAR)[0]["person_id"]
    for api, arguments in (
        ("getCoauthors", {"person_id": key}),
        ("searchPublication", {"publication_info": "zzzz"}),
    ):
        environment = Noisy().environment(scholars, QUESTION, Seeds(0, "q1", 0)).open()
        assert asyncio.run(environment.call(api, arguments)) == asyncio.run(scholars.call(api, arguments))


def test_unrelated_records_need_no_documents(scholars: AMiner) -> None:
    assert Noisy(noise="unrelated").question(QUESTION, scholars) == QUESTION


def test_noise_and_faults_combine(under: Under) -> None:
    both = combine("both", ["noisy", "faulty"], {"rate": 1, "kinds": "truncated", "at": "first", "distractors": 1})
    found = under(both).found
    assert 0 < len(found) < 5
    assert found[0].startswith("noise:")
    assert isinstance(both.parts[1], Faulty)


@pytest.mark.parametrize(
    "settings", [{"distractors": 0}, {"noise": "sibblings"}, {"noise": ["sibling"]}, {"at": "middle"}]
)
def test_a_setting_that_makes_no_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Noisy(**settings)


def test_the_settings_are_the_identity(tmp_path: Path) -> None:
    assert Noisy().identity() == {"distractors": 3, "noise": "sibling", "at": "random"}
