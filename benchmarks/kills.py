"""A run that is killed again and again: is every episode there once, and is no answer paid for twice?

    python benchmarks/kills.py [--kills 100] [--seed 0] [--engine local|ray] [--episodes 2000]

Episodes of three calls go to a stub server in a process of its own, which writes down what it answered. The run, an
`r-eval run` as one types it, is killed (SIGKILL) at random instants and begun again. With `--engine ray`, workers of a
cluster of two nodes on this machine are killed while the run goes on, and every fifth time the run itself. At the end
the files are compared with those of a run in one go.

The line counts the calls that were answered twice. An answer that is on its way at the instant of a kill is lost. Of
one that the run had taken in for certain, as the episode's next call came before the kill, none may be asked for again.
For the others the line says how long before the kill they had left the server, at most.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.chaos.campaign import Campaign, cluster

TASKS = 10
SECONDS = {"local": 0.03, "ray": 0.2}
RUNS = 0.2


def carry_out(campaign: Campaign, engine: str, kills: int, seed: int) -> None:
    """Kill, and let the run come to its end."""
    chance = random.Random(seed)
    if engine == "local":
        campaign.begin("killed")
        campaign.kill_processes(kills, chance)
        campaign.finish()
        return
    with cluster(2) as (environ, workers):
        campaign.begin("killed", "ray", environ)
        campaign.kill_workers(kills, chance, workers, RUNS)
        campaign.finish()


def told(campaign: Campaign, engine: str, seconds: float) -> str:
    """The line of figures."""
    kills, notes, again = campaign.kills, campaign.notes(), campaign.made_again()
    campaign.unbroken()
    found = Counter(e.episode_id for e in campaign.recorded("killed"))
    lags = sorted(one.lag for one in again if one.lag is not None and one.lag > 0)
    runs = sum(kill.ports is None for kill in kills)
    parts = [
        f"{engine}: {len(kills)} kills ({runs} of the run) in {seconds:.0f} s",
        f"{len(found)} of {campaign.episodes} episodes",
        f"{sum(found.values())} records in {campaign.lines('killed')} lines",
        f"files and scores {'equal' if campaign.is_as_unbroken('killed') else 'DIFFER FROM'} an unbroken run's",
        f"left over: {campaign.left_over('killed') or 'nothing'}",
        f"{len(notes)} answers, {len(again)} calls made again",
        f"of these {sum(one.taken_in for one in again)} after the run had certainly taken the answer in",
        f"{sum(one.lag is None for one in again)} without a kill",
        f"{sum(not one.same for one in again)} with another body",
        f"{len(lags)} whose answer had left the server before the kill, {spread(lags)}",
    ]
    return "; ".join(parts)


def spread(lags: list[float]) -> str:
    """How long before the kill the answers had left."""
    if not lags:
        return "none"
    return f"half of them at most {lags[len(lags) // 2] * 1000:.1f} ms, all at most {lags[-1] * 1000:.1f} ms before"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=sorted(SECONDS), default="local")
    parser.add_argument("--episodes", type=int, default=2000)
    wanted = parser.parse_args()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, {os.cpu_count()} CPUs, load {load}, seed {wanted.seed}")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        questions = max(1, wanted.episodes // (2 * TASKS))
        campaign = stack.enter_context(Campaign(folder, TASKS, questions, SECONDS[wanted.engine]))
        began = time.monotonic()
        carry_out(campaign, wanted.engine, wanted.kills, wanted.seed)
        print(told(campaign, wanted.engine, time.monotonic() - began))


if __name__ == "__main__":
    main()
