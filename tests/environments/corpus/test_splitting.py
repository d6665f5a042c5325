"""Chunks: at most so many tokens, whole sentences where they fit, all of the text."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.environments.corpus.splitting import overlap_tokens, split, tokens_of
from tests.timing import quickest

pytest.importorskip("langchain_text_splitters", reason="needs langchain-text-splitters (extra retrieval)")

SENTENCES = ["第一次。", "今天，", "天气很好", "！", "He said so. ", "Dr. Who ", "3.14 ", "…"]
PIECES = [*SENTENCES, "\n", "  ", "antidisestablishment", "é", "👩‍🔬"]
TEXTS = st.one_of(st.text(max_size=400), st.lists(st.sampled_from(PIECES), max_size=120).map("".join))


def solid(text: str) -> str:
    return "".join(text.split())


@given(TEXTS, st.integers(8, 60), st.integers(0, 59))
@settings(max_examples=300, deadline=None)
def test_no_chunk_has_more_tokens_than_asked_and_none_is_blank(text: str, size: int, overlap: int) -> None:
    for chunk in split(text, size, min(overlap, size - 1)):
        assert tokens_of(chunk) <= size
        assert chunk
        assert chunk == chunk.strip()


@given(TEXTS, st.integers(8, 60))
@settings(max_examples=300, deadline=None)
def test_all_of_the_text_is_in_the_chunks_in_its_order(text: str, size: int) -> None:
    assert solid("".join(split(text, size))) == solid(text)


@pytest.mark.parametrize(
    ("text", "size", "chunks"),
    [
        ("One is here. Two is here. Three is here.", 10, ["One is here. Two is here.", "Three is here."]),
        ("他来了。我走了！真的？", 8, ["他来了。", "我走了！真的？"]),
        ("他说：“走吧。”她没动。", 9, ["他说：“走吧。”", "她没动。"]),
        ("Yes he saw it. Dr. Smith left it all.", 9, ["Yes he saw it.", "Dr. Smith left it all."]),
        ("It cost 3.50 in all. Then 1,000 came.", 11, ["It cost 3.50 in all.", "Then 1,000 came."]),
        (
            "The first line is right here\nand the second line",
            8,
            ["The first line is right here", "and the second line"],
        ),
    ],
)
def test_a_chunk_ends_with_a_sentence(text: str, size: int, chunks: list[str]) -> None:
    assert list(split(text, size)) == chunks


@pytest.mark.parametrize("overlap", ["10%", "30%", "50%", "70%"])
def test_an_overlap_has_the_sentences_that_fit_into_it(overlap: str) -> None:
    text = "".join(f"第{number}条说，某地有雨。" for number in range(200))
    wanted = overlap_tokens(overlap, 128)
    for before, after in itertools.pairwise(split(text, 128, wanted)):
        shared = max(n for n in range(len(after)) if before.endswith(after[:n]))
        assert wanted - 20 <= tokens_of(after[:shared]) <= wanted


@pytest.mark.parametrize("overlap", [-1, 128, "100%", "x%", "-5%", "", True, "1e1"])
def test_an_overlap_of_a_whole_chunk_or_of_nonsense_is_refused(overlap: int | str) -> None:
    with pytest.raises(ValueError, match="overlap must be"):
        overlap_tokens(overlap, 128)


@pytest.mark.parametrize("text", ["啊" * 20_000, "a" * 20_000, "! " * 10_000, "”。" * 10_000, " " * 20_000 + "a"])
def test_a_long_text_without_sentences_is_cut_in_little_time(text: str) -> None:
    assert quickest(lambda: list(split(text, 64, 16)), enough=5.0) < 5.0
