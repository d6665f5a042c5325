"""Kills a run repeatedly and checks that every episode is recorded once and no answer is paid for twice.

    python -m benchmarks.kills [--kills 100] [--seed 0] [--engine local|ray] [--episodes 2000]

Episodes of three calls use a scripted LLM, which logs its replies. The run, a plain `r-eval run`, is killed (SIGKILL)
at random times and restarted. With `--engine ray`, workers of a local cluster of two nodes are killed during the run,
and every fifth time the run itself. At the end the files are compared with those of an uninterrupted run.

The summary counts the calls that were answered twice. A reply in transit at the time of a kill is lost. A reply that
the run had certainly received, because the next call of its episode came before, must not be requested again.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.measure import machine, options
from tests.chaos.campaign import Campaign, cluster, workers_of

TASKS = 10
SECONDS = {"local": 0.03, "ray": 0.2}
RUNS = 0.2


def carry_out(campaign: Campaign, engine: str, kills: int, seed: int) -> None:
    """Kill the run as often as requested, then let it finish."""
    chance = random.Random(seed)
    if engine == "local":
        campaign.begin("killed")
        campaign.kill(kills, chance)
        campaign.finish()
        return
    with cluster(2) as made:
        campaign.begin("killed", "ray")
        campaign.kill(kills, chance, lambda: workers_of(made), RUNS)
        campaign.finish()


def summary_line(campaign: Campaign, engine: str, seconds: float) -> str:
    """The summary of a campaign."""
    kills, runs, answers, repeats = campaign.kills, campaign.run_kills, campaign.answered(), campaign.made_again()
    campaign.unbroken()
    counts = Counter(e.episode_id for e in campaign.recorded("killed"))
    parts = [
        f"{engine}: {kills} kills ({runs} of the run) in {seconds:.0f} s",
        f"{len(counts)} of {campaign.episodes} episodes",
        f"{sum(counts.values())} records in {campaign.lines('killed')} lines",
        f"files {'equal' if campaign.is_as_unbroken('killed') else 'DIFFER FROM'} an unbroken run's",
        f"left over: {campaign.left_over('killed') or 'nothing'}",
        f"{answers} replies, {len(repeats)} calls made again",
        f"of these {sum(call.is_taken_in for call in repeats)} after the run had certainly taken the answer in",
        f"{sum(not call.is_same for call in repeats)} with another body",
    ]
    return "; ".join(parts)


def main() -> None:
    chosen = options(__doc__, kills=100, seed=0, engine="local", episodes=2000)
    print(f"{machine()}, seed {chosen.seed}")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        questions = max(1, chosen.episodes // TASKS)
        campaign = stack.enter_context(Campaign(folder, TASKS, questions, SECONDS[chosen.engine]))
        start = time.monotonic()
        carry_out(campaign, chosen.engine, chosen.kills, chosen.seed)
        print(summary_line(campaign, chosen.engine, time.monotonic() - start))


if __name__ == "__main__":
    main()
