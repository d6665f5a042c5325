"""The cost of Ray compared with one process: episodes per second and the driver's memory on this machine.

    python -m benchmarks.ray_scale [--episodes 2000]

A scripted LLM replies at once, one call per episode, so that only the work of R-Eval and Ray remains. The rate covers
the time from the first finished episode to the last; the start of the workers is printed separately.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from benchmarks.measure import machine, options
from r_eval import Grid, run
from r_eval.runner.observer import RunObserver


class RunClock(RunObserver):
    """Records when each episode finishes, and the memory of this process in MiB at that time."""

    def __init__(self) -> None:
        self.start, self.figures = time.perf_counter(), list[tuple[float, float]]()

    def finished(self, episode: object) -> None:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
        self.figures.append((time.perf_counter() - self.start, pages * os.sysconf("SC_PAGE_SIZE") / 2**20))


def measure(engine: str, epochs: int, folder: Path) -> None:
    (folder / "llm.py").write_text("def reply(request):\n    return 'Ada'\n", encoding="utf-8")
    llm = {"llm": f"scripted/{folder / 'llm.py'}:reply", "name": "one", "connections": 32}
    grid = Grid(llms=[llm], workflows=["direct"], tasks=["aminer/soay-easy"], samples=20, epochs=epochs)
    clock = RunClock()
    run(grid, folder / engine, engine=engine, observer=clock)
    number, (first, _), (last, memory) = len(clock.figures), clock.figures[0], clock.figures[-1]
    growth = (memory - clock.figures[number // 2][1]) * 1024 / (number / 2)
    rate = f"{(number - 1) / (last - first):7,.0f} per second, the first after {first:5.1f} s"
    memory_text = f"{memory:5.0f} MiB at the end, {growth:5.2f} KiB per episode in the second half"
    print(f"{engine:6} {number:7,} episodes  {rate}  {memory_text}")


def main() -> None:
    import ray

    epochs = max(1, options(__doc__, episodes=2000).episodes // 20)
    print(f"{machine()}, Ray {ray.__version__}")
    for engine in ("local", "ray"):
        with tempfile.TemporaryDirectory() as folder:
            measure(engine, epochs, Path(folder))


if __name__ == "__main__":
    main()
