"""Values leave the sandbox as text, written inside it; nothing that a program made is taken over as it is."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.environments.base import Environment, query_api
from r_eval.environments.prelude import LONGEST, Prelude, TooLarge, read
from r_eval.environments.sandbox import ProgramLimits, ProgramResult, Sandbox
from r_eval.environments.session import Session
from r_eval.records import Step
from tests.timing import slowness


class Echo(Environment):
    """Says things back."""

    @query_api
    def give(self, value: Any = None) -> Any:
        """Give it back."""
        return value


def run(code: str, steps: list[Step] | None = None) -> ProgramResult:
    def record(step: Step) -> None:
        if steps is not None:
            steps.append(step)

    with Sandbox(1, ProgramLimits(seconds=0.3, memory=16 * 1024 * 1024)) as sandbox:
        return asyncio.run(Session(Echo(), sandbox, record).run_program(code))


SHARED = "x = (1,)\nfor i in range(60): x = (x, x)\n"


@pytest.mark.parametrize(
    "end",
    [
        "answer = x",
        "answer = {x: 1}",
        "answer = {x}",
        "{x: 1}",
        "give({x: 1})",
        "give(value=x)",
        "give({x})",
        "{1: [x]}",
    ],
)
def test_a_value_that_holds_another_twice_many_times_does_not_hold_the_process_up(end: str) -> None:
    started = time.monotonic()
    error = run(SHARED + end).error
    assert error is not None
    assert error.cause in ("time", "memory")
    assert time.monotonic() - started < 10 * slowness()


def test_an_unknown_name_is_not_given_its_arguments() -> None:
    error = run(SHARED + "nope({x: 1})").error
    assert error is not None
    assert (error.cause, error.line) == ("unknown_api", 3)


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ("{'a': [1, 2.5, None, True]}", {"a": [1, 2.5, None, True]}),
        ("(1, (2, 3))", [1, [2, 3]]),
        ("{3, 1, 2}", [1, 2, 3]),
        ("[{1}, 'a']", ["{1}", "a"]),
        ("{(1, 2): 3}", {"(1, 2)": 3}),
        ("{1: {2}}", {"1": "{2}"}),
        ("b'a'", "b'a'"),
        ("[10 ** 5000]", [f"{10**5000:#x}"]),
        ("'a\\nb'", "a\nb"),
    ],
)
def test_a_value_leaves_as_data_whichever_way_it_leaves(value: str, left: Any) -> None:
    steps: list[Step] = []
    assert run(f"answer = {value}").answer == left
    assert run(value).answer == left
    assert run(f"answer = give({value})", steps).answer == left
    assert steps[0].arguments == {"value": left}


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("x = 1\n\ngive(1, 2)", 3),
        ("give(\n1,\n2)", 1),
        ("x = 1\n(\n  1 / 0\n)", 3),
        ("'é'; 1 / 0", 1),
        ("x = 2\nx; 1 / 0  # a", 2),
    ],
)
def test_the_line_that_failed_is_the_programs_own(code: str, line: int) -> None:
    error = run(code).error
    assert error is not None
    assert error.line == line


@pytest.mark.parametrize("code", ["", "# a", "x = 1", "answer = (", "\0", "def f(): pass", "x = 1\n" * 20_000 + "x"])
def test_a_program_without_a_last_expression_is_left_as_it_is(code: str) -> None:
    assert Prelude(()).ready(code) == code


LINES = ["x = 1", "'é'", "f(1,\n 2)", "(1,\n)", "x; y", "# é", "", '"""a\n"""', "é = 2"]


@given(st.lists(st.sampled_from(LINES)).map("\n".join))
def test_a_program_keeps_its_lines(code: str) -> None:
    ready = Prelude(()).ready(code)
    assert ready.count("\n") == code.count("\n")
    compile(ready, "x", "exec")


@pytest.mark.parametrize(
    ("code", "answer"), [("1, 2", [1, 2]), ("x = 1\nx == 1  # yes", True), ("'no'; 'yes'", "yes"), ("*[1], 2", [1, 2])]
)
def test_the_last_expression_may_be_any(code: str, answer: Any) -> None:
    assert run(code).answer == answer


def test_names_in_the_sandbox_cannot_be_guessed() -> None:
    assert Prelude(()).call != Prelude(()).call


def test_a_text_that_is_too_long_is_not_read() -> None:
    with pytest.raises(TooLarge, match="4,000,000"):
        read("x" * (LONGEST + 1))
