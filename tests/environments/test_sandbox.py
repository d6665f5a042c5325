"""Programs of whatever intent end within their limits, and reach nothing but the query APIs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from r_eval.environments.base import Environment, EnvironmentFailure, query_api
from r_eval.environments.sandbox import ProgramLimits, ProgramResult, Sandbox, answer_text
from r_eval.environments.session import Session
from r_eval.records import Step
from tests.timing import slowness

SECONDS = 0.3


class Echo(Environment):
    """Says things back."""

    @query_api
    def echo(self, what: str) -> str:
        """Say it."""
        return what

    @query_api
    def give(self, value: Any = None) -> Any:
        """Give it back."""
        return value

    @query_api
    def hang(self) -> None:
        """Do not come back."""
        time.sleep(20)

    @query_api
    def fail(self) -> str:
        """Fail."""
        raise EnvironmentFailure("gone")


@pytest.fixture(scope="module")
def brief() -> Iterator[Sandbox]:
    with Sandbox(limits=ProgramLimits(seconds=SECONDS, calls=50)) as opened:
        yield opened


def run(sandbox: Sandbox, code: str, **more: Any) -> ProgramResult:
    return asyncio.run(Session(Echo(), sandbox).run_program(code, **more))


def cause(result: ProgramResult) -> str:
    return result.error.cause if result.error else ""


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("answer = 'x'", "x"),
        ("'x'", "x"),
        ("print('x')\nprint('y')", "x\ny"),
        ("'no'\nanswer = 'x'", "x"),
        ("answer = echo(what='x')", "x"),
        ("answer = give({'a': [1, 2.5, None, True]})", {"a": [1, 2.5, None, True]}),
        ("answer = (1, 2)", [1, 2]),
        ("answer = {3, 1, 2}", [1, 2, 3]),
        ("class A:\n    def __init__(self):\n        self.x = 1\nanswer = A().x", 1),
        ("def f(n):\n    return 1 if n < 2 else n * f(n - 1)\nanswer = f(20)", 2432902008176640000),
        ("import re\nanswer = re.findall('[0-9]+', 'a1b22')", ["1", "22"]),
        ("import datetime\nanswer = datetime.date(2020, 1, 1).year", 2020),
        ("import json\nanswer = json.loads('[1]')", [1]),
        ("answer = 'a\\0b'", "a\0b"),
        ("1, 2", [1, 2]),
        ("*[1], 2", [1, 2]),
    ],
)
def test_the_answer_is_the_variable_else_the_last_expression_else_what_was_printed(
    brief: Sandbox, code: str, answer: Any
) -> None:
    assert run(brief, code) == ProgramResult(answer)


def test_inputs_are_variables_and_expressions_are_evaluated_after_the_program(brief: Sandbox) -> None:
    result = run(brief, "answer = a + 1", inputs={"a": 1}, expressions=["answer * 10", "[a, a]"])
    assert result == ProgramResult(2, extra=[20, [1, 1]])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        (2.0, "2"),
        (0.1 + 0.2, "0.3"),
        ([], ""),
        (["a", 1, True], "a; 1; yes"),
        ([["a", "b"], "c"], "a; b; c"),
        ({"a": 1, "b": ["x", "y"]}, "a: 1; b: x; y"),
    ],
)
def test_an_answer_as_text(value: Any, text: str) -> None:
    assert answer_text(value) == text


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("x = 1\n\ngive(1, 2)", 3),
        ("x = 1\n(\n  1 / 0\n)", 3),
        ("'é'; 1 / 0", 1),
    ],
)
def test_the_line_that_failed_is_the_programs_own(brief: Sandbox, code: str, line: int) -> None:
    error = run(brief, code).error
    assert error is not None
    assert error.line == line


@pytest.mark.parametrize(
    ("code", "expected", "said"),
    [
        ("answer = (", "syntax", "line 1"),
        ("answer = '\ud800'", "syntax", ""),
        ("x = 1\nanswer = ecko(what='x')", "unknown_api", "line 2: NameError: name 'ecko' is not defined"),
        ("answer = echo(waht='x')", "bad_arguments", "Did you mean 'what'?"),
        ("answer = echo()", "bad_arguments", "needs the argument 'what'"),
        ("answer = undefined", "exception", "NameError"),
        ("answer = 1 / 0", "exception", "ZeroDivisionError"),
        ("raise ValueError('mine')", "exception", "mine"),
        ("\n\nraise SystemExit", "exception", "line 3"),
        (
            "answer = list(map(echo, 'ab'))",
            "exception",
            "line 1: NotImplementedError: map, filter, sorted, min and max",
        ),
        ("answer = sorted('ab', key=lambda x: echo(x))", "exception", "call it in a loop or a comprehension"),
    ],
)
def test_an_error_has_a_cause_and_names_its_line(brief: Sandbox, code: str, expected: str, said: str) -> None:
    result = run(brief, code)
    assert result.error is not None
    assert (result.answer, result.error.cause) == (None, expected)
    assert said in result.error.message
    assert len(result.error.message) <= 500


def test_a_failure_of_the_environment_ends_the_program(brief: Sandbox) -> None:
    with pytest.raises(EnvironmentFailure, match="gone"):
        run(brief, "while True:\n    try:\n        fail()\n    except Exception:\n        pass")


@pytest.mark.parametrize(
    "code",
    [
        "while True: echo(what='x')",
        "for i in range(1000):\n    try:\n        echo(what='x')\n    except Exception:\n        pass\nanswer = 1",
        "for i in range(1000):\n    try:\n        nothing(i)\n    except NameError:\n        pass\nanswer = 1",
    ],
)
def test_no_more_calls_are_made_than_allowed(brief: Sandbox, code: str) -> None:
    steps: list[Step] = []
    result = asyncio.run(Session(Echo(), brief, steps.append).run_program(code))
    assert cause(result) == "calls"
    assert len(steps) == 50


def test_neither_time_nor_chance_enters_a_program() -> None:
    code = """
