"""How many actors an LLM has on a cluster, and how many episodes at once each of them."""

from __future__ import annotations

import importlib.util

import pytest

from r_eval.llms.base import LLM

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra: ray)")

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
