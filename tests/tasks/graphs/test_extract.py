"""Triples out of documents."""

from __future__ import annotations

import asyncio
import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.environments.corpus.sources import SourceDocument
from r_eval.tasks.graphs.extract import Extracted, chunks, extract, triples_in
from r_eval.tasks.graphs.graph import Triple
from r_eval.tasks.graphs.matching import NameList
from r_eval.tasks.graphs.source import Row
from r_eval.tasks.llm_client import LLMClient
from tests.tasks.graphs.scripts import name


def read(reply: str) -> tuple[list[Triple], dict[str, int]]:
    dropped: collections.Counter[str] = collections.Counter()
    return triples_in(reply, dropped), dict(dropped)


OSLO = ("Norway", "capital", "Oslo")


@pytest.mark.parametrize(
    "reply",
    [
        '[{"subject": "Norway", "relation": "capital", "object": "Oslo"}]',
        "Here you are:\n```json\n[{'subject': 'Norway', 'relation': 'capital', 'object': 'Oslo',}]\n```",
        '{"triples": [{"subject": "Norway", "relation": "capital", "object": "Oslo"}]}',
        '[["Norway", "capital", "Oslo"]]',
        '["Norway", "capital", "Oslo"]',
        '[{"Relation": "capital", "Subject": "Norway", "Object": "Oslo"}]',
        '[{"subject": "Norway", "relation": "capital", "object": ["Oslo"]}]',
        '[{"subject": "Norway", "relation": "capital", "object": "Oslo"',
    ],
)
def test_a_triple_is_read_however_it_is_written(reply: str) -> None:
    assert read(reply) == ([OSLO], {})


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I found nothing.", "reply without triples"),
        ('[{"subject": "Norway", "relation": "capital"}]', "broken triple"),
        ('[{"subject": "Norway", "relation": "capital", "object": "NaN"}]', "broken triple"),
        ('[["Norway", "Oslo"]]', "broken triple"),
        ('[{"subject": "Norway", "relation": "x", "object": "%s"}]' % ("a" * 300), "broken triple"),
    ],
)
def test_what_is_no_triple_is_counted(reply: str, reason: str) -> None:
    assert read(reply)[1].keys() == {reason}


def extracted(
    texts: dict[str, str],
    names: NameList | None = None,
    relations: NameList | None = None,
    known: list[Triple] | None = None,
) -> Extracted:
    documents = [SourceDocument(key, text) for key, text in texts.items()]
    return asyncio.run(extract(documents, LLMClient(name("reads_facts")), names, relations, known or []))


def test_a_known_fact_is_left_out_after_normalisation() -> None:
    text, lists = {"d": "norway > Capital > Oslo"}, (NameList([("Norway",)]), NameList([("capital",)]))
    assert extracted(text, *lists).rows == [Row(OSLO, "d")]
    assert extracted(text, *lists, [OSLO]).dropped == {"known": 1}


def test_a_fact_stands_once_a_document() -> None:
    fact = "Norway > capital > Oslo"
    found = extracted({"d": f"{fact}\n{fact}", "e": fact})
    assert ([row.document for row in found.rows], found.dropped) == (["d", "e"], {"duplicate": 1})


@given(st.text(alphabet="ab. \n", max_size=300), st.integers(1, 40))
def test_parts_hold_the_whole_text_and_are_short(text: str, longest: int) -> None:
    parts = chunks(text, longest)
    assert all(len(part) <= longest for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())