import datetime, random, time
answer = [random.random(), random.sample(range(100), 5), random.Random().random(), time.time(), time.monotonic()]
answer += [str(datetime.datetime.now()), str(datetime.date.today()), hash('a'), str({'b', 'a', 'c'}), str(echo)]
"""
    found = []
    for _ in range(2):
        with Sandbox(workers=1) as sandbox:
            found += [run(sandbox, code), run(sandbox, code)]
        time.sleep(0.01)
    assert found[0].error is None
    assert all(result == found[0] for result in found)


def test_programs_whose_calls_hang_hold_up_no_other() -> None:
    async def main() -> tuple[list[Any], float]:
        with Sandbox(2) as sandbox:
            session = Session(Echo(), sandbox)
            hanging = [asyncio.create_task(session.run_program("hang()")) for _ in range(8)]
            await asyncio.sleep(1)
            started = time.monotonic()
            results = await asyncio.gather(*(session.run_program(f"answer = echo('{n}')") for n in range(6)))
            seconds = time.monotonic() - started
            for task in hanging:
                task.cancel()
            return [result.answer for result in results], seconds

    answers, seconds = asyncio.run(main())
    assert answers == [str(n) for n in range(6)]
    assert seconds < 3 * slowness()


SCRIPT = """
import asyncio, sys
from r_eval.environments.base import Environment, query_api
from r_eval.environments.sandbox import ProgramLimits, Sandbox
from r_eval.environments.session import Session

class Echo(Environment):
    "Says things back."
    @query_api
    def echo(self, what: str) -> str:
        "Say it."
        return what
    @query_api
    async def wait(self) -> None:
        "Wait."
        await asyncio.sleep(0.01)

async def main():
    with Sandbox(limits=ProgramLimits(seconds=float(sys.argv[2]), calls=10**6)) as sandbox:
        async def run(code):
            return (await Session(Echo(), sandbox).run_program(code)).answer
        print(await asyncio.gather(*(run(f"answer = echo(what='{i}')") for i in range(8))))
        await run("answer = 'a' * 10 ** 10")
        try:
            async with asyncio.timeout(0.2):
                await asyncio.gather(*(run(sys.argv[1]) for _ in range(3)))
        except TimeoutError:
            print("given up")

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("code", "seconds"),
    [
        ("while True: wait()", 3600.0),
        ("while True: pass", 0.3),
    ],
)
def test_the_process_ends_cleanly_whatever_is_under_way(code: str, seconds: float) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, code, str(seconds)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str([str(i) for i in range(8)]), "given up"]
    assert done.stderr == ""
