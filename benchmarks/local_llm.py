"""How much time the prefix cache and the slots of `gguf/` save on the requests of the demo grid.

The requests of the demo grid are recorded once and then sent twice, in alternating batches, so that other load on the
machine affects both: one at a time without a prefix cache (like the paper's serving code), and with the defaults of
`gguf/`. Both use the same file, threads and llama.cpp.

    python benchmarks/local_llm.py [--questions 4] [--task 'wiki/*'] [--turn 8]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import fnmatch
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from r_eval import arun
from r_eval.cli.demo import demo_grid
from r_eval.llms.base import LLM, LLMError, Reply, Request, make_llm
from r_eval.llms.gguf import GGUF

MODEL = "gguf/smollm2-135m"


@dataclasses.dataclass
class Side:
    """One way to send requests, and its cost."""

    name: str
    llm: LLM
    seconds: float = 0.0
    prompt: int = 0
    completion: int = 0
    cached: int = 0

    async def send(self, requests: Sequence[Request]) -> None:
        """Send requests in order, as many in parallel as the LLM has connections."""
        gate = asyncio.Semaphore(self.llm.connections)

        async def one(request: Request) -> Reply:
            async with gate:
                return await self.llm.generate(request)

        start = time.perf_counter()
        replies = await asyncio.gather(*map(one, requests))
        self.seconds += time.perf_counter() - start
        self.prompt += sum(r.tokens.prompt for r in replies)
        self.completion += sum(r.tokens.completion for r in replies)
        self.cached += sum(r.tokens.cached for r in replies)

    def line(self) -> str:
        speed = (self.prompt + self.completion) / self.seconds
        return (
            f"{self.name:<34} {self.seconds:8.1f} s {speed:9.0f} tokens/s   "
            f"{self.prompt:,} prompt ({self.cached:,} cached) + {self.completion:,} reply tokens"
        )


async def record_requests(questions: int, task: str) -> list[Request]:
    """The requests of the demo grid in the order of their replies."""
    requests: list[Request] = []
    generate = GGUF.generate

    async def record_and_generate(self: GGUF, request: Request) -> Reply:
        with contextlib.suppress(LLMError):
            reply = await generate(self, request)
            requests.append(request)
            return reply
        raise LLMError("context", "left out of the benchmark")

    GGUF.generate = record_and_generate  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder:
            grid = demo_grid()
            grid.tasks = [entry for entry in grid.tasks if fnmatch.fnmatch(entry.task, task)]
            await arun(grid, Path(folder) / "run", limit=questions, cache=False)
    finally:
        GGUF.generate = generate  # type: ignore[method-assign]
    return requests


@contextlib.asynccontextmanager
async def open_side(name: str, **settings: object) -> AsyncIterator[Side]:
    llm = make_llm(MODEL, {**demo_grid().llms[0].settings, **settings})
    await llm.open()
    try:
        yield Side(name, llm)
    finally:
        await llm.close()


async def main(questions: int, task: str, turn: int) -> None:
    requests = await record_requests(questions, task)
    about = f"{len(requests)} requests of the demo grid, {questions} question(s) per task of {task}; {MODEL}"
    print(f"{about}\n", flush=True)
    alone = {"connections": 1, "prefix_cache": False}
    async with open_side("one at a time, no prefix cache", **alone) as baseline, open_side("defaults") as current:
        for start in range(0, len(requests), turn):
            part = requests[start : start + turn]
            for side in (baseline, current) if start // turn % 2 else (current, baseline):
                await side.send(part)
    for side in (baseline, current):
        print(side.line())
    print(f"\nratio of the wall times: {baseline.seconds / current.seconds:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=4, help="questions per task")
    parser.add_argument("--task", default="*", help="only the demo's tasks that this glob selects")
    parser.add_argument("--turn", type=int, default=8, help="requests per batch")
    asyncio.run(main(**vars(parser.parse_args())))
