"""Pairs of an answer and a gold to compare metrics on: random, like real ones, unicode and empty; always the same."""

from __future__ import annotations

import random
from collections.abc import Iterator

PLAIN = str.split(
    "paris london river city capital university professor of in and born 1912 42 film director american football team "
    "hill south park new great war king queen album song band market second award state county island bridge"
)
ODD = str.split(
    "the a an The A yes no Yes. no! noanswer true false theatre an-other C++ C# 1.5 15 -5 3,000 U.S. O'Brien x_y A;B "
    "['a', ['a','b'] half-way (1912) $5 50% PhD Ph.D SportsTeam don't rock'n'roll e.g. ... ' \" - -- _ # ½ ² ﬁ"
)
SCRIPTS = [
    *str.split("Zürich naïve café Straße İstanbul Ελλάδα Москва Санкт-Петербург القاهرة दिल्ली กรุงเทพ 서울"),
    *str.split("東京タワー 北京大学 清华大学，北京 五月一日。 “quoted” ＦＵＬＬ ３４ e\u0301"),
    *("\xa0", "\u200d"),
]
EMPTY = ["", " ", "\n", ".", "the", "。", "a", "''"]
CHINESE = [*str.split("国家 图书馆 昨天 宣布 ， 从 五月 一日 周末 开放 到 晚上 九点 。 42 AI é"), " "]
RUSSIAN = str.split(
    "в на и не с по из от до для его её они был была было были год года году годов лет 1912 2024 город города городе "
    "Москва Москвы Москве московский московского река реки рек речной учёный учёного учёные писатель писателя написал "
    "родился родилась премия премии театр театра построен построена IBM Google — « » , . ( )"
)


def plain(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Small letters, digits and single spaces, which every metric reads alike."""
    dice = random.Random(seed)
    return [_pair(dice, PLAIN, " ") for _ in range(count)]


def ascii_pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Words, numbers, punctuation, articles, verdicts and empty texts, in ASCII."""
    dice = random.Random(seed)
    pool = [word for word in PLAIN + ODD * 2 if word.isascii()]
    return [_one_of(dice, pool, [text for text in EMPTY if text.isascii()]) for _ in range(count)]


def unicode_pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """All scripts, besides what the ASCII pairs have."""
    dice = random.Random(seed)
    return [_one_of(dice, PLAIN + ODD + SCRIPTS * 3, EMPTY) for _ in range(count)]


def chinese_pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Chinese texts and parts of them."""
    return [("".join(answer), "".join(gold)) for answer, gold in _parts(count, seed, CHINESE)]


def russian_pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Texts of inflected Russian words and parts of them."""
    return [(" ".join(answer), " ".join(gold)) for answer, gold in _parts(count, seed, RUSSIAN)]


def _parts(count: int, seed: int, pool: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    dice = random.Random(seed)
    for _ in range(count):
        gold = dice.choices(pool, k=dice.randint(0, 24))
        start = dice.randint(0, len(gold))
        yield gold[start : start + dice.randint(0, 20)] + dice.choices(pool, k=dice.randint(0, 6)), gold


def _one_of(dice: random.Random, pool: list[str], empty: list[str]) -> tuple[str, str]:
    answer, gold = _pair(dice, pool, dice.choice([" ", " ", " ", ", ", ";", "  "]))
    one, two = (dice.choice(empty) if dice.random() < 0.04 else text for text in (answer, gold))
    return one, two


def _pair(dice: random.Random, pool: list[str], separator: str) -> tuple[str, str]:
    """Half of the answers are a gold whose words were dropped, added to, changed or put in another order."""
    gold, answer = (dice.choices(pool, k=dice.randint(1, 8)) for _ in range(2))
    if dice.random() < 0.5:
        answer = [word for word in gold if dice.random() < 0.8] + answer[: dice.randint(0, 2)]
        if dice.random() < 0.3:
            dice.shuffle(answer)
    if dice.random() < 0.1:
        answer = gold
    text = separator.join(answer)
    return (text.upper() if separator != " " and dice.random() < 0.2 else text), separator.join(gold)
