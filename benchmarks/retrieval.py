"""Searching chunks by words: BM25 of the environment `corpus`, next to bm25s itself.

Chunks are put together from the sentences of CRUD-RAG's documents where R_EVAL_DATA names a folder with them, else of
the embedded Chinese reports. A query is one of the sentences. Both engines get the same words, split beforehand; one
more row includes splitting the query's text, as `retrieve` does.

    python -m benchmarks.retrieval [--sizes 1710,63000,1000000] [--repeats 3] [--queries 300]

Columns: seconds to build, peak MiB while building and while searching, queries per second (wall clock of one thread;
the median of the repeats and their range), and the time within which 50 and 99 of 100 queries are answered.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import alone, machine, options, peak
from r_eval.environments.corpus.retrievers import BM25, index_of_words
from r_eval.environments.corpus.sources import FOLDER, read_documents
from r_eval.environments.corpus.words import search_words

SENTENCE = re.compile(r"[^。！？\n]+[。！？]?")
WORDS = 37
"""Least words of a chunk, about those of 128 tokens of CRUD-RAG's text."""
TOP_K = 8
WARM_UP = 5
"""Queries before the clock starts."""
Search = Callable[[dict[str, Any]], list[int]]


def sentences() -> list[dict[str, Any]]:
    """Sentences with their words."""
    path = Path(os.environ.get("R_EVAL_DATA", ""), "crud", "documents_hallu.txt_part_1")
    documents = read_documents(str(path if path.is_file() else FOLDER / "crud-zh.jsonl"))
    texts = dict.fromkeys(sentence.strip() for document in documents for sentence in SENTENCE.findall(document.text))
    split = [{"text": text, "words": search_words(text)} for text in texts]
    return [sentence for sentence in split if len(sentence["words"]) > 3]


def chunks(source: str, size: int) -> Iterator[list[str]]:
    """The words of every chunk."""
    pool = [sentence["words"] for sentence in json.loads(Path(source).read_text(encoding="utf-8"))]
    rng = random.Random(0)
    for _ in range(size):
        words: list[str] = []
        while len(words) < WORDS:
            words = words + rng.choice(pool)
        yield words


def build(source: str, size: int, folder: str) -> tuple[float, float]:
    """Seconds and peak MiB of an index."""
    start = time.perf_counter()
    index_of_words(chunks(source, size)).save(folder, show_progress=False)
    return time.perf_counter() - start, peak()


def search_ours(key: str, size: int, folder: str) -> Search:
    """R-Eval's search for a query's words, or for its text, which is split first."""
    retriever = BM25.load(Path(folder), size)
    search = retriever.search_for_words if key == "words" else retriever.search
    return lambda query: [hit.chunk for hit in search(query[key], TOP_K)]


def search_bm25s(size: int, folder: str) -> Search:
    """The library's own search over the same index, by numba where that is installed."""
    import bm25s

    index = bm25s.BM25.load(folder, show_progress=False, backend="auto")
    backend = "numba" if bm25s.NUMBA_AVAILABLE else "numpy"

    def search(query: dict[str, Any]) -> list[int]:
        chunks, _ = index.retrieve([query["words"]], k=TOP_K, show_progress=False, backend_selection=backend)
        return chunks[0].tolist()

    return search


ENGINES: dict[str, Callable[[int, str], Search]] = {
    "r-eval bm25": functools.partial(search_ours, "words"),
    "r-eval bm25, by text": functools.partial(search_ours, "text"),
    "bm25s": search_bm25s,
}


def run(engine: str, size: int, folder: str, queries: list[dict[str, Any]], repeats: int) -> tuple[list[Any], float]:
    """The seconds of each query of each repeat, and peak MiB."""
    search = ENGINES[engine](size, folder)

    def seconds_of(query: dict[str, Any]) -> float:
        start = time.perf_counter()
        if not search(query):
            raise AssertionError(f"nothing was found for {query['text']}")
        return time.perf_counter() - start

    for query in queries[:WARM_UP]:
        search(query)
    return [[seconds_of(query) for query in queries] for _ in range(repeats)], peak()


def main() -> None:
    chosen = options(__doc__, sizes="1710,63000,1000000", repeats=3, queries=300)
    print(f"{machine()}, bm25s {importlib.metadata.version('bm25s')}\n")
    print("   chunks engine                 build s     MiB  search           queries/s (range)   p50 ms   p99 ms")
    pool = sentences()
    queries = random.Random(1).choices(pool, k=chosen.queries)
    for size in map(int, chosen.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            source, index = Path(folder, "sentences.json"), str(Path(folder, "index"))
            source.write_text(json.dumps(pool), encoding="utf-8")
            built, memory = alone(build, str(source), size, index)
            for engine in ENGINES:
                seconds, search_memory = alone(run, engine, size, index, queries, chosen.repeats)
                rates = sorted(len(times) / sum(times) for times in seconds)
                middle, slow = np.percentile(1000 * np.array(seconds), [50, 99])
                rate = f"{np.median(rates):9.1f} ({rates[0]:.1f}-{rates[-1]:.1f})"
                print(f"{size:>9,} {engine:20} {built:9.1f} {memory:7.0f} {search_memory:7.0f} ", end="")
                print(f"{rate:>28} {middle:8.2f} {slow:8.2f}", flush=True)


if __name__ == "__main__":
    main()
