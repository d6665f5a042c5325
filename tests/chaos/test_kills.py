"""A run that is killed at random instants, and goes on: every episode once, no answer that it had taken in asked for
twice, and at the end the files of an unbroken run. `benchmarks/kills.py` is the long form.
"""

from __future__ import annotations

import importlib.util
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.campaign import Again, Campaign, cluster

pytestmark = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc to look at processes (Linux)")
KILLS = 5


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    """60 episodes of three calls, carried out in one go."""
    with Campaign(tmp_path_factory.mktemp("campaign"), tasks=2, questions=15, seconds=0.02) as made:
        made.unbroken()
        yield made


@pytest.fixture(scope="module")
def again(campaign: Campaign) -> list[Again]:
    """What a run that was killed five times made again."""
    seed = random.randrange(2**32)
    sys.stdout.write(f"kills from seed {seed}\n")
    campaign.begin("killed")
    campaign.kill_processes(KILLS, random.Random(seed))
    campaign.finish()
    return campaign.made_again()


def test_a_run_that_is_killed_records_every_episode_once(campaign: Campaign, again: list[Again]) -> None:
    found = Counter(e.episode_id for e in campaign.recorded("killed"))
    assert len(found) == campaign.episodes == campaign.lines("killed") == 60


def test_a_run_that_is_killed_ends_with_the_files_and_scores_of_an_unbroken_one(
    campaign: Campaign, again: list[Again]
) -> None:
    assert campaign.is_as_unbroken("killed")


def test_no_answer_that_a_run_had_taken_in_before_a_kill_is_asked_for_again(again: list[Again]) -> None:
    assert [one for one in again if one.taken_in] == []


def test_a_kill_costs_no_more_calls_than_were_on_their_way(campaign: Campaign, again: list[Again]) -> None:
    assert [one for one in again if one.lag is None] == []
    assert len(again) <= KILLS * campaign.connections


def test_a_call_that_was_broken_off_is_made_again_as_it_was(again: list[Again]) -> None:
    assert all(one.same for one in again)


def test_a_run_that_was_killed_leaves_no_draft_behind(campaign: Campaign, again: list[Again]) -> None:
    assert campaign.left_over("killed") == []


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra: ray)")
def test_a_worker_of_a_cluster_that_is_killed_costs_nothing_but_what_was_on_its_way(campaign: Campaign) -> None:
    with cluster(1) as (environ, workers):
        campaign.begin("ray", "ray", environ)
        campaign.kill_workers(1, random.Random(4), workers, runs=0.0)
        campaign.finish()
    again = campaign.made_again()
    assert len(campaign.kills) == 1
    assert campaign.lines("ray") == campaign.episodes
    assert campaign.is_as_unbroken("ray")
    assert len(again) <= campaign.connections
    assert [one for one in again if one.lag is None or one.taken_in or not one.same] == []
