"""The runner's own cost compared with Inspect AI: throughput, use of connections and growth with run size.

Every run and every stub server has a separate process. Runs of R-Eval and the peer alternate, so that both see the same
machine; medians and the load are printed. "Aim" is R-Eval's target.

    python benchmarks/harness.py [NAME]... [--repeats 3] [--scale 1] [--peer PYTHON]

`--peer` is the Python of a virtual environment with inspect-ai and openai. `--scale 0.1` does a tenth of the work.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure import alone, peak

HERE = Path(__file__).parent
Figures = dict[str, Any]
EPISODE_CALLS = 3


@dataclasses.dataclass
class Bench:
    """The settings of the measurements."""

    repeats: int
    scale: float
    peer: str | None

    def size(self, count: int) -> int:
        return max(10, round(count * self.scale))

    def pair(self, stub: list[str] | None = None, **spec: Any) -> tuple[Figures, Figures | None]:
        """The medians of several alternating runs of R-Eval and of the peer."""
        ours, theirs = [], []
        for _ in range(self.repeats):
            ours.append(self.one(sys.executable, "harness_one.py", stub, spec))
            if self.peer is not None:
                theirs.append(self.one(self.peer, "harness_peer.py", stub, spec))
        return medians(ours), medians(theirs) if theirs else None

    def one(self, python: str, script: str, stub: list[str] | None, spec: Figures) -> Figures:
        """The figures of one run."""
        full = {"epochs": 1, "steps": EPISODE_CALLS, "llms": [], "score": True, "resume": False}
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-"))
            if stub is not None:
                port = stack.enter_context(server(stub))
                address = {"base_url": f"http://127.0.0.1:{port}/v1"}
                spec = {**spec, "llms": [{**llm, **address} for llm in spec["llms"]]}
            command = [python, str(HERE / script), json.dumps(full | spec), folder]
            process = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
        figures: Figures = json.loads(process.stdout.splitlines()[-1])
        whole = figures["state"] in ("complete", "success") and figures["lines"] == figures["episodes"]
        if not whole or figures["mean"] not in (None, 1):
            raise SystemExit(f"{script}: {figures}: episodes are missing or wrong\n{process.stderr}")
        return figures


@contextlib.contextmanager
def server(arguments: list[str]) -> Iterator[int]:
    """A stub server's port."""
    command = [sys.executable, str(HERE / "harness_stub.py"), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def medians(runs: list[Figures]) -> Figures:
    """The median of each number, and the first of any other value."""
    first = runs[0]
    numbers = [name for name, value in first.items() if isinstance(value, int | float)]
    return first | {name: statistics.median(run[name] for run in runs) for name in numbers}


def show(label: str, figure: str, aim: str, peer: str = "") -> None:
    print(f"{label:<44} {figure:>22}   {aim:<26} {peer}", flush=True)


def rate(figures: Figures) -> float:
    """Episodes per second."""
    return float(figures["episodes"] / figures["seconds"])


def cost(bench: Bench) -> None:
    """Own cost: scripted LLM, three calls per episode, recorded and scored."""
    us, peer = bench.pair(questions=bench.size(1000))
    _show_rates("own cost, episodes per second", us, peer, "10 x the peer [56]")
    base = alone(peak)
    peer_text = f"peer {peer['peak'] - base:.0f}" if peer else ""
    show("  memory above an empty process, MiB", f"{us['peak'] - base:.0f}", "80 [200]", peer_text)
    show("  processor time per episode, ms", f"{1000 * us['cpu'] / us['episodes']:.2f}", "")


def http(bench: Bench) -> None:
    """Own cost over HTTP: a stub without latency, 10 connections."""
    us, peer = bench.pair([], questions=bench.size(1000), llms=[{"llm": "openai/stub", "connections": 10}])
    _show_rates("HTTP, 10 connections, episodes per second", us, peer, "10 x the peer [34.5]")
    show("  processor time per episode, ms", f"{1000 * us['cpu'] / us['episodes']:.2f}", "")


def _show_rates(label: str, us: Figures, peer: Figures | None, aim: str) -> None:
    peer_text = f"peer {rate(peer):.1f}, {rate(us) / rate(peer):.1f} x" if peer else ""
    show(label, f"{rate(us):.0f}", aim, peer_text)


def fill(bench: Bench) -> None:
    """Ideal over actual time with replies of 200 ms."""
    for connections, aim in ((10, "0.95 [0.79]"), (50, "0.93 [0.39]"), (200, "0.85 [0.09]")):
        count = bench.size(20 * connections)
        ideal = count * EPISODE_CALLS * 0.2 / connections
        llm = {"llm": "openai/stub", "connections": connections}
        us, peer = bench.pair(["--seconds", "0.2"], questions=count, llms=[llm], score=False)
        peer_text = f"peer {ideal / peer['run']:.2f}" if peer else ""
        show(f"fill, {connections} connections, ideal {ideal:.0f} s", f"{ideal / us['run']:.3f}", aim, peer_text)


def growth(bench: Bench) -> None:
    """Time, memory and disk space as the number of episodes grows."""
    sizes = sorted({bench.size(count) for count in (1_000, 10_000, 100_000)})
    first: Figures = {}
    for count in sizes:
        questions = min(1000, count)
        spec = {"questions": questions, "epochs": max(1, count // questions), "resume": True}
        us = bench.one(sys.executable, "harness_one.py", None, spec)
        first = first or us
        more = us["episodes"] - first["episodes"]
        memory_growth = f"{1024 * (us['peak'] - first['peak']) / more:.2f}" if more else "-"
        each = 1000 / us["episodes"]
        show(f"growth, {us['episodes']:,} episodes: ms per episode", f"{each * us['run']:.2f}", "linear")
        show("  processor time, ms per episode", f"{each * us['run_cpu']:.2f}", "linear")
        show("  memory, KiB per further episode", memory_growth, "0.5 [19]")
        show("  resume of the complete run, s", f"{us['resume']:.2f}", "3 for 100,000")
        show("  bytes per episode", f"{us['bytes']:.0f}", "[3,200 compressed]")


PARTS = {part.__name__: part for part in (cost, http, fill, growth)}


def main(names: list[str], repeats: int, scale: float, peer: str | None) -> None:
    bench = Bench(repeats, scale, peer)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    print(f"medians of {repeats}; in brackets the peer's figure on an idle machine\n")
    for name in names or PARTS:
        PARTS[name](bench)
    print(f"\nload {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--peer", metavar="PYTHON")
    options = parser.parse_args()
    main(**vars(options))
