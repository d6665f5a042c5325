"""What keeping replies costs: SQLite as `ReplyStore` uses it, against LMDB behind the same kind of thread.

    python benchmarks/reply_store.py [--rows 1000000] [--calls 4000]

Each line: processor time of the event loop's thread, and of the process, per call (key, find, put); latency of a put.
The LMDB side needs `pip install lmdb`; without it the line is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import multiprocessing
import os
import platform
import queue
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from r_eval.llms.base import LLM, LLMSettings, Message, Reply, Request
from r_eval.llms.replay import Kept, ReplyKey, ReplyStores
from r_eval.llms.reply_store import ReplyStore, _resolve

TURNS = 8


class Lmdb:
    """The same two methods over LMDB."""

    def __init__(self, path: Path) -> None:
        import lmdb

        self._env = lmdb.open(str(path), subdir=False, map_size=32 << 30, sync=False, max_readers=64)
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    async def find(self, key: ReplyKey) -> Kept | None:
        with self._env.begin() as transaction:
            data = transaction.get(key.own) or transaction.get(key.shared or key.own)
        return Kept.from_json(data, b"") if data else None

    async def put(self, key: ReplyKey, kept: Kept) -> None:
        job = _Put(key.shared or key.own, kept.to_json(), asyncio.get_running_loop().create_future())
        self._jobs.put(job)
        await job.done

    def forget(self, owner: bytes) -> None: ...

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()
        self._env.close()

    def _work(self) -> None:
        last = False
        while not last:
            jobs = [self._jobs.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    jobs.append(self._jobs.get_nowait())
            last = None in jobs
            jobs = [job for job in jobs if job is not None]
            with self._env.begin(write=True) as transaction:
                for job in jobs:
                    transaction.put(job.key, job.data)
            _resolve(jobs)


class _Put:
    written = None

    def __init__(self, key: bytes, data: bytes, done: asyncio.Future[None]) -> None:
        self.key, self.data, self.done = key, data, done


class Waiting(LLM):
    """Answers after some milliseconds, as a server does."""

    def __init__(self, text: str, seconds: float) -> None:
        super().__init__("stub", "stub", LLMSettings())
        self.text, self.seconds = text, seconds

    async def generate(self, request: Request) -> Reply:
        await asyncio.sleep(self.seconds)
        return Reply(self.text)


async def episodes(keeper: Any, concurrent: int, calls: int, text: str, seconds: float) -> tuple[float, float]:
    """Processor seconds of this thread and of the process."""
    stores, llm = ReplyStores(keeper, os.urandom(8).hex()), Waiting(text, seconds)
    numbers = iter(range(calls // TURNS))

    async def work() -> None:
        for number in numbers:
            messages = [Message("system", "You answer."), Message("user", f"{stores.run} {number} " + "what? " * 50)]
            replies = stores.of_episode(llm, str(number), "scope", 0)
            for turn in range(TURNS):
                reply, _, _ = await replies.answer(Request(tuple(messages)))
                messages += [Message("assistant", reply.text), Message("user", f"Observation {turn}: " + "x " * 200)]

    own, whole = time.thread_time(), time.process_time()
    await asyncio.gather(*(work() for _ in range(concurrent)))
    return time.thread_time() - own, time.process_time() - whole


async def measured(make: Any, concurrent: int, calls: int, size: int) -> str:
    text, seconds = os.urandom(size // 2).hex(), concurrent / 2000
    bare, bare_whole = await episodes(None, concurrent, calls, text, seconds)
    with contextlib.closing(make()) as keeper:
        own, whole = await episodes(keeper, concurrent, calls, text, seconds)
        waits = []
        for n in range(200):
            began = time.perf_counter()
            await keeper.put(ReplyKey(b"wait %d" % n, None), Kept(Reply(text), 1.0))
            waits.append(time.perf_counter() - began)
    waits.sort()
    per = 1e6 / calls
    return (
        f"loop {(own - bare) * per:.0f} us, process {(whole - bare_whole) * per:.0f} us a call; "
        f"a put alone {statistics.median(waits) * 1e3:.2f} ms, 99 % within {waits[197] * 1e3:.1f} ms"
    )


def fill(make: Any, path: Path, start: int, count: int) -> None:
    """Put so many replies, many at a time."""

    async def main() -> None:
        with contextlib.closing(make(path)) as keeper:
            for begin in range(start, start + count, 2000):
                keys = (ReplyKey(b"", n.to_bytes(8, "big") + os.urandom(8)) for n in range(begin, begin + 2000))
                await asyncio.gather(*(keeper.put(key, Kept(Reply("Kenya " * 80), 1.0)) for key in keys))

    asyncio.run(main())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=4000)
    wanted = parser.parse_args()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, {os.cpu_count()} CPUs, load {load}")
    kinds = [ReplyStore] + ([Lmdb] if importlib.util.find_spec("lmdb") else [])
    for kind in kinds:
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "replies"
            for size in (500, 20_000):
                for concurrent in (1, 50, 200):
                    calls = wanted.calls if concurrent > 1 else wanted.calls // 8
                    line = asyncio.run(measured(lambda: kind(path), concurrent, calls, size))  # noqa: B023
                    print(f"{kind.__name__}, {size} bytes, {concurrent} episodes: {line}", flush=True)
            began, half = time.monotonic(), wanted.rows // 2
            spawn = multiprocessing.get_context("spawn")
            writers = [spawn.Process(target=fill, args=(kind, path, n * half, half)) for n in range(2)]
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
            seconds, codes = time.monotonic() - began, [writer.exitcode for writer in writers]
            size = sum(file.stat().st_size for file in Path(name).iterdir()) >> 20
            print(f"{kind.__name__}: {wanted.rows:,} rows by two processes in {seconds:.0f} s {codes}, {size} MiB")
            line = asyncio.run(measured(lambda: kind(path), 200, wanted.calls, 500))  # noqa: B023
            print(f"{kind.__name__}, then, 500 bytes, 200 episodes: {line}", flush=True)


if __name__ == "__main__":
    main()
