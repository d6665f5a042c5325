"""The cost of Ray compared with one process: episodes per second and the driver's memory on this machine.

    python benchmarks/ray_scale.py [--episodes 2000]

A scripted LLM replies at once, one call per episode, so that only the work of R-Eval and Ray remains. The rate covers
the time from the first finished episode to the last; the start of the workers is printed separately.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import tempfile
import time
from pathlib import Path

from r_eval import Grid, arun
from r_eval.runner.observer import RunObserver

CODE = "def reply(request):\n    return 'Ada'\n"


class RunClock(RunObserver):
    """Records when episodes finish, and the memory of this process halfway and at the end."""

    def __init__(self, episodes: int) -> None:
        self.episodes, self.done = episodes, 0
        self.start = time.perf_counter()
        self.first = self.last = 0.0
        self.half = self.end = 0.0

    def finished(self, episode: object) -> None:
        self.done += 1
        self.last = time.perf_counter()
        self.first = self.first or self.last
        if self.done == self.episodes // 2:
            self.half = resident()
        self.end = resident() if self.done == self.episodes else 0.0


def resident() -> float:
    """Resident memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(engine: str, epochs: int, folder: Path) -> None:
    (folder / "llm.py").write_text(CODE, encoding="utf-8")
    llm = {"llm": f"scripted/{folder / 'llm.py'}:reply", "name": "one", "connections": 32}
    grid = Grid(llms=[llm], workflows=["direct"], tasks=["aminer/soay-easy"], samples=20, epochs=epochs)
    clock = RunClock(20 * epochs)
    asyncio.run(arun(grid, folder / engine, engine=engine, observer=clock))
    rate = (clock.done - 1) / (clock.last - clock.first)
    growth = (clock.end - clock.half) * 1024 / (clock.done / 2)
    print(
        f"{engine:6} {clock.done:7,} episodes  {rate:7,.0f} a second  first after {clock.first - clock.start:5.1f} s  "
        f"{clock.end:5.0f} MiB at the end, {growth:5.2f} KiB an episode in the second half"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=2000)
    n_episodes = parser.parse_args().episodes
    import ray

    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, Ray {ray.__version__}, {os.cpu_count()} CPUs, load {load}")
    for engine in ("local", "ray"):
        with tempfile.TemporaryDirectory() as folder:
            measure(engine, max(1, n_episodes // 20), Path(folder))


if __name__ == "__main__":
    main()
