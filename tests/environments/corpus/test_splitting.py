"""Chunks: at most so many tokens, whole sentences where they fit, an overlap that is really kept."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.environments.corpus.boundaries import sentence_ends, words
from r_eval.environments.corpus.splitting import overlap_tokens, split, tokens_of

PIECES = [
    "第一次。",
    "今天，",
    "天气很好",
    "！",
    "He said so. ",
    "Dr. Who ",
    "3.14 ",
    "\n",
    "   ",
    "antidisestablishment",
    "é",
    "👩‍🔬",
    "…",
]
TEXTS = st.one_of(st.text(max_size=400), st.lists(st.sampled_from(PIECES), max_size=120).map("".join))
SIZES = st.integers(8, 60)


def chunks(text: str, size: int, overlap: int = 0) -> list[str]:
    return [text[start:end] for start, end in split(text, size, overlap)]


@given(TEXTS, SIZES, st.integers(0, 59))
@settings(max_examples=400, deadline=None)
def test_no_chunk_has_more_tokens_than_asked(text: str, size: int, overlap: int) -> None:
    assert all(tokens_of(chunk) <= size for chunk in chunks(text, size, min(overlap, size - 1)))


@given(TEXTS, SIZES, st.integers(0, 59))
@settings(max_examples=400, deadline=None)
def test_all_but_white_space_is_in_a_chunk(text: str, size: int, overlap: int) -> None:
    covered = {place for span in split(text, size, min(overlap, size - 1)) for place in range(span.start, span.end)}
    assert all(char.isspace() for place, char in enumerate(text) if place not in covered)


@given(TEXTS, SIZES, st.integers(0, 59))
@settings(max_examples=400, deadline=None)
def test_what_two_chunks_share_has_at_most_the_tokens_of_the_overlap(text: str, size: int, overlap: int) -> None:
    overlap = min(overlap, size - 1)
    spans = split(text, size, overlap)
    for before, after in itertools.pairwise(spans):
        assert before.start < after.start
        assert before.end < after.end
        assert tokens_of(text[after.start : before.end]) <= overlap


@given(TEXTS, SIZES, st.integers(1, 59))
@settings(max_examples=400, deadline=None)
def test_one_word_more_would_be_too_much_of_an_overlap(text: str, size: int, overlap: int) -> None:
    overlap = min(overlap, size - 1)
    spans = split(text, size, overlap)
    starts = [start for start, _ in words(text)]
    for before, after in itertools.pairwise(spans):
        new = after.start if after.start > before.end else before.end
        new += len(text[new:]) - len(text[new:].lstrip())
        longer = [s for s in starts if before.start < s < min(after.start, before.end)]
        if longer:
            shared, whole = text[longer[-1] : before.end], text[longer[-1] : new + 1]
            assert tokens_of(shared) > overlap or tokens_of(whole) > size


@given(TEXTS, SIZES)
@settings(max_examples=200, deadline=None)
def test_chunks_have_no_white_space_around_them(text: str, size: int) -> None:
    assert all(chunk and chunk == chunk.strip() for chunk in chunks(text, size))


@given(TEXTS, SIZES, st.integers(0, 7))
@settings(max_examples=100, deadline=None)
def test_the_same_text_is_always_cut_the_same(text: str, size: int, overlap: int) -> None:
    assert split(text, size, overlap) == split(text, size, overlap)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("他来了。我走了！真的？", ["他来了。", "我走了！", "真的？"]),
        ("他说：“走吧。”她没动。", ["他说：“走吧。”", "她没动。"]),
        ("Dr. Smith left. Mrs. Jones stayed.", ["Dr. Smith left.", "Mrs. Jones stayed."]),
        ("It cost 3.50 in all. Then 1,000 more came.", ["It cost 3.50 in all.", "Then 1,000 more came."]),
        ("J. R. Ewing sold it. He won!", ["J. R. Ewing sold it.", "He won!"]),
        ("He shops at Macy's etc. and so on. She left.", ["He shops at Macy's etc. and so on.", "She left."]),
        ("First line\nsecond line", ["First line", "second line"]),
        ("他来吗?我不知道!好", ["他来吗?", "我不知道!", "好"]),
    ],
)
def test_sentences_end_where_a_reader_says(text: str, sentences: list[str]) -> None:
    ends = sentence_ends(text)
    assert [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)] == sentences


def test_a_chunk_takes_as_many_sentences_as_fit() -> None:
    text = "One is here. Two is here. Three is here. Four is here."
    assert chunks(text, 8) == ["One is here. Two is here.", "Three is here. Four is here."]


def test_a_sentence_that_is_too_long_is_cut_at_clauses() -> None:
    text = "春天来了，花都开了，树也绿了，鸟儿在唱歌，孩子们在奔跑，大家都很高兴。"
    found = chunks(text, 16)
    assert len(found) > 1
    assert all(chunk[-1] in "，。" for chunk in found)


def test_a_word_that_is_too_long_is_cut_anywhere() -> None:
    text = "x1y2" * 50
    found = chunks(text, 16)
    assert "".join(found) == text
    assert len(found) > 1


def test_an_overlap_begins_inside_a_sentence() -> None:
    text = "".join(f"这是第{number}句话，它并不短也不长。" for number in "一二三四五六七八九")
    spans = split(text, 48, 12)
    shared = [tokens_of(text[b.start : a.end]) for a, b in itertools.pairwise(spans)]
    assert len(shared) > 3
    assert all(9 <= tokens <= 12 for tokens in shared)


@pytest.mark.parametrize("overlap", ["10%", "30%", "50%", "70%"])
def test_a_large_overlap_is_kept_too(overlap: str) -> None:
    text = "".join(
        f"第{number}条新闻说，某地今天有雨，气温{number}度，风力不大，请大家注意安全。" for number in range(60)
    )
    asked = overlap_tokens(overlap, 128)
    spans = split(text, 128, asked)
    shared = [tokens_of(text[b.start : a.end]) for a, b in itertools.pairwise(spans)]
    assert min(shared) >= asked - 4
    assert max(shared) <= asked


@pytest.mark.parametrize("overlap", [-1, 128, "100%", "x%", "-5%", "", True, "1e1"])
def test_an_overlap_of_a_whole_chunk_or_of_nonsense_is_refused(overlap: int | str) -> None:
    with pytest.raises(ValueError, match="overlap must be"):
        overlap_tokens(overlap, 128)


def test_a_long_text_without_any_boundary_is_cut_in_little_time() -> None:
    assert len(split("啊" * 20_000, 64)) > 100
