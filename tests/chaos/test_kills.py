"""A run that is killed at random instants, and goes on: every episode once, no answer that it had taken in asked for
twice, and at the end the files of an unbroken run. `benchmarks/kills.py` is the long form.
"""

from __future__ import annotations

import importlib.util
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.chaos.campaign import Campaign, cluster, workers_of

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc to look at processes (Linux)")
KILLS = 5


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    """30 episodes of three calls, carried out in one go."""
    with closing(Campaign(tmp_path_factory.mktemp("campaign"), tasks=2, questions=15, seconds=0.04)) as made:
        made.unbroken()
        yield made


def holds(campaign: Campaign, out: str, most: int) -> None:
    """What is asked of a run that was killed: every episode once, as in one go, and no answer paid for twice."""
    found, again = Counter(e.episode_id for e in campaign.recorded(out)), campaign.made_again()
    assert len(found) == campaign.episodes == campaign.lines(out) == 30
    assert campaign.is_as_unbroken(out)
    assert [one for one in again if one.is_taken_in or not one.is_same] == []
    assert len(again) <= most
    assert campaign.left_over(out) == []


def test_a_run_that_is_killed_ends_as_an_unbroken_one_and_costs_only_what_was_on_its_way(campaign: Campaign) -> None:
    seed = random.randrange(2**32)
    sys.stdout.write(f"kills from seed {seed}\n")
    campaign.begin("killed")
    campaign.kill(KILLS, random.Random(seed))
    campaign.finish()
    holds(campaign, "killed", KILLS * campaign.connections)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra: ray)")
def test_a_worker_of_a_cluster_that_is_killed_costs_nothing_but_what_was_on_its_way(campaign: Campaign) -> None:
    with cluster(1) as made:
        campaign.begin("ray", "ray")
        campaign.kill(1, random.Random(4), lambda: workers_of(made), runs=0.0)
        campaign.finish()
    assert campaign.kills == 1
    holds(campaign, "ray", campaign.connections)
