"""How reading and searching the files of wiki and aminer scale with the number of pages and scholars.

For every size, a file of invented pages or scholars is written, read by an environment and searched. Words follow
Zipf's law. Files are removed after the measurement.

    python benchmarks/environments.py [--sizes 1000,10000,100000] [--domains wiki,aminer]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

from measure import alone, peak

from r_eval.environments.aminer import AMiner
from r_eval.environments.base import NotFound
from r_eval.environments.wiki import Wiki

N_REQUESTS = 300
"""Requests per kind."""
SYLLABLES = [c + v for c in ("", *"bcdfghjklmnprstvz", "br", "st", "tr") for v in ("a", "e", "i", "o", "u", "an", "er")]


class Words:
    """Words with a Zipf distribution."""

    def __init__(self, rng: random.Random, count: int, capital: bool = False) -> None:
        words: dict[str, None] = {}
        while len(words) < count:
            words["".join(rng.choices(SYLLABLES, k=rng.choice((2, 2, 3, 3, 4))))] = None
        self._words = [word.capitalize() if capital else word for word in words]
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(count)))
        self._rng = rng

    def some(self, count: int) -> list[str]:
        return self._rng.choices(self._words, cum_weights=self._weights, k=count)

    def phrase(self, count: int) -> str:
        return " ".join(self.some(count))


def pages(size: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(size)
    words, names = Words(rng, 20_000), Words(rng, 200_000, capital=True)
    titles: set[str] = set()
    while len(titles) < size:
        title = names.phrase(rng.choice((1, 2, 2, 2, 3, 3, 4)))
        if title in titles:
            title = f"{title} ({words.phrase(1)})"
        if title in titles:
            continue
        titles.add(title)
        redirects = [names.phrase(3)] if rng.random() < 0.3 else []
        text = "\n\n".join(f"{title} is {words.phrase(12)}." for _ in range(2))
        yield {"title": title, "text": text, "redirects": redirects, "popularity": int(1 / (rng.random() + 1e-6))}


def scholars(size: int) -> Iterator[dict[str, Any]]:
    """Scholars who each have one paper of their own and share another."""
    rng = random.Random(size)
    given_names, family_names = Words(rng, 3000, capital=True), Words(rng, 40_000, capital=True)
    places, topics, words = Words(rng, 20_000, capital=True), Words(rng, 5000), Words(rng, 30_000)
    interests = [topics.phrase(2) for _ in range(5000)]
    for number in range(size):
        papers = [{"id": f"p{n}", "title": f"{words.phrase(6)} {n}"} for n in {number, rng.randrange(size)}]
        yield {
            "id": f"s{number}",
            "name": f"{given_names.phrase(1)} {family_names.phrase(1)}",
            "organization": f"University of {places.phrase(1)}",
            "interests": rng.sample(interests, 2),
            "publications": papers,
        }


DUMPS: dict[str, Callable[[int], Iterator[dict[str, Any]]]] = {"wiki": pages, "aminer": scholars}


def read(domain: str, source: str) -> tuple[float, float]:
    """Seconds and peak MiB to read a file."""
    start = time.perf_counter()
    Wiki(source) if domain == "wiki" else AMiner(source)
    return time.perf_counter() - start, peak()


def with_typo(rng: random.Random, text: str) -> str:
    """A text with one letter of its longest word changed."""
    word = max(text.split(), key=len)
    place = rng.randrange(len(word))
    misspelt = word[:place] + rng.choice("aeioubkst") + word[place + 1 :]
    return text.replace(word, misspelt, 1)


def wiki_requests(source: Path, rng: random.Random, size: int) -> dict[str, list[dict[str, str]]]:
    sample = sample_records(source, rng, size)
    titles = [page["title"] for page in sample]
    shuffled = rng.sample(titles, len(titles))
    requests = {
        "exact": titles,
        "redirect": [page["redirects"][0] for page in sample if page["redirects"]],
        "missing": [f"{one.split()[0]} {two.split()[-1]} of old" for one, two in zip(titles, shuffled, strict=True)],
        "mistyped": [with_typo(rng, title) for title in titles],
    }
    return {f"Search {kind}": [{"entity": text} for text in texts] for kind, texts in requests.items()}


def aminer_requests(source: Path, rng: random.Random, size: int) -> dict[str, list[dict[str, str]]]:
    sample = sample_records(source, rng, size)
    requests = {
        "name": [{"name": record["name"]} for record in sample],
        "name, organization": [{"name": record["name"], "organization": record["organization"]} for record in sample],
        "organization": [{"organization": record["organization"]} for record in sample],
        "interest": [{"interest": record["interests"][0]} for record in sample],
        "mistyped name": [{"name": with_typo(rng, record["name"])} for record in sample],
    }
    return {f"searchPerson {kind}": requests_of_kind for kind, requests_of_kind in requests.items()}


def sample_records(source: Path, rng: random.Random, size: int) -> list[dict[str, Any]]:
    numbers = set(rng.sample(range(size), N_REQUESTS))
    with source.open(encoding="utf-8") as lines:
        return [json.loads(line) for number, line in enumerate(lines) if number in numbers]


def ask(environment: Wiki | AMiner, request: dict[str, str]) -> float:
    """Milliseconds of one search."""
    session: Any = environment.open()
    start = time.perf_counter()
    with suppress(NotFound):
        session.Search(**request) if isinstance(environment, Wiki) else session.searchPerson(**request)
    return 1000 * (time.perf_counter() - start)


def measure(domain: str, size: int, folder: Path) -> None:
    source = folder / f"{domain}.jsonl"
    with source.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in DUMPS[domain](size))
    seconds, memory = alone(read, domain, str(source))
    print(f"{domain} {size:,}: file {source.stat().st_size / 2**20:,.0f} MiB, read in {seconds:,.1f} s", flush=True)
    print(f"  with {memory:,.0f} MiB of memory ({size / seconds:,.0f} records per second)", flush=True)
    time_searches(domain, size, source)
    source.unlink()


def time_searches(domain: str, size: int, source: Path) -> None:
    environment = Wiki(str(source)) if domain == "wiki" else AMiner(str(source))
    requests = (wiki_requests if domain == "wiki" else aminer_requests)(source, random.Random(1), size)
    print(f"  {'milliseconds':32} {'median':>8} {'99 %':>8}  searches/s", flush=True)
    for kind, requests_of_kind in requests.items():
        for request in requests_of_kind[: N_REQUESTS // 10]:
            ask(environment, request)
        milliseconds = [ask(environment, request) for request in requests_of_kind]
        slow, rate = statistics.quantiles(milliseconds, n=100)[98], 1000 * len(milliseconds) / sum(milliseconds)
        print(
            f"  {kind:32} {statistics.median(milliseconds):8.2f} {slow:8.2f} {rate:8,.0f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000", help="numbers of pages and of scholars")
    parser.add_argument("--domains", default="wiki,aminer")
    options = parser.parse_args()
    for size in map(int, options.sizes.split(",")):
        for domain in options.domains.split(","):
            with tempfile.TemporaryDirectory() as folder:
                measure(domain, size, Path(folder))


if __name__ == "__main__":
    main()
