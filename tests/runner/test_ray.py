"""Runs on a real Ray cluster of several nodes on this machine: the same bytes as in one process, whatever dies."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, UserError, arun, load_run, run
from r_eval.llms.base import LLM
from tests.chaos.campaign import NODE
from tests.chaos.campaign import cluster as ray_cluster
from tests.runner.desks import LOGGING, THOUGHTFUL, Desk, contents

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra: ray)")

QUICK = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_failure_threshold": 4}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes, and this process on the first of them."""
    with ray_cluster(2, **QUICK) as made:
        import ray  # only now, since it reads environment variables

        ray.init(made.address, log_to_driver=False, logging_level="ERROR")
        yield made
        ray.shutdown()


def on_ray(grid: Grid, out: Path, **how: Any) -> Path:
    return run(grid, out, engine="ray", **how).path


def calls(out: Path) -> int:
    return int(load_run(out).folder.manifest()["spent"]["one"]["calls"])


def test_the_bytes_are_those_of_one_process(cluster: Any, desk: Desk, tmp_path: Path) -> None:
    workflows = ["direct", "react", "pal", {"workflow": "dfsdt", "max_calls": 8}, "fc", "oracle"]
    grid = desk.grid(desk.llm(THOUGHTFUL), workflows=workflows, samples=5, epochs=2, limits={"steps": 4})
    many, one = on_ray(grid, tmp_path / "many"), run(grid, tmp_path / "one").path
    assert contents(many) == contents(one)
    assert load_run(many).state == "complete"


def test_the_nodes_of_the_cluster_all_work_and_the_connections_are_kept(
    cluster: Any, desk: Desk, tmp_path: Path
) -> None:
    grid = desk.grid(desk.llm(LOGGING, connections=6, seconds=0.02, crowd=2), samples=40)
    out = on_ray(grid, tmp_path / "out")
    assert len({node for _, _, node, _ in desk.log()}) == 2
    assert 2 <= desk.most_at_once() <= 6
    assert calls(out) == 40


def test_a_node_that_dies_in_the_middle_costs_nothing_but_its_episodes_in_flight(
    cluster: Any, desk: Desk, tmp_path: Path
) -> None:
    third = cluster.add_node(**NODE)
    grid = desk.grid(desk.llm(LOGGING, connections=6, seconds=0.1, crowd=3), workflows=["react"], samples=40)

    def kill() -> None:
        until = time.monotonic() + 120
        while not any(node == third.node_id for _, _, node, _ in desk.log()) and time.monotonic() < until:
            time.sleep(0.05)
        cluster.remove_node(third, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    out = on_ray(grid, tmp_path / "out")
    killer.join()
    assert any(node == third.node_id for _, _, node, _ in desk.log()), "the node that was killed had done nothing"
    assert load_run(out).state == "complete"
    asked = sum(word == "asked" for word, *_ in desk.log())
    assert 40 <= asked <= 40 + 2, "more was asked again than was in flight on the dead node"
    assert contents(out) == contents(run(grid, tmp_path / "one").path)


def test_a_cancelled_run_leaves_no_worker_behind(cluster: Any, desk: Desk, tmp_path: Path) -> None:
    grid = desk.grid(desk.llm(LOGGING, connections=2, seconds=30))

    async def cancelled() -> None:
        task = asyncio.create_task(arun(grid, tmp_path / "out", engine="ray"))
        while not desk.log():
            await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancelled())
    until = time.monotonic() + 60
    workers = {int(process) for _, process, *_ in desk.log()}
    while any(Path(f"/proc/{process}").exists() for process in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{process}").exists() for process in workers)
    assert load_run(tmp_path / "out").state == "interrupted"


def test_an_llm_that_needs_more_gpus_than_there_are_ends_the_run(cluster: Any, desk: Desk, tmp_path: Path) -> None:
    grid = desk.grid({**desk.llm(LOGGING, seconds=0), "num_gpus": 1})
    with pytest.raises(UserError, match="num_gpus is 1, and no machine of the cluster has more than 0"):
        on_ray(grid, tmp_path / "out")


TWO = [{"CPU": 4.0}, {"CPU": 4.0}]
GPUS = [{"CPU": 8.0, "GPU": 4.0}, {"CPU": 8.0, "GPU": 2.0}, {"CPU": 8.0}]


class Copied(LLM):
    is_local = True


@pytest.mark.parametrize(
    ("kind", "settings", "machines", "episodes", "sizes"),
    [
        pytest.param(LLM, {"connections": 9}, TWO, 1000, [5, 4], id="a server's connections are divided"),
        pytest.param(LLM, {"connections": 40}, TWO, 1000, [8] * 5, id="many connections, more actors than machines"),
        pytest.param(LLM, {"connections": 1000}, TWO, 9999, [125] * 8, id="no more actors than CPUs"),
        pytest.param(LLM, {"connections": 1}, TWO, 1000, [1], id="one connection, one actor"),
        pytest.param(Copied, {"connections": 4}, TWO, 1000, [4, 4], id="a loaded model, a copy on every machine"),
        pytest.param(Copied, {"connections": 4}, TWO, 3, [4], id="a few episodes need no second copy"),
        pytest.param(None, {}, TWO, 1000, [2] * 8, id="without LLM, an actor for every CPU"),
        *(
            pytest.param(Copied, {"connections": 2, "num_gpus": need}, GPUS, 1000, [2] * copies, id=f"{need} GPUs")
            for need, copies in ((0.5, 12), (1, 6), (2, 3), (4, 1))
        ),
    ],
)
def test_actors(
    kind: type[LLM] | None,
    settings: dict[str, float],
    machines: list[dict[str, float]],
    episodes: int,
    sizes: list[int],
) -> None:
    from r_eval.runner.ray import actor_sizes

    assert actor_sizes(kind and kind("one", "one", settings), machines, episodes) == sizes
