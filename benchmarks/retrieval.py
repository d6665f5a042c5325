"""Searching chunks by words: BM25 of the environment `corpus`, next to bm25s itself, rank_bm25 and SQLite's FTS5.

Chunks are put together from the sentences of CRUD-RAG's documents where R_EVAL_DATA names a folder with them, else
from sentences of invented words that follow Zipf's law, with a seed, until there are as many as wanted. A query is one
of the sentences. All get the same words, cut beforehand; one more row says what it is when the query's text is
cut too, as `retrieve` does. An index is built in one process and, where it is on disk, asked in another.

    python benchmarks/retrieval.py [--sizes 1710,63000,1000000] [--repeats 3] [--queries 300] [--seconds 20]

Columns: seconds to build, MiB of memory at the most while building and while being asked, queries a second (wall clock
of one thread; the median of the repeats, and their range), queries a second of processor time, which other programs on
the machine disturb less, the time that 50 and 99 of 100 queries stay below, and how many queries were timed in each
repeat: --queries, or as many as --seconds allow. rank_bm25 is left out above --most chunks, since it reads every chunk
for every query.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import multiprocessing
import os
import platform
import random
import re
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

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

Ask = Callable[[dict[str, Any]], list[int]]


class Built(NamedTuple):
    """What building took."""

    seconds: float
    memory: float


class QueryPlan(NamedTuple):
    """What is asked, how often, and how many seconds of each repeat are enough."""

    queries: list[dict[str, Any]]
    repeats: int
    seconds: float


class QueryTimes(NamedTuple):
    """What being asked took: seconds of every query of every repeat, and processor seconds a query of every repeat."""

    times: list[list[float]]
    processor: list[float]
    memory: float


def sentences(seed: int) -> tuple[str, list[dict[str, Any]]]:
    """Sentences with their words, and where they are from."""
    path = Path(os.environ.get("R_EVAL_DATA", ""), "crud", "documents_hallu.txt_part_1")
    if path.is_file():
        texts = {s.strip(): None for d in read_documents(str(path)) for s in SENTENCE.findall(d.text)}
        cut = [{"text": text, "words": search_words(text)} for text in texts]
        return path.name, [sentence for sentence in cut if len(sentence["words"]) > 3]
    rng = random.Random(seed)
    vocabulary = [f"{rng.choice('bdgklmnprst')}{n:x}" for n in range(30_000)]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(vocabulary))))
    made = [rng.choices(vocabulary, cum_weights=weights, k=rng.randint(8, 30)) for _ in range(10_000)]
    return "invented words", [{"text": " ".join(words), "words": words} for words in made]


def chunks(source: str, size: int, seed: int) -> Iterator[list[str]]:
    """The words of every chunk."""
    pool = [sentence["words"] for sentence in json.loads(Path(source).read_text(encoding="utf-8"))]
    rng = random.Random(seed)
    for _ in range(size):
        words: list[str] = []
        while len(words) < WORDS:
            words = words + rng.choice(pool)
        yield words


def build_ours(source: str, size: int, seed: int, folder: str) -> Any:
    Path(folder).mkdir()
    index = index_of_words(chunks(source, size, seed))
    index.save(folder, show_progress=False)
    return index


def ask_ours(size: int, folder: str) -> Ask:
    retriever = BM25.load(Path(folder), size)
    return lambda query: [hit.chunk for hit in retriever.search_for_words(query["words"], TOP_K)]


def ask_ours_by_text(size: int, folder: str) -> Ask:
    retriever = BM25.load(Path(folder), size)
    search_words("词")
    return lambda query: [hit.chunk for hit in retriever.search(query["text"], TOP_K)]


def ask_bm25s(size: int, folder: str) -> Ask:
    """The library's own search over the same index, by numba where that is installed."""
    import bm25s

    index = bm25s.BM25.load(folder, show_progress=False, backend="auto")
    backend = "numba" if bm25s.NUMBA_AVAILABLE else "numpy"

    def ask(query: dict[str, Any]) -> list[int]:
        found, _ = index.retrieve([query["words"]], k=TOP_K, show_progress=False, backend_selection=backend)
        return found[0].tolist()

    return ask


def build_rank(source: str, size: int, seed: int, folder: str) -> Ask:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi(list(chunks(source, size, seed)))
    return lambda query: [hit.chunk for hit in best(np.asarray(index.get_scores(query["words"])), TOP_K)]


def build_fts(source: str, size: int, seed: int, folder: str) -> None:
    connection = sqlite3.connect(folder)
    connection.execute("CREATE VIRTUAL TABLE chunks USING fts5(words, content='')")
    rows = ((number, " ".join(words)) for number, words in enumerate(chunks(source, size, seed)))
    with connection:
        connection.executemany("INSERT INTO chunks (rowid, words) VALUES (?, ?)", rows)
        connection.execute("INSERT INTO chunks (chunks) VALUES ('optimize')")
    connection.close()


def ask_fts(size: int, folder: str) -> Ask:
    connection = sqlite3.connect(folder)

    def ask(query: dict[str, Any]) -> list[int]:
        match = " OR ".join(f'"{word}"' for word in query["words"])
        sql = "SELECT rowid FROM chunks WHERE chunks MATCH ? ORDER BY rank LIMIT ?"
        return [row[0] for row in connection.execute(sql, (match, TOP_K))]

    return ask


