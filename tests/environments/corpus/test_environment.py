"""The corpus as an environment: what `retrieve` returns, and which settings it has."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.corpus import Corpus, Passage
from r_eval.environments.opening import open_environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.records import Step
from r_eval.testing import EnvironmentContract
from tests.environments.conftest import json_lines

pytest.importorskip("langchain_text_splitters", reason="needs langchain-text-splitters (extra retrieval)")

ROWS = [
    {"id": "pears", "text": "Pears grow on trees. They are sweet and green. Some are yellow.", "title": "Pears"},
    {"id": "chairs#2", "text": "A chair has four legs. People sit on it at a table."},
    {"id": 3, "text": "梨树开白色的花。梨很甜，也很多汁。"},
]


def documents(folder: Path) -> str:
    return json_lines(folder / "documents.jsonl", *ROWS)


class TestCorpus(EnvironmentContract):
    calls = [("retrieve", {"query": "sweet pears"}), ("retrieve", {"query": "多汁的梨", "top_k": 1})]
    nothing = [
        ("retrieve", {"query": "unicorn"}),
        ("retrieve", {"query": " "}),
        ("retrieve", {"query": "a", "top_k": 0}),
    ]
    kinds = ["document"]

    @pytest.fixture
    def environment(self, tmp_path: Path) -> Corpus:
        return Corpus(documents(tmp_path), chunk_size=12)


def test_a_passage_has_its_documents_id_and_its_place_and_a_model_reads_both(tmp_path: Path, sandbox: Sandbox) -> None:
    source = documents(tmp_path)
    assert Corpus(source, chunk_size=8).retrieve("yellow") == [Passage("pears#3", "Some are yellow.")]
    steps: list[Step] = []
    session = Session(Corpus(source), sandbox, steps.append)
    result = asyncio.run(session.call("retrieve", {"query": "Some table on trees", "top_k": 2}))
    texts = {f"{row['id']}#1": row["text"] for row in ROWS}
    assert result.observation == "\n\n".join(f"[{key}] {texts[key]}" for key in steps[0].retrieved_ids)
    assert sorted(steps[0].retrieved_ids) == ["chairs#2#1", "pears#1"]


def test_the_version_is_of_content_and_settings_and_not_of_the_place(tmp_path: Path) -> None:
    source = documents(tmp_path)
    shutil.copy(source, tmp_path / "copy.jsonl")
    kinds: list[dict[str, Any]] = [{}, {"chunk_size": 8}, {"chunk_size": 8, "overlap": 3}]
    versions = [Corpus(source, **settings).version for settings in kinds]
    assert [Corpus(str(tmp_path / "copy.jsonl"), **settings).version for settings in kinds] == versions
    (one, other) = (
        open_environment("corpus", {"documents": source, "chunk_size": 10, "overlap": o}) for o in ("50%", 5)
    )
    assert one.version == other.version
    with Path(source).open("a", encoding="utf-8") as file:
        file.write('{"id": "more", "text": "More."}\n')
    assert len({*versions, one.version, Corpus(source).version}) == 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"documents": "nowhere.txt"}, "nowhere.txt: no such file"),
        ({"chunk_size": 4}, "chunk_size must be at least 8"),
        ({"overlap": 128}, "overlap must be"),
        ({"retriever": "bm52"}, "Did you mean bm25"),
        ({"retreiver": "bm25"}, "Did you mean retriever"),
    ],
)
def test_a_wrong_setting_is_the_persons_error(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        open_environment("corpus", {"documents": documents(tmp_path), **settings})
