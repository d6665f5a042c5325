"""A session: whatever a model asks for comes back as an observation; only the environment's own failure is raised."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import json
import re
import sqlite3
import threading
import time
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from r_eval.environments import (
    Environment,
    EnvironmentFailure,
    NotFound,
    Observation,
    TemporaryFailure,
    ToolError,
    query_api,
)
from r_eval.environments.sandbox import ProgramResult, Sandbox
from r_eval.environments.session import CallResult, Session, cut
from r_eval.records import Step


class Atlas(Environment):
    """Towns."""

    @query_api
    def search(self, word: str) -> Observation[list[str]]:
        """Find towns."""
        return Observation([word, word.upper()], text=f"{word}, twice", retrieved_ids=(f"t{n}" for n in (2, 1)))

    @query_api
    def listed(self) -> Observation[list[str]]:
        """List towns."""
        return Observation(["Łódź"], retrieved_ids=["t3"])


class Store(Environment):
    """A store room."""

    def __init__(self) -> None:
        self.place = "the door"
        self.visits: list[str] = []

    @query_api
    def walk(self, to: str) -> str:
        """Walk somewhere."""
        before, self.place = self.place, to
        self.visits.append(to)
        return f"from {before} to {to}"

    @query_api
    def take(self, what: str) -> str:
        """Take something."""
        raise NotFound(f"There is no {what} here.") if what else NotFound

    @query_api
    def refuse(self, what: str) -> str:
        """Refuse something."""
        raise ToolError(what.strip() and f"{what} is not for sale.")

    @query_api
    def wait(self) -> str:
        """Be busy."""
        raise TemporaryFailure("The shop is full.")

    @query_api
    def crash(self) -> str:
        """Crash."""
        raise KeyError("a bug")

    @query_api
    def first(self) -> str:
        """Find none."""
        return next(word for word in ())

    @query_api
    def down(self) -> str:
        """Be down."""
        raise EnvironmentFailure("the server is down")

    @query_api
    def odd(self) -> object:
        """Give what is no data."""
        return object()

    @query_api
    def text(self, length: int) -> str:
        """Give a long text."""
        return "word " * (length // 5)

    @query_api
    def back(self, values: list[Any]) -> list[Any]:
        """Give a list back."""
        return values

    @query_api
    def anything(self, value: Any = None) -> Any:
        """Give it back."""
        return value


class Opened:
    """A session with what it recorded."""

    def __init__(self, sandbox: Sandbox, store: Environment | None = None, **settings: Any) -> None:
        self.steps: list[Step] = []
        self.session = Session(store or Store(), sandbox, self.steps.append, **settings)

    def call(self, api: str, *positional: Any, **arguments: Any) -> CallResult:
        return asyncio.run(self.session.call(api, arguments, positional))

    def program(self, code: str) -> ProgramResult:
        return asyncio.run(self.session.run_program(code))


@pytest.fixture
def opened(sandbox: Sandbox) -> Opened:
    return Opened(sandbox)


@pytest.mark.parametrize(
    ("value", "observation"),
    [
        (None, "null"),
        (True, "true"),
        (np.int64(3), "3"),
        (3, "3"),
        ([], "0 results."),
        (["a"], "1 result.\na"),
        ([["a"], 1], '2 results.\n["a"]\n1'),
        ({"a": "ü"}, '{"a": "ü"}'),
    ],
)
def test_every_value_has_a_text(opened: Opened, value: Any, observation: str) -> None:
    assert opened.call("anything", value=value) == CallResult(value, observation)


DISHES = pd.DataFrame({"dish": ["Ugali"], "KES": [120], "tags": [["maize"]]}).set_index("dish")


def row() -> sqlite3.Row:
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    found: sqlite3.Row = database.execute("SELECT 1 AS a").fetchone()
    return found


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (range(2), [0, 1]),
        ({"a": 1}.keys(), ["a"]),
        ({"a": {"b": 1}.values()}, {"a": [1]}),
        ({"a": 1}.items(), [["a", 1]]),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (collections.ChainMap({"a": 1}), {"a": 1}),
        (collections.UserList(["a"]), ["a"]),
        (np.arange(2), [0, 1]),
        (row(), {"a": 1}),
        ([row()], [{"a": 1}]),
        (DISHES.loc["Ugali"], {"KES": 120, "tags": ["maize"]}),
        (DISHES.iloc[0], {"KES": 120, "tags": ["maize"]}),
        ([one for _, one in DISHES.iterrows()], [{"KES": 120, "tags": ["maize"]}]),
        (DISHES["KES"], {"Ugali": 120}),
        (DISHES.reset_index()["KES"], [120]),
        (DISHES.reset_index()["dish"], ["Ugali"]),
        (DISHES["KES"][DISHES["KES"] > 900], []),
    ],
    ids=lambda value: re.sub(r" at 0x\w+", "", repr(value)),  # the same in every process
)
def test_a_collection_that_is_no_list_or_dict_is_given_back_as_one(sandbox: Sandbox, value: Any, plain: Any) -> None:
    class Shelf(Environment):
        """Holds something."""

        @query_api
        def look(self) -> Any:
            """Show it."""
            return value

    assert Opened(sandbox, Shelf()).call("look").value == plain


@pytest.mark.parametrize(
    ("api", "positional", "arguments", "error", "expected"),
    [
        ("wlak", (), {"to": "x"}, "unknown_api", "Did you mean walk?"),
        ("zzz", (), {}, "unknown_api", "The APIs: walk, take, refuse"),
        ("x" * 100_000, (), {}, "unknown_api", "There is no API named"),
        ("walk", (), {"too": "x"}, "bad_arguments", "walk has no argument 'too'. Did you mean 'to'?"),
        ("walk", (), {}, "bad_arguments", "walk needs the argument 'to'"),
        ("back", (), {"values": "[" * 300 + "]" * 300}, "bad_arguments", "back"),
        ("text", (), {"length": "many"}, "bad_arguments", "argument 'length' must be int, not 'many'"),
        ("walk", ("a", "b"), {}, "bad_arguments", "walk takes at most 1 argument, not 2"),
        ("walk", ("a",), {"to": "b"}, "bad_arguments", "walk: argument 'to' was given twice"),
        ("take", (), {"what": "egg"}, "not_found", "There is no egg here."),
        ("refuse", (), {"what": "Кефир"}, "tool_error", "Кефир is not for sale."),
        ("wait", (), {}, "temporary", "The shop is full."),
        ("take", (), {"what": ""}, "not_found", "Nothing was found."),
        ("refuse", (), {"what": " "}, "tool_error", "The tool failed and does not say why."),
    ],
)
def test_what_is_wrong_with_a_call_is_an_observation(
    opened: Opened, api: str, positional: tuple[str, ...], arguments: dict[str, Any], error: str, expected: str
) -> None:
    result = opened.call(api, *positional, **arguments)
    assert (result.value, result.error) == (None, error)
    assert expected in result.observation
    assert len(result.observation) < 500


@pytest.mark.parametrize(
    ("api", "expected"),
    [
        ("down", "the server is down"),
        ("crash", "crash failed: KeyError: 'a bug' (test_session.py:"),
        ("crash", "in crash); if the arguments are to blame, raise NotFound(...)"),
        ("first", "in first); if the arguments are to blame, raise NotFound(...)"),
        ("odd", "odd failed"),
    ],
)
def test_an_environment_that_fails_is_raised_and_recorded(opened: Opened, api: str, expected: str) -> None:
    with pytest.raises(EnvironmentFailure, match=re.escape(expected)):
        opened.call(api)
    assert [step.error for step in opened.steps] == ["environment"]
    assert expected in (opened.steps[0].observation or "")


def test_sessions_of_one_environment_do_not_see_each_other(sandbox: Sandbox) -> None:
    store = Store()
    one, two = Opened(sandbox, store), Opened(sandbox, store)
    assert one.call("walk", to="a").observation == "from the door to a"
    assert two.call("walk", "b").observation == "from the door to b"
    assert one.call("walk", to="c").observation == "from a to c"
    assert (store.place, store.visits) == ("the door", ["a", "b", "c"])


def test_every_call_is_recorded_as_it_was_asked_for(opened: Opened) -> None:
    opened.call("walk", "a")
    opened.call("wlak", "a", to="b")
    opened.call("take", what="egg")
    assert [(s.kind, s.api, s.arguments, s.error) for s in opened.steps] == [
        ("call", "walk", {"to": "a"}, None),
        ("call", "wlak", {"#1": "a", "to": "b"}, "unknown_api"),
        ("call", "take", {"what": "egg"}, "not_found"),
    ]
    assert opened.steps[0].observation == "from the door to a"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a" * 100, "a" * 100),
        ("x" * 100 + "\n" + "y" * 80, "x" * 100 + "\n[… cut: 1 more line, 81 more characters]"),
        ("3 results.\na\n" + "b " * 60, "3 results.\na\n[… cut: 1 more line, 121 more characters]"),
        ("x" * 80 + ". " + "y" * 80, "x" * 80 + ". [… cut: 81 more characters]"),
        ("東" * 80 + "。" + "京" * 80, "東" * 80 + "。 [… cut: 80 more characters]"),
        ("x" * 20 + ". " + "y" * 70 + " " + "z" * 70, "x" * 20 + ". " + "y" * 70 + " [… cut: 71 more characters]"),
        ("z" * 5000, "z" * 100 + " [… cut: 4,900 more characters]"),
    ],
)
def test_an_observation_is_cut_at_a_line_sentence_or_word_where_one_ends(text: str, kept: str) -> None:
    assert cut(text, 100) == kept


@pytest.mark.parametrize("length", [11, 99, 100, 150])
def test_a_list_is_cut_between_records_and_the_rest_is_counted(sandbox: Sandbox, length: int) -> None:
    records = [{"text": f"{i}. " + "One. " * (length // 5)} for i in range(300)]
    result = Opened(sandbox, tokens=100).call("anything", value=records)
    head, *kept, note = result.observation.split("\n")
    assert [json.loads(line) for line in kept] == records[: len(kept)]
    assert (head, len(kept) > 0) == ("300 results.", True)
    assert note.startswith(f"[… cut: {300 - len(kept)} more lines, ")
    assert 400 - len(json.dumps(records[0])) - 3 < len(result.observation) - len(note) <= 401


@pytest.mark.parametrize(
    ("api", "arguments", "observation", "value", "ids"),
    [
        ("search", {"word": "Нарва"}, "Нарва, twice", ["Нарва", "НАРВА"], ["t2", "t1"]),
        ("listed", {}, "1 result.\nŁódź", ["Łódź"], ["t3"]),
    ],
)
def test_an_api_may_say_how_its_value_is_read_and_what_it_found(
    sandbox: Sandbox, api: str, arguments: dict[str, Any], observation: str, value: Any, ids: list[str]
) -> None:
    opened = Opened(sandbox, Atlas())
    assert opened.call(api, **arguments) == CallResult(value, observation, None, ids)
    assert opened.steps[0].retrieved_ids == ids
    written = ", ".join(f"{key}={text!r}" for key, text in arguments.items())
    assert opened.program(f"{api}({written})").answer == value
    assert opened.session.specs[api].returns == "list[str]"


def test_what_a_program_receives_is_whole_and_is_recorded_cut(opened: Opened) -> None:
    assert opened.program("answer = len(text(length=150_000))").answer == 150_000
    (step,) = opened.steps
    assert (step.cut, len(step.observation or "") < 100_100) == (True, True)


class Meter:
    """A clock that tells when it stood still, and what it was charged with."""

    def __init__(self) -> None:
        self.stops, self.charged = 0, 0.0
        self.still: list[float] = []

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.still.append(time.perf_counter() - started)

    def charge(self, seconds: float) -> None:
        self.charged += seconds


def test_waiting_for_a_place_in_the_sandbox_is_not_the_episodes_time() -> None:
    meter = Meter()

    async def main() -> float:
        with Sandbox(1) as sandbox:
            busy = asyncio.create_task(Session(Store(), sandbox).run_program("while True: pass"))
            await asyncio.sleep(0.5)
            started = time.perf_counter()
            result = await Session(Store(), sandbox, clock=meter).run_program("answer = walk('a')")
            assert result.answer == "from the door to a"
            await busy
            return time.perf_counter() - started

    waited = asyncio.run(main())
    assert waited > 2
    assert max(meter.still) > waited - 0.5
    assert meter.charged < 1


def test_an_api_that_says_it_does_not_block_is_called_on_the_event_loop(sandbox: Sandbox) -> None:
    class Fast(Environment):
        """Threads."""

        @query_api(blocking=False)
        def here(self) -> bool:
            """Whether this is the loop's thread."""
            return threading.current_thread() is threading.main_thread()

        @query_api
        def there(self) -> bool:
            """Whether this is the loop's thread."""
            return threading.current_thread() is threading.main_thread()

    session = Session(Fast(), sandbox)
    assert [asyncio.run(session.call(name, {})).value for name in ("here", "there")] == [True, False]