BUILD: dict[str, Callable[[str, int, int, str], Any]] = {
    "r-eval bm25": build_ours,
    "bm25s": build_ours,
    "FTS5": build_fts,
}
ASK = {"r-eval bm25": ask_ours, "r-eval bm25, by text": ask_ours_by_text, "bm25s": ask_bm25s, "FTS5": ask_fts}
RANK = "rank_bm25"


def built(engine: str, source: str, size: int, seed: int, folder: str) -> Built:
    started = time.perf_counter()
    BUILD[engine](source, size, seed, folder)
    return Built(time.perf_counter() - started, memory())


def asked(engine: str, size: int, folder: str, plan: QueryPlan) -> QueryTimes:
    return ask_all(ASK[engine](size, folder), plan)


def rank(source: str, size: int, seed: int, plan: QueryPlan) -> tuple[Built, QueryTimes]:
    """rank_bm25 has no file: one process builds and is asked."""
    started = time.perf_counter()
    ask = build_rank(source, size, seed, "")
    return Built(time.perf_counter() - started, memory()), ask_all(ask, plan)


def ask_all(ask: Ask, plan: QueryPlan) -> QueryTimes:
    for query in plan.queries[:WARM]:
        ask(query)
    times, processor = [], []
    for _ in range(plan.repeats):
        spent: list[float] = []
        begun = time.process_time()
        for query in plan.queries:
            started = time.perf_counter()
            if not ask(query):
                raise AssertionError(f"nothing was found for {query['text']}")
            spent.append(time.perf_counter() - started)
            if sum(spent) > plan.seconds:
                break
        times.append(spent)
        processor.append((time.process_time() - begun) / len(spent))
    return QueryTimes(times, processor, memory())


def memory() -> float:
    """The most MiB that this process has held."""
    status = Path("/proc/self/status")
    if status.exists():  # of Linux; its getrusage begins with what the parent had
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="utf-8"))
        if found:
            return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of its own, whose memory is its alone."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def row(engine: str, size: int, build: Built | None, ask: QueryTimes) -> str:
    rates = sorted(len(times) / sum(times) for times in ask.times)
    busy = 1 / statistics.median(ask.processor)
    queries = min(map(len, ask.times))
    every = np.array([t for times in ask.times for t in times]) * 1000
    middle, slow = np.percentile(every, [50, 99])
    made = f"{build.seconds:9.1f} {build.memory:7.0f}" if build else f"{'':9} {'':7}"
    rate = f"{statistics.median(rates):9.1f} ({rates[0]:.1f}-{rates[-1]:.1f})"
    return (
        f"{size:>9,} {engine:20} {made} {ask.memory:7.0f} {rate:28} {busy:9.1f} {middle:8.2f} {slow:8.2f} {queries:7}"
    )


def versions() -> str:
    packages = ("bm25s", "rank_bm25", "jieba", "numpy")
    installed = {found.name for found in importlib.metadata.distributions()}
    found = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages if name in installed)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    python = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    return f"{python}, {found}; {os.cpu_count()} processors, load {load}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1710,63000,1000000")
    parser.add_argument("--engines", default=f"r-eval bm25,bm25s,{RANK},FTS5")
    parser.add_argument("--most", type=int, default=MOST, help="chunks for rank_bm25")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=20.0, help="for the queries of a repeat")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    engines = [name.strip() for name in options.engines.split(",")]
    say = sys.stdout.write
    say(f"{versions()}\n")
    started = time.process_time()
    name, pool = sentences(options.seed)
    letters = sum(len(sentence["text"]) for sentence in pool)
    rate = letters / (time.process_time() - started)
    say(f"{len(pool):,} sentences of {name}; their words are cut at {rate:,.0f} characters a processor second\n\n")
    say(f"{'chunks':>9} {'engine':20} {'build s':>9} {'MiB':>7} {'asked':>7} {'queries/s (range)':>28} ")
    say(f"{'q/cpu s':>9} {'p50 ms':>8} {'p99 ms':>8} {'queries':>7}\n")
    plan = QueryPlan(random.Random(options.seed + 1).choices(pool, k=options.queries), options.repeats, options.seconds)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "sentences.json")
        source.write_text(json.dumps(pool), encoding="utf-8")
        for size in map(int, options.sizes.split(",")):
            for engine in engines:
                if engine == RANK and size > options.most:
                    continue
                for line in rows(engine, size, str(source), options.seed, plan):
                    say(f"{line}\n")
                    sys.stdout.flush()


def rows(engine: str, size: int, source: str, seed: int, plan: QueryPlan) -> Iterator[str]:
    """The lines of one engine at one size."""
    if engine == RANK:
        build, ask = alone(rank, source, size, seed, plan)
        yield row(engine, size, build, ask)
        return
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "index")
        build = alone(built, engine, source, size, seed, place)
        for way in (way for way in ASK if way.startswith(engine)):
            ask = alone(asked, way, size, place, plan)
            yield row(way, size, build if way == engine else None, ask)


if __name__ == "__main__":
    main()
