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


def main() -> None:
    chosen = options(__doc__, kills=100, seed=0, engine="local", episodes=2000)
    print(f"{machine()}, seed {chosen.seed}")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        size = TASKS, max(1, chosen.episodes // TASKS), SECONDS[chosen.engine]
        campaign = stack.enter_context(contextlib.closing(Campaign(folder, *size)))
        start = time.monotonic()
        with cluster(2) if chosen.engine == "ray" else contextlib.nullcontext() as made:
            campaign.begin("killed", chosen.engine)
            of_cluster = (lambda: workers_of(made), RUNS) if made else ()
            campaign.kill(chosen.kills, random.Random(chosen.seed), *of_cluster)
            campaign.finish()
        killed = f"{campaign.kills} kills ({campaign.run_kills} of the run) in {time.monotonic() - start:.0f} s"
        answers, repeats = campaign.answered(), campaign.made_again()
        campaign.unbroken()
        counts = Counter(e.episode_id for e in campaign.recorded("killed"))
        print(f"{chosen.engine}: {killed}; {len(counts)} of {campaign.episodes} episodes")
        print(f"{sum(counts.values())} records in {campaign.lines('killed')} lines")
        print(f"files {'equal' if campaign.is_as_unbroken('killed') else 'DIFFER FROM'} an unbroken run's")
        print(f"left over: {campaign.left_over('killed') or 'nothing'}")
        print(f"{answers} replies, {len(repeats)} calls made again")
        print(f"  of these {sum(not call.is_same for call in repeats)} with another body")
        print(f"  {sum(call.is_taken_in for call in repeats)} after the run had certainly taken the answer in")


if __name__ == "__main__":
    main()
