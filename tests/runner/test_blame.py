"""What a failure of an LLM makes of its episode, and of the LLM's other episodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval import Grid, run
from r_eval.records import Episode
from tests.runner.desks import Desk

FAILING = """
from r_eval.llms.base import LLMError

async def reply(request):
    with open({asked!r}, "a", encoding="utf-8") as log:
        log.write("asked\\n")
    raise LLMError({cause!r}, "the server says no")
"""


def episodes(folder: Path, cause: str) -> tuple[Desk, list[Episode]]:
    desk = Desk(folder)
    grid: Grid = desk.grid(desk.llm(FAILING, connections=1, cause=cause))
    return desk, list(run(grid, out=folder / "out", cache=False).episodes())


@pytest.mark.parametrize("cause", ["key", "model", "quota"])
def test_an_llm_that_can_never_answer_is_stopped_at_once(cause: str, tmp_path: Path) -> None:
    desk, found = episodes(tmp_path, cause)
    assert [(e.outcome.kind, e.outcome.cause) for e in found] == [("llm_failure", cause)]
    assert len(desk.log()) == 1


def test_a_content_filter_is_final_and_counts(tmp_path: Path) -> None:
    desk, found = episodes(tmp_path, "content_filter")
    assert {(e.outcome.kind, e.outcome.cause) for e in found} == {("gave_up", "content_filter")}
    assert len(found) == len(desk.log()) == 6


def test_a_failure_that_may_pass_stops_no_other_episode(tmp_path: Path) -> None:
    _, found = episodes(tmp_path, "server")
    assert [e.outcome.kind for e in found] == ["llm_failure"] * 6
