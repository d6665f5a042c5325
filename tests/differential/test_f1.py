"""`token_f1_published` against an independent reading of the published rule, on random and on chosen pairs."""

from __future__ import annotations

import random

import pytest

from r_eval.analysis.metrics import get

PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
WORDS = [
    *(
        "the",
        "a",
        "an",
        "The",
        "theatre",
        "an-other",
        "a.",
        "yes",
        "no",
        "Yes.",
        "no!",
        "noanswer",
        "NoAnswer",
        "no answer",
    ),
    *(
        "Paris",
        "paris,",
        "New York",
        "C++",
        "1.5",
        "15",
        "-5",
        "U.S.",
        "O'Brien",
        "x_y",
        "A;B",
        "['a', 'b']",
        '["a", "b"]',
    ),
    *(
        "Zürich",
        "北京",
        "。",
        "“quoted”",
        "İstanbul",
        "ß",
        "\u00a0",
        "\t",
        "\n",
        "",
        " ",
        "a\u0301",
        "½",
        "data",
        "data",
    ),
]


def words_of(text: str) -> list[str]:
    """The published normalisation, a character at a time instead of by expressions and tables."""
    kept = [char for char in text.lower() if char not in PUNCTUATION]
    pieces, word = [], ""
    for char in [*kept, " "]:
        if char.isalnum() or char == "_":
            word += char
        else:
            pieces += [" " if word in ("a", "an", "the") else word, char]
            word = ""
    return "".join(pieces).split()


def reference_f1(prediction: str, gold: str) -> float:
    found, wanted = words_of(prediction), words_of(gold)
    for closed in (["yes"], ["no"], ["noanswer"]):
        if closed in (found, wanted) and found != wanted:
            return 0.0
    left, shared = sorted(wanted), 0
    for word in found:
        if word in left:
            left.remove(word)
            shared += 1
    if shared == 0:
        return 0.0
    return 2 * (shared / len(found)) * (shared / len(wanted)) / (shared / len(found) + shared / len(wanted))


def random_text(rng: random.Random) -> str:
    if rng.random() < 0.2:
        return "".join(rng.choice("aAnNtThHeEyYsS oO.;-_'1é北") for _ in range(rng.randint(0, 8)))
    return rng.choice([" ", ", ", ";", "-"]).join(rng.choice(WORDS) for _ in range(rng.randint(0, 5)))


def test_published_f1_agrees_with_the_reference_on_20_000_random_pairs() -> None:
    rng, metric = random.Random(20240409), get("token_f1_published")
    pairs = [(random_text(rng), random_text(rng)) for _ in range(20_000)]
    assert [(p, g) for p, g in pairs if metric(p, [g]) != pytest.approx(reference_f1(p, g), abs=1e-12)] == []


@pytest.mark.parametrize(
    ("prediction", "gold", "score"),
    [
        ("", "", 0.0),
        ("a", "the", 0.0),
        ("Los Angeles International Airport", "Los Angeles International Airport;California", 0.75),
        ("true or false", "false", 0.5),
        ("The statement is false", "false", 0.5),
        ("yes, they were", "yes", 0.0),
        ("1.5", "15", 1.0),
        ("-5", "5", 1.0),
        ("C++", "C", 1.0),
        ("Sports Team", "SportsTeam", 0.0),
        ('["data mining", "NLP"]', "['data mining', 'NLP']", 1.0),
    ],
)
def test_published_f1_keeps_the_known_quirk(prediction: str, gold: str, score: float) -> None:
    assert get("token_f1_published")(prediction, [gold]) == pytest.approx(score)


def test_published_f1_looks_at_the_first_gold_only() -> None:
    assert get("token_f1_published")("Paris", ["Lyon", "Paris"]) == 0.0
