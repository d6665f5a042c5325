"""Token F1 and exact match against the answer metrics of SQuAD, HotpotQA and MuSiQue, typed from their description.

SQuAD: lower case, ASCII punctuation deleted, the articles a, an, the made spaces, white space collapsed; F1 of the bags
of words, where a side without words scores 1 if both have none, else 0; the best over the golds. HotpotQA besides gives
0 where one side is yes, no or noanswer and the other is not the same, and 0 where nothing is shared. MuSiQue is SQuAD's
over the answer and its aliases.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Sequence

import pytest

from r_eval.analysis.metrics import exact_match, token_f1, token_f1_published
from tests.analysis.metrics.pairs import ascii_pairs, plain, unicode_pairs

PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
VERDICTS = ("yes", "no", "noanswer")
COUNT = 10_000
INSIDE = re.compile(
    rf"[^\s{re.escape(PUNCTUATION)}][{re.escape(PUNCTUATION)}]+[^\s{re.escape(PUNCTUATION)}]|[-+#;_\\[]"
)
"""Punctuation between letters, signs that belong to a word, and the marks of a list."""


def words_of(text: str) -> list[str]:
    kept = "".join(char for char in text.lower() if char not in PUNCTUATION)
    out, word = [], ""
    for char in f"{kept} ":
        if char.isalnum() or char == "_":
            word += char
            continue
        out.append(" " if word in ("a", "an", "the") else word)
        out.append(char)
        word = ""
    return "".join(out).split()


def squad_f1(answer: str, gold: str) -> float:
    found, wanted = words_of(answer), words_of(gold)
    if not found or not wanted:
        return float(found == wanted)
    shared = sum(min(found.count(word), wanted.count(word)) for word in set(found))
    if shared == 0:
        return 0.0
    precision, recall = shared / len(found), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def squad_em(answer: str, gold: str) -> float:
    return float(words_of(answer) == words_of(gold))


def hotpot_f1(answer: str, gold: str) -> float:
    one, two = " ".join(words_of(answer)), " ".join(words_of(gold))
    if one != two and (one in VERDICTS or two in VERDICTS):
        return 0.0
    return 0.0 if not one or not two else squad_f1(answer, gold)


def best(metric: Callable[[str, str], float], answer: str, golds: Sequence[str]) -> float:
    return max(metric(answer, gold) for gold in golds)


@pytest.mark.parametrize("pairs", [plain, ascii_pairs, unicode_pairs])
def test_the_published_f1_is_hotpotqas(pairs: Callable[[int, int], list[tuple[str, str]]]) -> None:
    assert [(a, g) for a, g in pairs(COUNT, 1) if token_f1_published(a, [g]) != hotpot_f1(a, g)] == []


def test_f1_is_squads_and_hotpotqas_on_plain_text() -> None:
    different = [
        (a, g) for a, g in plain(COUNT, 2) if abs(token_f1(a, [g]) - squad_f1(a, g)) > 1e-12 and not rejoined(a, g)
    ]
    assert different == []


def test_exact_match_is_squads_and_hotpotqas_on_plain_text() -> None:
    different = [(a, g) for a, g in plain(COUNT, 3) if exact_match(a, [g]) != squad_em(a, g) and not rejoined(a, g)]
    assert different == []


def test_answers_with_aliases_score_as_in_musique() -> None:
    dice = random.Random(4)
    pairs = plain(COUNT, 5)
    for answer, gold in pairs:
        golds = [gold, *(dice.choice(pairs)[1] for _ in range(dice.randint(0, 2)))]
        if any(rejoined(answer, one) for one in golds):
            continue
        assert token_f1(answer, golds) == pytest.approx(best(squad_f1, answer, golds), abs=1e-12)
        assert exact_match(answer, golds) == best(squad_em, answer, golds)


def test_the_published_f1_over_aliases_is_musiques_but_for_verdicts_and_empty_texts() -> None:
    dice = random.Random(6)
    pairs = ascii_pairs(COUNT, 7)
    for answer, gold in pairs:
        golds = [gold, *(dice.choice(pairs)[1] for _ in range(dice.randint(0, 2)))]
        ours = max(token_f1_published(answer, [one]) for one in golds)
        theirs = best(squad_f1, answer, golds)
        if ours != theirs:
            sides = [" ".join(words_of(text)) for text in (answer, *golds)]
            assert "" in sides or set(sides) & set(VERDICTS)


@pytest.mark.parametrize("pairs", [ascii_pairs, unicode_pairs])
def test_f1_differs_from_squads_only_in_what_is_repaired(pairs: Callable[[int, int], list[tuple[str, str]]]) -> None:
    unexplained = [
        (a, g) for a, g in pairs(COUNT // 2, 8) if abs(token_f1(a, [g]) - squad_f1(a, g)) > 1e-12 and not reasons(a, g)
    ]
    assert unexplained == []


@pytest.mark.parametrize("pairs", [ascii_pairs, unicode_pairs])
def test_exact_match_differs_from_squads_only_in_what_is_repaired(
    pairs: Callable[[int, int], list[tuple[str, str]]],
) -> None:
    different = [(a, g) for a, g in pairs(COUNT // 2, 9) if exact_match(a, [g]) != squad_em(a, g)]
    assert [(a, g) for a, g in different if not reasons(a, g)] == []


def test_every_reason_to_differ_is_met() -> None:
    met = {reason for a, g in unicode_pairs(2_000, 10) for reason in reasons(a, g)}
    assert met == {"verdict", "articles only", "punctuation in a word", "punctuation only", "not ASCII", "word breaks"}


def reasons(answer: str, gold: str) -> set[str]:
    """Why a repaired metric may differ from SQuAD's on a pair, each by what `normalise` and `verdict` say."""
    found = set()
    sides = [words_of(answer), words_of(gold)]
    if any(side in (["yes"], ["no"], ["true"], ["false"]) for side in sides):
        found.add("verdict")
    if [] in sides and (answer.strip() or gold.strip()):
        found.add("articles only")
    if any(INSIDE.search(text) for text in (answer, gold)):
        found.add("punctuation in a word")
    if any(text.strip() and not any(c.isalnum() for c in text) for text in (answer, gold)):
        found.add("punctuation only")
    if not (answer + gold).isascii():
        found.add("not ASCII")
    if rejoined(answer, gold) or any(
        c.isupper() and b.islower() for t in (answer, gold) for b, c in itertools.pairwise(t)
    ):
        found.add("word breaks")
    return found


def rejoined(answer: str, gold: str) -> bool:
    """Whether the texts differ in nothing but where words are broken."""
    one, two = words_of(answer), words_of(gold)
    return one != two and "".join(one) == "".join(two)


def test_the_pairs_hold_what_they_say() -> None:
    pairs = ascii_pairs(COUNT, 1)
    assert any(a == "" for a, _ in pairs)
    assert any(g == "" for _, g in pairs)
    assert sum(a == g for a, g in pairs) > COUNT / 20
