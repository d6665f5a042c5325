"""Calls that fail at a rate, one by one or in bursts."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator

import pytest
from scipy.stats import binomtest

from r_eval.environments.base import TemporaryFailure
from r_eval.environments.conditions.faulty import CUT, KINDS, Faulty, failed
from r_eval.environments.sandbox import ProgramResult, Sandbox
from r_eval.environments.session import Session
from r_eval.records import Step
from r_eval.seeds import Seeds
from tests.environments.conditions.shelves import BOOKS, QUESTION, Shelves, recorded, under


def failures(faulty: Faulty, episodes: int, calls: int) -> list[list[bool]]:
    """Which calls of each episode fail."""

    async def made(run: int) -> list[bool]:
        environment = faulty.environment(Shelves(), QUESTION, Seeds(run, "q", 0)).open()
        return [await fails(environment) for _ in range(calls)]

    async def fails(environment: object) -> bool:
        try:
            await environment.call("count", {})  # type: ignore[attr-defined]
        except TemporaryFailure:
            return True
        return False

    async def every() -> list[list[bool]]:
        return [await made(run) for run in range(episodes)]

    return asyncio.run(every())


def runs_of_failures(row: list[bool]) -> Iterator[int]:
    return (len(list(group)) for fails, group in itertools.groupby(row) if fails)


def program(code: str, faulty: Faulty) -> ProgramResult:
    async def made() -> ProgramResult:
        with Sandbox() as sandbox:
            environment = faulty.environment(Shelves(), QUESTION, Seeds(0, "q", 0))
            return await Session(environment, sandbox).run_program(code)

    return asyncio.run(made())


@pytest.mark.parametrize("rate", [0, 0.1, 0.3])
@pytest.mark.parametrize("burst", [1, 3])
def test_the_share_of_failures_is_the_rate_in_short_episodes_too(rate: float, burst: int) -> None:
    rows = failures(Faulty(rate, burst, "error"), 1500 // burst, 2)
    found = [row[0] for row in rows], [row[1] for row in rows]
    for column in found:
        interval = binomtest(sum(column), len(column)).proportion_ci(0.999)
        assert interval.low <= rate <= interval.high


def test_at_a_rate_of_1_every_call_fails() -> None:
    assert failures(Faulty(1, 2, "error"), 3, 5) == [[True] * 5] * 3


def test_a_burst_is_never_shorter_than_asked_for_within_an_episode() -> None:
    (row,) = failures(Faulty(0.2, 3, "error"), 1, 500)
    inner = list(runs_of_failures(row))[1:-1]
    assert inner
    assert all(length % 3 == 0 for length in inner)


def test_a_failed_call_is_an_observation_that_says_it_may_be_made_again() -> None:
    (result,) = under(Faulty(1, kinds="error"), [BOOKS])
    assert (result.error, result.value) == ("temporary", None)
    assert result.observation.startswith("Call 1, of books, failed with an error")
    assert result.observation.endswith("The same call may be made again.")


def test_a_timeout_says_so() -> None:
    (result,) = under(Faulty(1, kinds="timeout"), [BOOKS])
    assert "timed out" in result.observation


def test_a_failed_call_does_not_reach_the_environment() -> None:
    go = ("go", {"shelf": 3})
    for run in range(20):
        first, second = under(Faulty(0.5, kinds="error"), [go, go], run)
        if first.error and not second.error:
            assert second.value["before"] == 0
            return
    pytest.fail("no first call failed")


def test_a_truncated_list_keeps_its_first_elements_and_says_so() -> None:
    (result,) = under(Faulty(1, kinds="truncated"), [BOOKS])
    assert result.error is None
    assert result.value == [f"Ada {number}" for number in range(len(result.value))]
    assert 0 < len(result.value) < 10
    assert result.observation.splitlines()[:2] == [CUT, f"{len(result.value)} result{'s' * (len(result.value) > 1)}."]


def test_of_a_record_the_longest_value_is_truncated() -> None:
    (result,) = under(Faulty(1, kinds="truncated"), [("go", {"shelf": 3})])
    assert {**result.value, "now": ""} == {"before": 0, "now": "", "books": ["one"]}
    assert "the shelf of that number".startswith(result.value["now"])
    assert result.value["now"] != "the shelf of that number"


@pytest.mark.parametrize("call", [("count", {}), ("books", {"author": "nobody"})])
def test_where_nothing_can_be_truncated_the_call_fails(call: tuple[str, dict[str, object]]) -> None:
    (result,) = under(Faulty(1, kinds="truncated"), [call])
    assert result.error == "temporary"


def test_a_whole_result_after_a_truncated_one_does_not_say_that_it_is_cut() -> None:
    results = under(Faulty(0.5, kinds="truncated"), [BOOKS] * 30)
    assert {(len(result.value) < 10, result.observation.startswith(CUT)) for result in results} == {
        (True, True),
        (False, False),
    }


def test_the_steps_tell_every_failure() -> None:
    results, steps = recorded(Faulty(0.5), [BOOKS] * 30)
    wrong = [result.error is not None or len(result.value) < 10 for result in results]
    assert [failed(step) for step in steps] == wrong
    assert not failed(Step(kind="thought", text=CUT, observation=CUT))


def test_all_kinds_happen_unless_some_are_named() -> None:
    said = [result.observation for result in under(Faulty(1), [BOOKS] * 40)]
    for words in ("timed out", "an error", CUT):
        assert 0 < sum(words in text for text in said) < 40


def test_the_same_episode_fails_the_same_way_and_another_epoch_another_way() -> None:
    calls = [BOOKS] * 30
    first = under(Faulty(0.5), calls, epoch=0)
    assert under(Faulty(0.5), calls, epoch=0) == first
    assert under(Faulty(0.5), calls, epoch=1) != first


def test_what_fails_does_not_depend_on_what_is_asked() -> None:
    one = under(Faulty(0.5, kinds="error"), [BOOKS] * 30)
    other = under(Faulty(0.5, kinds="error"), [("count", {})] * 30)
    assert [result.error for result in one] == [result.error for result in other]


def test_a_program_can_catch_a_failure_and_try_again() -> None:
    code = """
answer = None
while answer is None:
    try:
        answer = count()
    except OSError:
        pass
"""
    assert program(code, Faulty(0.5, kinds="error")).answer == 7


def test_a_program_that_does_not_cope_ends_with_the_cause() -> None:
    result = program("answer = count()", Faulty(1, kinds="error"))
    assert result.error is not None
    assert result.error.cause == "temporary"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"rate": 1.1}, "rate must be a number from 0 to 1, not 1.1"),
        ({"rate": float("nan")}, "rate must be"),
        ({"rate": True}, "rate must be"),
        ({"rate": "0.1"}, "rate must be"),
        ({"burst": 0}, "burst must be a whole number of at least 1, not 0"),
        ({"kinds": []}, "kinds must be one or several of error, timeout, truncated"),
        ({"kinds": ["eror"]}, "kinds must be"),
        ({"kinds": 3}, "kinds must be"),
    ],
)
def test_a_setting_out_of_bounds_is_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Faulty(**settings)  # type: ignore[arg-type]


def test_the_identity_does_not_depend_on_how_the_kinds_are_written() -> None:
    assert Faulty(kinds=["timeout", "error"]).identity() == Faulty(kinds=("error", "timeout")).identity()
    assert Faulty().identity() == {"rate": 0.1, "burst": 1, "kinds": list(KINDS)}
