"""How many workers an LLM has, and where."""

from __future__ import annotations

import pytest

from r_eval import UserError
from r_eval.engines.sharing import Machine, seat, shares
from r_eval.llms.base import LLM

TWO = [Machine("a", 4, 0), Machine("b", 4, 0)]
GPUS = [Machine("a", 8, 4), Machine("b", 8, 2), Machine("c", 8, 0)]


class Copied(LLM):
    is_local = True


def llm(kind: type[LLM] = LLM, **settings: object) -> LLM:
    return kind("one", "one", settings)


def test_the_connections_of_a_server_are_divided_among_the_machines() -> None:
    assert shares(llm(connections=9), TWO, 1000) == [5, 4]


def test_many_connections_have_more_workers_than_there_are_machines() -> None:
    assert shares(llm(connections=40), TWO, 1000) == [8] * 5


def test_there_are_no_more_workers_than_cpus() -> None:
    found = shares(llm(connections=1000), TWO, 10_000)
    assert len(found) == 8
    assert sum(found) == 1000


def test_one_connection_has_one_worker() -> None:
    assert shares(llm(connections=1), TWO, 1000) == [1]


def test_a_model_that_is_loaded_has_a_copy_on_every_machine_with_all_its_connections() -> None:
    assert shares(llm(Copied, connections=4), TWO, 1000) == [4, 4]


def test_a_few_episodes_need_no_second_copy() -> None:
    assert shares(llm(Copied, connections=4), TWO, 3) == [4]


@pytest.mark.parametrize(("need", "copies"), [(0.5, 12), (1, 6), (2, 3), (4, 1)])
def test_there_are_as_many_copies_as_the_gpus_hold(need: float, copies: int) -> None:
    assert shares(llm(Copied, connections=2, num_gpus=need), GPUS, 1000) == [2] * copies


def test_more_gpus_than_a_machine_has_are_an_error_that_says_how_many_there_are() -> None:
    with pytest.raises(UserError, match=r"num_gpus is 8, and no machine of the cluster has more than 4"):
        shares(llm(Copied, num_gpus=8), GPUS, 1000)


def test_what_needs_no_llm_has_a_worker_for_every_cpu() -> None:
    assert shares(None, TWO, 1000) == [2] * 8


def test_the_number_of_connections_typed_replaces_the_llms_own() -> None:
    assert shares(llm(connections=2), TWO, 1000, connections=10) == [5, 5]


def test_a_machine_with_more_cpus_has_more_workers() -> None:
    machines = [Machine("large", 6, 0), Machine("small", 2, 0)]
    held = {"large": 0, "small": 0}
    for _ in range(8):
        held[seat(machines, held, even=False).id] += 1
    assert held == {"large": 6, "small": 2}


def test_copies_are_spread_evenly_whatever_the_cpus() -> None:
    machines = [Machine("large", 64, 0), Machine("small", 2, 0)]
    assert {seat(machines, {}, even=True).id, seat(machines, {"large": 1}, even=True).id} == {"large", "small"}


def test_a_machine_without_cpus_has_no_workers_where_others_have_some() -> None:
    assert seat([Machine("a", 0, 0), Machine("b", 1, 0)], {"b": 5}, even=False).id == "b"
