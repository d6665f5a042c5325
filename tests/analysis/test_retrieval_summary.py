"""Retrieval by system and task: means, and wrong answers by whose fault they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from r_eval.analysis.columns import of_records
from r_eval.analysis.retrieval_summary import Retrieved, retrieved
from r_eval.analysis.scoring import score_episode
from r_eval.analysis.systems import System
from r_eval.analysis.tables.retrieval import retrieval
from r_eval.folder import Cell
from r_eval.records import Episode, Outcome, Step

Make = Callable[..., Episode]
RIGHT = {f"q{number}": ["a", "b"] for number in range(20)}
BOTH, ONE, NONE = ["a#1", "b#1"], ["b#1"], ["c#1"]
ASKED = (
    *((BOTH, "Nairobi"), (BOTH, "Nakuru"), (BOTH, "Lamu")),  # right, and two failures of generation
    *((ONE, "Nairobi"), (ONE, "Nakuru"), (NONE, "Nakuru"), (NONE, "Lamu"), (NONE, "Kitui")),  # and four of retrieval
)


def scored(make: Make, asked: Sequence[tuple[list[str], str]], **changes: Any) -> list[dict[str, Any]]:
    """The score records of episodes, by what each found and answered."""
    return [
        score_episode(
            make(
                question_id=f"q{number}",
                answer=answer,
                steps=[Step(kind="call", api="retrieve", observation="A text.", found=found)],
                **changes,
            ),
            right=RIGHT,
        )
        for number, (found, answer) in enumerate(asked)
    ]


def system(records: dict[str, list[dict[str, Any]]], name: str = "rag+m") -> System:
    """A system with the records of some tasks."""
    made = System("clean", name, *name.split("+"))
    for task, lines in records.items():
        made.cells[task] = of_records(Cell("rag", "m", "clean", task), lines, len(lines))
    return made


def line(records: list[dict[str, Any]]) -> Retrieved:
    (found,) = retrieved([system({"crud/qa-2doc": records})], {})
    return found


def test_wrong_answers_are_divided_by_whose_fault_they_are(make_episode: Make) -> None:
    found = line(scored(make_episode, ASKED))
    assert (found.episodes, found.wrong, found.retrieval, found.generation, found.other) == (8, 6, 4, 2, 0)
    assert (found.share(found.retrieval), found.share(found.generation)) == (4 / 6, 2 / 6)


def test_the_means_have_intervals(make_episode: Make) -> None:
    recall = line(scored(make_episode, ASKED)).metrics["recall"]
    assert recall.mean == pytest.approx(4 / 8)
    assert recall.low is not None
    assert recall.high is not None
    assert 0 < recall.low < 0.5 < recall.high < 1


def test_misused_tools_are_neither(make_episode: Make) -> None:
    found = line(scored(make_episode, [(NONE, "")], outcome=Outcome(kind="tool_misuse", cause="syntax")))
    assert (found.wrong, found.retrieval, found.generation, found.other) == (1, 0, 0, 1)


def test_the_wrong_passage_of_a_right_document_is_neither(make_episode: Make) -> None:
    found = line(scored(make_episode, [(BOTH, "Nakuru")], evidence=["Nairobi is the capital"]))
    assert (found.wrong, found.retrieval, found.generation, found.other) == (1, 0, 0, 1)


def test_what_the_machinery_stopped_is_left_out(make_episode: Make) -> None:
    stopped = scored(make_episode, [(NONE, "")], outcome=Outcome(kind="llm_failure", cause="timeout"))
    assert line([*scored(make_episode, ASKED), *stopped]).episodes == len(ASKED)


def test_a_task_of_which_nothing_is_known_has_no_line(make_episode: Make) -> None:
    unknown = [score_episode(make_episode(), right={})]
    assert retrieved([system({"wiki/hotpotqa": unknown})], {}) == []


def test_over_several_tasks_the_means_weigh_the_same_and_the_episodes_add_up(make_episode: Make) -> None:
    records = {"crud/qa-1doc": scored(make_episode, [(BOTH, "Nairobi")]), "crud/qa-2doc": scored(make_episode, ASKED)}
    lines = retrieved([system(records)], {})
    assert [one.task for one in lines] == ["crud/qa-1doc", "crud/qa-2doc", ""]
    assert lines[-1].metrics["recall"].mean == pytest.approx((1 + 0.5) / 2)
    assert (lines[-1].episodes, lines[-1].wrong, lines[-1].retrieval, lines[-1].generation) == (9, 6, 4, 2)


def test_metrics_that_are_not_known_have_no_number_in_the_table(make_episode: Make) -> None:
    records = [score_episode(make_episode(evidence=["Nairobi"]), right={})]
    sheet = retrieval([line(records)])
    row = dict(zip(sheet.header, sheet.lines[0], strict=True))
    assert (row["recall"], row["hit_rate"], row["ndcg"], row["mrr"]) == ("100.00", "100.00", None, None)


def test_the_table_counts_and_shares(make_episode: Make) -> None:
    sheet = retrieval([line(scored(make_episode, ASKED))])
    row = dict(zip(sheet.header, sheet.lines[0], strict=True))
    counts = [row[name] for name in ("n", "wrong", "retrieval_failures", "generation_failures", "other_failures")]
    assert counts == [8, 6, 4, 2, 0]
    assert (row["retrieval_share"], row["generation_share"]) == ("66.67", "33.33")
    (view,) = sheet.shown()
    assert view.lines[0][-3:] == ["4 (67 %)", "2 (33 %)", "0 (0 %)"]
    assert json.dumps(sheet.lines)


def test_a_system_without_a_wrong_answer_has_no_shares(make_episode: Make) -> None:
    sheet = retrieval([line(scored(make_episode, [(BOTH, "Nairobi")]))])
    row = dict(zip(sheet.header, sheet.lines[0], strict=True))
    assert (row["wrong"], row["retrieval_share"], row["generation_share"]) == (0, None, None)
