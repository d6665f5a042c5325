"""The tasks crud/*: the same in two languages, over reports that answer them."""

from __future__ import annotations

import asyncio
import functools

import pytest

from r_eval.analysis.response_types import Observed
from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox, answer_text
from r_eval.environments.session import Session
from r_eval.records import Step
from r_eval.tasks.base import installed, open_environment
from tests.paper import everything

KINDS = ("continuation", "qa-1doc", "qa-2doc", "qa-3doc", "hallucination", "summarization")
LEVELS = {"qa-1doc": "KS", "qa-2doc": "KU", "qa-3doc": "KU"}
ARITY = {"qa-1doc": 1, "qa-2doc": 2, "qa-3doc": 3}
NAMES = [f"crud/{kind}{suffix}" for suffix in ("", "-en") for kind in KINDS]
WITH_PROGRAMS = [name for name in NAMES if "/qa-" in name]


@functools.cache
def corpus(documents: str, chunk_size: int = 128) -> Environment:
    return open_environment("corpus", {"documents": documents, "chunk_size": chunk_size})


@functools.cache
def texts(documents: str) -> dict[str, str]:
    return {record["id"]: record["text"] for record in corpus(documents).records("document")}


def kind(name: str) -> str:
    return name.removeprefix("crud/").removesuffix("-en")


@pytest.mark.parametrize("name", NAMES)
def test_a_question_names_the_documents_that_answer_it(name: str) -> None:
    task, known = installed(name), texts(installed(name).settings["documents"])
    assert len(task.questions) == 12
    assert {q.level for q in everything(name)} == {LEVELS.get(kind(name), "KA")}
    for question in everything(name):
        ids, sources = question.meta["text_ids"], question.meta["sources"]
        assert [known[id] in source for id, source in zip(ids, sources, strict=True)] == [True] * len(ids)
        assert all(Observed([known[id] for id in ids]).holds(text) for text in question.evidence), question.id
        if name in WITH_PROGRAMS:
            assert len(ids) == ARITY[kind(name)]
            others = [text for id, text in known.items() if id not in ids]
            assert not all(any(part in text for text in others) for part in question.evidence), question.id


@pytest.mark.parametrize("chunk_size", [64, 512])
@pytest.mark.parametrize("name", WITH_PROGRAMS)
def test_every_gold_program_gives_the_gold_whatever_the_chunks(name: str, chunk_size: int) -> None:
    environment = corpus(installed(name).settings["documents"], chunk_size)

    async def replayed() -> list[tuple[str, str]]:
        found = []
        with Sandbox() as sandbox:
            for question in everything(name):
                steps: list[Step] = []
                result = await Session(environment, sandbox, steps.append).run_program(question.program or "")
                found.append((question.id, answer_text(result.answer)))
        return found

    assert asyncio.run(replayed()) == [(q.id, q.answers[0]) for q in everything(name)]


@pytest.mark.parametrize("documents", ["crud-en", "crud-zh"])
def test_chunk_size_and_overlap_change_what_is_found(documents: str) -> None:
    asked = [
        q for name in WITH_PROGRAMS for q in installed(name).questions if documents in installed(name).settings.values()
    ]

    def found(size: int, overlap: str) -> tuple[bool, ...]:
        environment = open_environment("corpus", {"documents": documents, "chunk_size": size, "overlap": overlap})
        texts = ["\n".join(p.text for p in environment.retrieve(q.question, 1024 // size)) for q in asked]
        return tuple(all(part in text for part in q.evidence) for q, text in zip(asked, texts, strict=True))

    settings = [found(size, overlap) for size in (64, 128, 256, 512) for overlap in ("0%", "30%")]
    assert len(set(settings)) >= 5
    assert min(map(sum, settings)) < max(map(sum, settings)) - 2
