"""How many pairs of an answer and a gold each metric scores in a second.

Short pairs, as questions with short answers have them (one to five words). Golds come back, as they do in a run of
several systems over 10,000 questions; answers are made anew. The processor's time counts, on
one core. Metrics whose packages are not installed, and those that need a model, are left out. "Aim" is what R-Eval is
to reach.

    python benchmarks/metrics.py [NAME]... [--pairs 200000] [--seed 0]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from r_eval.analysis import metrics
from r_eval.errors import UserError

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.differential.pairs import PLAIN

QUESTIONS = 10_000
AIMS = {"token_f1": 150_000}
DEAR = {"bleu": 10, "rouge_l": 4, "relaxed_f1": 4}
"""Metrics that are measured on a part of the pairs."""
WORDS = [*PLAIN, "the"]


def pairs(count: int, seed: int) -> list[tuple[str, list[str]]]:
    """Answers and golds; every second answer shares words with its gold."""
    dice = random.Random(seed)
    golds = [_text(dice) for _ in range(QUESTIONS)]
    made = []
    for place in range(count):
        gold = golds[place % len(golds)]
        answer = _text(dice) if dice.random() < 0.5 else f"{gold} {dice.choice(WORDS)}"
        made.append((answer, [gold]))
    return made


def _text(dice: random.Random) -> str:
    words = [dice.choice(WORDS) for _ in range(dice.randint(1, 4))]
    return " ".join(words).capitalize() + dice.choice(["", ".", ", " + dice.choice(WORDS)])


def speed(name: str, made: list[tuple[str, list[str]]]) -> float:
    """Pairs a second."""
    metric = metrics.get(name)
    metric("warm 北京", ["up"])
    started = time.process_time()
    for prediction, golds in made:
        metric(prediction, golds)
    return len(made) / (time.process_time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=[n for n in metrics.names() if n not in ("bert_score", "judge")])
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    made = pairs(asked.pairs, asked.seed)
    for name in asked.names:
        try:
            figure = speed(name, made[:: DEAR.get(name, 1)])
        except UserError as error:
            print(f"{name:20} left out: {error}")
            continue
        aim = f"   aim {AIMS[name]:,}" if name in AIMS else ""
        print(f"{name:20} {figure:>12,.0f} pairs/s{aim}")


if __name__ == "__main__":
    main()
