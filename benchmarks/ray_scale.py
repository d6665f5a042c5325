"""The cost of Ray compared with one process: episodes per second and the driver's memory on this machine.

    python -m benchmarks.ray_scale [--episodes 2000]

A scripted LLM replies at once, one call per episode, so that only the work of R-Eval and Ray remains. The rate covers
the time from the first finished episode to the last; the start of the workers is printed separately.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path

from benchmarks.measure import machine, options
from r_eval import Grid, arun
from r_eval.runner.observer import RunObserver


class RunClock(RunObserver):
    """Records when each episode finishes, and the memory of this process in MiB at that time."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.seconds: list[float] = []
        self.memory: list[float] = []

    def finished(self, episode: object) -> None:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
        self.memory.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
        self.seconds.append(time.perf_counter() - self.start)


def measure(engine: str, epochs: int, folder: Path) -> None:
    (folder / "llm.py").write_text("def reply(request):\n    return 'Ada'\n", encoding="utf-8")
    llm = {"llm": f"scripted/{folder / 'llm.py'}:reply", "name": "one", "connections": 32}
    grid = Grid(llms=[llm], workflows=["direct"], tasks=["aminer/soay-easy"], samples=20, epochs=epochs)
    clock = RunClock()
    asyncio.run(arun(grid, folder / engine, engine=engine, observer=clock))
    number, first, memory = len(clock.seconds), clock.seconds[0], clock.memory
    rate = (number - 1) / (clock.seconds[-1] - first)
    growth = (memory[-1] - memory[number // 2]) * 1024 / (number / 2)
    print(
        f"{engine:6} {number:7,} episodes  {rate:7,.0f} per second  first after {first:5.1f} s  "
        f"{memory[-1]:5.0f} MiB at the end, {growth:5.2f} KiB per episode in the second half"
    )


def main() -> None:
    import ray

    episodes = options(__doc__, episodes=2000).episodes
    print(f"{machine()}, Ray {ray.__version__}")
    for engine in ("local", "ray"):
        with tempfile.TemporaryDirectory() as folder:
            measure(engine, max(1, episodes // 20), Path(folder))


if __name__ == "__main__":
    main()
