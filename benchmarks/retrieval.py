"""Searching chunks by words: BM25 of the environment `corpus`, next to rank_bm25 and SQLite's FTS5.

Chunks are put together from the sentences of CRUD-RAG's documents where R_EVAL_DATA names a folder with them, else
from sentences of invented words that follow Zipf's law, with a seed, until there are as many as wanted. A query is one
of the sentences. All get the same words, cut beforehand; one more row says what it is when the query's text is
cut too, as `retrieve` does. An index is built in one process and, where it is on disk, asked in another.

    python benchmarks/retrieval.py [--sizes 1710,63000,1000000] [--repeats 3] [--queries 300] [--seconds 20]

Columns: seconds to build, MiB of memory at the most while building and while being asked, queries a second (one thread;
the median of the repeats, each of --queries, or as many as --seconds allow), and the milliseconds that 99 of 100
queries stay below. rank_bm25 is left out above 63,000 chunks, since it reads every chunk for every query.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from measure import alone, peak

from r_eval.environments.corpus.retrievers import BM25, best, index_of_words
from r_eval.environments.corpus.sources import read_documents
from r_eval.environments.corpus.words import search_words

SENTENCE = re.compile(r"[^。！？\n]+[。！？]?")
WORDS = 37
"""Words of a chunk at the least, about those of 128 tokens of CRUD-RAG's text."""
TOP_K = 8
MOST = 63_000
WARM = 5
"""Queries before the clock starts."""
RANK = "rank_bm25"
Query = dict[str, Any]
Ask = Callable[[Query], Any]


def sentences() -> tuple[str, list[Query]]:
    """Sentences with their words, and where they are from."""
    path = Path(os.environ.get("R_EVAL_DATA", ""), "crud", "documents_hallu.txt_part_1")
    if path.is_file():
        texts = {s.strip(): None for d in read_documents(str(path)) for s in SENTENCE.findall(d.text)}
        tokenized = [{"text": text, "words": search_words(text)} for text in texts]
        return path.name, [sentence for sentence in tokenized if len(sentence["words"]) > 3]
    rng = random.Random(0)
    vocabulary = [f"{rng.choice('bdgklmnprst')}{n:x}" for n in range(30_000)]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(vocabulary))))
    cost = [rng.choices(vocabulary, cum_weights=weights, k=rng.randint(8, 30)) for _ in range(10_000)]
    return "invented words", [{"text": " ".join(words), "words": words} for words in cost]


def chunks(source: str, size: int) -> Iterator[list[str]]:
    """The words of every chunk."""
    pool = [sentence["words"] for sentence in json.loads(Path(source).read_text(encoding="utf-8"))]
    rng = random.Random(0)
    for _ in range(size):
        words: list[str] = []
        while len(words) < WORDS:
            words = words + rng.choice(pool)
        yield words


def build_ours(source: str, size: int, folder: str) -> None:
    index_of_words(chunks(source, size)).save(folder, show_progress=False)


def ask_ours(size: int, folder: str) -> Ask:
    retriever = BM25.load(Path(folder), size)
    return lambda query: retriever.search_for_words(query["words"], TOP_K)


def ask_by_text(size: int, folder: str) -> Ask:
    retriever = BM25.load(Path(folder), size)
    search_words("词")
    return lambda query: retriever.search(query["text"], TOP_K)


def build_fts(source: str, size: int, folder: str) -> None:
    connection = sqlite3.connect(folder)
    connection.execute("CREATE VIRTUAL TABLE chunks USING fts5(words, content='')")
    rows = ((number, " ".join(words)) for number, words in enumerate(chunks(source, size)))
    with connection:
        connection.executemany("INSERT INTO chunks (rowid, words) VALUES (?, ?)", rows)
        connection.execute("INSERT INTO chunks (chunks) VALUES ('optimize')")
    connection.close()


def ask_fts(size: int, folder: str) -> Ask:
    connection = sqlite3.connect(folder)
    sql = "SELECT rowid FROM chunks WHERE chunks MATCH ? ORDER BY rank LIMIT ?"
    return lambda query: connection.execute(sql, (" OR ".join(f'"{w}"' for w in query["words"]), TOP_K)).fetchall()


ENGINES: dict[str, tuple[Callable[[str, int, str], None], dict[str, Callable[[int, str], Ask]]]] = {
    "r-eval bm25": (build_ours, {"r-eval bm25": ask_ours, "r-eval bm25, by text": ask_by_text}),
    "FTS5": (build_fts, {"FTS5": ask_fts}),
}
"""How the index of an engine is built, and the ways in which it is asked."""


def build_engine(engine: str, source: str, size: int, folder: str) -> str:
    start = time.perf_counter()
    ENGINES[engine][0](source, size, folder)
    return f"{time.perf_counter() - start:9.1f} {peak():7.0f}"


def ask_engine(
    engine: str, way: str, size: int, folder: str, queries: list[Query], repeats: int, seconds: float
) -> str:
    return timed(ENGINES[engine][1][way](size, folder), queries, repeats, seconds)


def rank(source: str, size: int, queries: list[Query], repeats: int, seconds: float) -> str:
    """rank_bm25 has no file: one process builds and is asked."""
    from rank_bm25 import BM25Okapi

    start = time.perf_counter()
    index = BM25Okapi(list(chunks(source, size)))
    cost = f"{time.perf_counter() - start:9.1f} {peak():7.0f}"
    return f"{cost} {timed(lambda q: best(np.asarray(index.get_scores(q['words'])), TOP_K), queries, repeats, seconds)}"


def timed(ask: Ask, queries: list[Query], repeats: int, seconds: float) -> str:
    for query in queries[:WARM]:
        ask(query)
    rates, every = [], []
    for _ in range(repeats):
        latencies: list[float] = []
        for query in queries:
            start = time.perf_counter()
            if not ask(query):
                raise AssertionError(f"nothing was found for {query['text']}")
            latencies.append(time.perf_counter() - start)
            if sum(latencies) > seconds:
                break
        rates.append(len(latencies) / sum(latencies))
        every += latencies
    return f"{peak():7.0f} {statistics.median(rates):11.1f} {1000 * np.percentile(every, 99):8.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1710,63000,1000000")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=20.0, help="for the queries of a repeat")
    options = parser.parse_args()
    name, pool = sentences()
    print(f"{len(pool):,} sentences of {name}; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n")
    print(f"{'chunks':>9} {'engine':20} {'build s':>9} {'MiB':>7} {'asked':>7} {'queries/s':>11} {'p99 ms':>8}")
    plan = random.Random(1).choices(pool, k=options.queries), options.repeats, options.seconds
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "sentences.json")
        source.write_text(json.dumps(pool), encoding="utf-8")
        for size in map(int, options.sizes.split(",")):
            for engine, (_, ways) in ENGINES.items():
                place = str(Path(folder, f"{engine} {size}"))
                cost = alone(build_engine, engine, str(source), size, place)
                for way in ways:
                    line = alone(ask_engine, engine, way, size, place, *plan)
                    print(f"{size:>9,} {way:20} {cost if way == engine else ' ' * 17} {line}", flush=True)
            if size <= MOST:
                print(f"{size:>9,} {RANK:20} {alone(rank, str(source), size, *plan)}", flush=True)


if __name__ == "__main__":
    main()
