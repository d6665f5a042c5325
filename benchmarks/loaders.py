"""How fast the loaders read, and the memory that they take.

For every format and size a file of invented records in the published form is written, and 100 questions are sampled
from it in a process of their own, whose peak memory is shown. Files are removed when they have been measured.

    python benchmarks/loaders.py [--megabytes 100,1000] [--folder DIR] [--formats hotpotqa,musique,wikidata5m]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

SAMPLES = 100
WORDS = ["".join(random.Random(n).choices("abcdefghij", k=2 + n % 8)) for n in range(5000)]


def text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def hotpotqa(chance: random.Random) -> Iterator[str]:
    """A JSON list of records with ten passages, about 6 KB each."""
    for number in range(sys.maxsize):
        passages = [[text(chance, 2), [text(chance, 20) for _ in range(4)]] for _ in range(10)]
        record: dict[str, Any] = {
            "_id": f"{number:024x}",
            "question": text(chance, 15),
            "answer": text(chance, 2),
            "type": "bridge",
        }
        record |= {"level": "hard", "supporting_facts": [[passages[0][0], 0], [passages[1][0], 1]], "context": passages}
        yield ("[" if number == 0 else ",\n") + json.dumps(record)


def musique(chance: random.Random) -> Iterator[str]:
    """JSON Lines of records with twenty paragraphs, about 12 KB each."""
    for number in range(sys.maxsize):
        paragraphs = [
            {"idx": n, "title": text(chance, 2), "paragraph_text": text(chance, 80), "is_supporting": n < 2}
            for n in range(20)
        ]
        record: dict[str, Any] = {"id": f"2hop__{number}", "paragraphs": paragraphs, "question": text(chance, 15)}
        yield json.dumps(record | {"answer": text(chance, 2), "answer_aliases": [], "answerable": True}) + "\n"


def wikidata5m(chance: random.Random) -> Iterator[str]:
    """Triples of five million entities, of which few are in most; about 18 bytes each."""
    relations = ["P17", "P19", "P31", "P36", "P106", "P9999"]
    for _ in range(sys.maxsize):
        s, o = int(5_000_000 * chance.random() ** 4) + 1, int(5_000_000 * chance.random() ** 4) + 1
        yield f"Q{s}\t{chance.choice(relations)}\tQ{o}\n"


FORMATS: dict[str, tuple[Callable[[random.Random], Iterator[str]], str]] = {
    "hotpotqa": (hotpotqa, "]"),
    "musique": (musique, ""),
    "wikidata5m": (wikidata5m, ""),
}


def write(path: Path, name: str, size: int) -> None:
    """Write a data file of about so many bytes."""
    make, end = FORMATS[name]
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for part in make(random.Random(0)):
            file.write(part)
            written += len(part)
            if written >= size:
                break
        file.write(end)


def measure(path: str, name: str, settings: dict[str, str]) -> tuple[int, float, float]:
    """Records read, seconds, and peak MiB of this process."""
    from r_eval.tasks.loaders import load

    began = time.perf_counter()
    data = load(path, name, samples=SAMPLES, settings=settings)
    seconds = time.perf_counter() - began
    return data.records, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", default="100,1000")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--formats", default=",".join(FORMATS))
    given = parser.parse_args()
    sys.stdout.write(f"{'format':12} {'MB':>7} {'records':>12} {'seconds':>8} {'MB/s':>7} {'peak MiB':>9}\n")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for name in given.formats.split(","):
            settings = {}
            if name == "wikidata5m":
                names = Path(folder) / "names.txt"
                with names.open("w", encoding="utf-8") as file:  # never whole in memory: a child inherits the peak
                    file.writelines(f"Q{n}\t{WORDS[n % 5000]} {n}\n" for n in range(1, 5_000_001))
                settings = {"aliases": str(names), "frequency": "high"}
            for size in map(int, given.megabytes.split(",")):
                path = Path(folder) / name
                write(path, name, size * 10**6)
                with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                    records, seconds, peak = pool.submit(measure, str(path), name, settings).result()
                sys.stdout.write(
                    f"{name:12} {size:7,} {records:12,} {seconds:8.1f} {size / seconds:7.1f} {peak:9.0f}\n"
                )
                sys.stdout.flush()
                path.unlink()


if __name__ == "__main__":
    main()
