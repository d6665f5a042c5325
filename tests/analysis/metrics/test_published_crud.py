"""The metrics of CRUD-RAG: golden vectors, and each against another implementation of what was published."""

from __future__ import annotations

import math
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.metrics import get
from tests.analysis.metrics.pairs import unicode_pairs

jieba = pytest.importorskip("jieba", reason="jieba is not installed")

GOLD = "国家图书馆昨天宣布，从五月一日起每周一闭馆，周末延长开放到晚上九点。"
WORDS = [
    "国家",
    "图书馆",
    "昨天",
    "宣布",
    "，",
    "从",
    "五月",
    "一日",
    "周末",
    "开放",
    "到",
    "晚上",
    "九点",
    "。",
    " ",
    "42",
    "AI",
    "é",
]
NAMES = ("bleu", "bleu_published", "rouge_l_published", "word_f1_published")
GOLDEN = [
    (GOLD, (1.0, 1.0, 1.0, 1.0)),
    ("国家图书馆昨天宣布，从五月一日起", (0.252840, 1.0, 0.592593, 0.592593)),
    ("图书馆宣布周末开放到晚上九点。", (0.142182, 0.562341, 0.518519, 0.518519)),
    ("今天天气很好", (0.0, 0.0, 0.0, 0.0)),
]
PUBLISHED = ["bleu_published", "rouge_l_published", "word_f1_published"]


def chinese_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    dice = random.Random(seed)
    pairs = []
    for _ in range(count):
        gold = [dice.choice(WORDS) for _ in range(dice.randint(0, 24))]
        start = dice.randint(0, len(gold))
        kept = gold[start : start + dice.randint(0, 20)]
        answer = kept + [dice.choice(WORDS) for _ in range(dice.randint(0, 6))]
        pairs.append(("".join(answer), "".join(gold)))
    return pairs


PAIRS = chinese_pairs(3_000, 1) + unicode_pairs(2_000, 2)


@pytest.mark.parametrize(("answer", "expected"), GOLDEN)
def test_golden_vectors(answer: str, expected: tuple[float, ...]) -> None:
    assert [get(name)(answer, [GOLD]) for name in NAMES] == pytest.approx(expected, abs=5e-7)


def test_two_words_are_0_to_the_published_bleu_and_1_to_ours() -> None:
    assert (get("bleu_published")("42人", ["42人"]), get("bleu")("42人", ["42人"])) == (0.0, 1.0)
    assert get("rouge_l_published")("42人", ["42人"]) == get("word_f1_published")("42人", ["42人"]) == 1.0


def test_a_space_is_a_word_to_the_published_metrics_and_none_to_ours() -> None:
    assert [get(name)("9 个", ["9个"]) for name in ("rouge_l_published", "word_f1_published")] == [0.8, 0.8]
    assert [get(name)("9 个", ["9个"]) for name in ("rouge_l", "word_f1")] == [1.0, 1.0]


@pytest.mark.parametrize("name", PUBLISHED)
def test_an_empty_text_scores_0_where_the_published_code_raises(name: str) -> None:
    assert (get(name)("", [GOLD]), get(name)(GOLD, [""]), get(name)(GOLD, [])) == (0.0, 0.0, 0.0)


def test_bleu_published_is_sacrebleus_without_smoothing_and_penalty() -> None:
    sacrebleu = pytest.importorskip("sacrebleu", reason="sacrebleu is not installed")
    different, seen = [], 0
    for answer, gold in PAIRS:
        found, wanted = jieba.lcut(answer), jieba.lcut(gold)
        ours = get("bleu_published")(answer, [gold])
        if len(found) < 4 or not wanted:
            expected = 0.0
        else:
            # Their words must hold no white space, and are joined by it.
            table = {word: f"w{place}" for place, word in enumerate(dict.fromkeys(found + wanted))}
            texts = [" ".join(table[word] for word in words) for words in (found, wanted)]
            theirs = sacrebleu.sentence_bleu(
                texts[0], [texts[1]], smooth_method="none", tokenize="none", use_effective_order=False
            )
            expected = theirs.score / 100 / theirs.bp
        seen += expected > 0
        if ours != pytest.approx(expected, abs=1e-9):
            different.append((answer, gold))
    assert seen > 500
    assert different == []


def test_bleu_published_is_the_formula_of_nmt_bleu_divided_by_its_penalty() -> None:
    assert [pair for pair in PAIRS if get("bleu_published")(pair[0], [pair[1]]) != pytest.approx(by_hand(*pair))] == []


def by_hand(answer: str, gold: str) -> float:
    """BLEU from lists that are searched, as nmt has it, over its brevity penalty."""
    found, wanted = jieba.lcut(answer), jieba.lcut(gold)
    precisions = []
    for order in range(1, 5):
        left = [wanted[at : at + order] for at in range(len(wanted) - order + 1)]
        ours = [found[at : at + order] for at in range(len(found) - order + 1)]
        common = 0
        for run in ours:
            if run in left:
                left.remove(run)
                common += 1
        precisions.append(common / len(ours) if ours else 0.0)
    if min(precisions) == 0:
        return 0.0
    ratio = len(found) / len(wanted)
    penalty = 1.0 if ratio > 1 else math.exp(1 - 1 / ratio)
    return math.exp(sum(0.25 * math.log(p) for p in precisions)) * penalty / penalty


def test_rouge_l_published_is_rouge_scores_over_jiebas_words() -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is not installed")

    class Cut:
        def tokenize(self, text: str) -> list[str]:
            return list(jieba.cut(text))

    theirs = scorer.RougeScorer(["rougeL"], tokenizer=Cut())
    ours = get("rouge_l_published")
    assert [(a, g) for a, g in PAIRS if ours(a, [g]) != theirs.score(g, a)["rougeL"].fmeasure] == []


@pytest.mark.parametrize("name", PUBLISHED)
@given(st.text(), st.text())
def test_every_published_score_is_from_0_to_1(name: str, answer: str, gold: str) -> None:
    assert 0.0 <= get(name)(answer, [gold]) <= 1.0 + 1e-12


@pytest.mark.parametrize("text", ["中" * 33_000, "a" * 100_000, " " * 100_000, "。" * 33_000])
def test_a_hostile_text_of_100_kb_ends_fast(text: str) -> None:
    get("bleu_published")("北京", ["warm"])
    started = time.process_time()
    for name in PUBLISHED:
        get(name)(text, ["北京大学"])
    assert time.process_time() - started < 10
