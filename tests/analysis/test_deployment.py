"""Quality against what it takes, the fronts, and the system to take within limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.deployment import choose, deployment, latencies, pareto
from r_eval.analysis.results import Results, load
from r_eval.folder import Cell, RunFolder
from r_eval.records import Seconds, Step, Usage
from tests.analysis.answers import Answers, write_answers
from tests.commands import typed_here

TEN, BEST = {"max_seconds": 10.0}, {"react": "the best that fits"}
FASTER = "not significantly worse than react+m and faster"
Took = Mapping[str, Any]
NONE: Took = {}
Make = Callable[..., Results]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Results of systems that take so many seconds, USD and replayed replies: by workflow, a number or a list."""

    def made(answers: Answers, seconds: Took = NONE, cost: Took = NONE, replayed: Took = NONE) -> Results:
        def of(values: Took, cell: Cell, number: int, default: Any) -> Any:
            found = values.get(cell.workflow, default)
            return found[number] if isinstance(found, list) else found

        def changes(cell: Cell, number: int) -> dict[str, Any]:
            steps = [Step(kind="thought", replayed=bool(of(replayed, cell, number, False)))]
            usage = Usage(calls=1, cost=of(cost, cell, number, 0.01))
            return {"steps": steps, "usage": usage, "seconds": Seconds(total=of(seconds, cell, number, 1.0))}

        return load(write_answers(tmp_path / "run", answers, changes=changes))

    return made


def one(results: Results, workflow: str = "react") -> dict[str, Any]:
    found = deployment(results)
    (row,) = found[(found["workflow"] == workflow) & (found["domain"] == "all")].to_dict("records")
    return row


def chosen(results: Results, **limits: float) -> tuple[list[str], dict[str, str]]:
    """The workflow that is chosen, if any, and the reasons of all."""
    found = choose(results, **limits)
    reasons = dict(zip(found["workflow"], found["reason"], strict=True))
    return found.loc[found["choice"], "workflow"].tolist(), reasons


# Replayed replies


def test_episodes_with_replayed_replies_are_left_out_of_seconds_and_counted(make: Make) -> None:
    results = make({"react": "rwr"}, {"react": [90.0, 2.0, 4.0]}, replayed={"react": [True, False, False]})
    row = one(results)
    assert (row["seconds_mean"], row["replayed"], row["episodes"]) == (3.0, 1, 3)
    assert latencies(results)["seconds"].tolist() == [2.0, 4.0]
    notes = deployment(results).attrs["notes"]
    assert "react+m: 1 of 3 episodes have replayed replies and no seconds." in notes


def test_without_a_fresh_reply_there_is_no_latency_and_the_note_says_how_to_measure_it(make: Make) -> None:
    results = make({"react": "r" * 4, "pal": "rrrw"}, replayed={"react": True})
    row = one(results)
    assert pandas.isna(row["seconds_mean"])
    assert pandas.isna(row["front_seconds"])
    assert one(results, "pal")["front_seconds"] is True
    assert any("--no-cache --fresh" in note for note in deployment(results).attrs["notes"])
    names, reasons = chosen(results, max_seconds=5.0)
    assert names == ["pal"]
    assert "--no-cache --fresh" in reasons["react"]
    assert chosen(results, max_usd=1.0)[0] == ["react"]


def test_the_baseline_can_be_the_choice_and_stand_on_the_front_and_the_reference_cannot(make: Make) -> None:
    seconds = {"direct": 0.5, "react": 2.0, "oracle": 0.1}
    results = make({"direct": "rrrr", "react": "rwrw", "oracle": "rrrr"}, seconds)
    names, reasons = chosen(results, max_seconds=5.0)
    assert names == ["direct"]
    assert reasons["oracle"] == "a reference, not ranked"
    assert [one(results, name)["front_seconds"] for name in ("direct", "react")] == [True, False]
    assert pandas.isna(one(results, "oracle")["front_seconds"])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_whatever_is_off_the_front_is_dominated_by_something_on_it(points: list[tuple[float, float]]) -> None:
    on = [point for point, is_on in zip(points, pareto(points), strict=True) if is_on]
    assert on
    for (cost, quality), is_on in zip(points, pareto(points), strict=True):
        assert is_on or any(c <= cost and q >= quality and (c, q) != (cost, quality) for c, q in on)


@pytest.mark.parametrize(
    ("answers", "limits", "names", "reasons"),
    [
        ({"react": "r" * 40, "pal": "rw" * 20}, {"max_seconds": 5.0}, ["pal"], {"react": "over the limit: 9 s"}),
        (
            {"react": "r" * 40, "pal": "w" * 39 + "r"},
            TEN,
            ["react"],
            {**BEST, "pal": "significantly worse"},
        ),
        ({"react": "r" * 21 + "w" * 19, "pal": "w" * 20 + "r" * 20}, TEN, ["react"], {**BEST, "pal": FASTER}),
        ({"react": "rr"}, {"max_seconds": 1.0, "max_usd": 0.001}, [], {"react": "over the limit: 9 s, 0.01 USD"}),
        ({"react": "ww", "pal": "ww"}, TEN, [], {"react": "", "pal": ""}),
        ({"react": "xx", "pal": "rr"}, {}, ["pal"], {"react": "nothing was scored"}),
        ({"react": "rr", "fc": "rr"}, {"max_usd": 1.0}, ["react"], {"fc": "its price is not known"}),
        ({"react": "rw", "fc": "rr"}, TEN, ["fc"], {}),
    ],
)
def test_the_best_that_fits_is_the_choice_and_the_others_say_how_they_compare(
    make: Make, answers: Answers, limits: dict[str, float], names: list[str], reasons: dict[str, str]
) -> None:
    results = make(answers, {"react": 9.0}, {"pal": 0.02, "fc": None})
    found, why = chosen(results, **limits)
    assert found == names
    assert {name: why[name] for name in reasons if not why[name].startswith(reasons[name])} == {}


def test_report_names_the_system_to_take_and_why(run: RunFolder, tmp_path: Path) -> None:
    limits = ["--max-seconds", "8", "--max-usd", "0.01"]
    done = typed_here(["report", str(run.path), "--out", str(tmp_path / "r"), "--no-figures", *limits], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Within 8 s and 0.01 USD per question on average: fc+openai/gpt-4o-mini, the best that fits\n" in done.stdout
    assert "pal+gguf/smollm2-135m: its price is not known\n" in done.stdout
    assert "openai/gpt-4o-mini: the grid does not say at how many connections" in done.stdout
