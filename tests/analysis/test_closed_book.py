"""Closed book: what a system answers right that its LLM alone does not."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from r_eval.analysis.closed_book import KINDS, ClosedBook, closed_book
from r_eval.analysis.columns import of_records
from r_eval.analysis.rows import role_of
from r_eval.analysis.scoring import score_episode
from r_eval.analysis.systems import System, clusters_of, systems
from r_eval.analysis.tables.closed_book import closed_book_sheet
from r_eval.folder import Cell, RunFolder
from r_eval.records import Episode, Outcome, Step

Make = Callable[..., Episode]
AGENT, ALONE = "1111010", "1000110"
"""A question a place: right, wrong, ! stopped by the machinery, - not asked, ? right without evidence."""


def system(make: Make, workflow: str, tasks: dict[str, str], llm: str = "m", epochs: int = 1) -> System:
    """A system with the verdicts of some tasks; with epochs, so many verdicts a question."""
    made = System("clean", f"{workflow}+{llm}", workflow, llm, role_of(workflow))
    for task, verdicts in tasks.items():
        records = [
            score_episode(
                make(
                    question_id=f"q{number // epochs}",
                    epoch=number % epochs,
                    answer="Nairobi" if verdict in "1?" else "Nakuru",
                    steps=[Step(kind="call", api="Search", observation="A text." if verdict == "?" else "Nairobi")],
                    outcome=Outcome(kind="llm_failure" if verdict == "!" else "finished"),
                )
            )
            for number, verdict in enumerate(verdicts)
            if verdict != "-"
        ]
        made.cells[task] = of_records(Cell(workflow, llm, "clean", task), records, len(records))
    return made


def line(make: Make, agent: str, alone: str, epochs: int = 1) -> ClosedBook:
    (found,) = closed_book(
        [system(make, "react", {"t": agent}, epochs=epochs), system(make, "direct", {"t": alone}, epochs=epochs)], {}
    )
    return found


def test_each_question_is_needed_known_lost_or_neither(make_episode: Make) -> None:
    found = line(make_episode, AGENT, ALONE)
    assert found.counts == {"needed": 3, "knew": 2, "lost": 1, "neither": 1}
    assert (found.questions, found.right) == (7, 5)


def test_of_the_right_answers_the_share_that_needs_the_domain(make_episode: Make) -> None:
    needs = line(make_episode, AGENT, ALONE).needs
    assert (needs.mean, needs.questions) == (pytest.approx(3 / 5), 5)
    assert needs.low is not None
    assert needs.high is not None
    assert 0 < needs.low < 3 / 5 < needs.high < 1


def test_the_shares_add_up_to_one(make_episode: Make) -> None:
    found = line(make_episode, AGENT, ALONE)
    assert sum(found.shares[kind].mean or 0 for kind in KINDS) == pytest.approx(1)


def test_questions_that_one_of_the_two_has_no_score_for_are_left_out(make_episode: Make) -> None:
    found = line(make_episode, "11!1", "1!1-")
    assert (found.questions, found.unpaired, found.counts["knew"]) == (1, 2, 1)


def test_right_answers_without_evidence_stand_beside(make_episode: Make) -> None:
    found = line(make_episode, "??10", "1010")
    assert (found.am, found.am_knew) == (2, 1)


def test_a_system_without_a_right_answer_has_no_share(make_episode: Make) -> None:
    found = line(make_episode, "00", "10")
    assert (found.needs.mean, found.counts["lost"]) == (None, 1)


def test_epochs_are_compared_each_with_each(make_episode: Make) -> None:
    found = line(make_episode, "10" + "11", "10" + "00", epochs=2)
    assert found.counts == {"needed": 1.25, "knew": 0.25, "lost": 0.25, "neither": 0.25}
    assert found.needs.mean == pytest.approx(1.25 / 1.5)


def test_a_system_is_paired_with_its_own_llm(make_episode: Make) -> None:
    found = closed_book(
        [
            system(make_episode, "react", {"t": "11"}),
            system(make_episode, "react", {"t": "11"}, "other"),
            system(make_episode, "direct", {"t": "10"}),
        ],
        {},
    )
    assert [one.system for one in found] == ["react+m"]


def test_under_another_condition_nothing_is_paired(make_episode: Make) -> None:
    alone = system(make_episode, "direct", {"t": "1"})
    alone.condition = "noisy"
    assert closed_book([system(make_episode, "react", {"t": "1"}), alone], {}) == []


def test_baselines_are_not_held_against_themselves(make_episode: Make) -> None:
    assert closed_book([system(make_episode, name, {"t": "1"}) for name in ("direct", "oracle")], {}) == []


def test_over_several_tasks_the_shares_weigh_the_same_and_the_questions_add_up(make_episode: Make) -> None:
    agent = system(make_episode, "react", {"t": "11", "u": "1111", "v": "1"})
    found = closed_book([agent, system(make_episode, "direct", {"t": "00", "u": "1111"})], {})
    assert [one.task for one in found] == ["t", "u", ""]
    assert (found[-1].questions, found[-1].counts["needed"], found[-1].needs.mean) == (6, 2, 0.5)


def test_questions_that_share_a_document_are_one_cluster(make_episode: Make) -> None:
    shared = {"t": {"q0": "d", "q1": "d", "q2": "e"}}
    pair = [system(make_episode, "react", {"t": "111"}), system(make_episode, "direct", {"t": "100"})]
    (found,) = closed_book(pair, shared)
    assert (found.needs.questions, found.needs.clusters) == (3, 2)


def test_a_run_folder_is_paired_through_its_columns(run: RunFolder) -> None:
    found = closed_book(systems(run), clusters_of([run]))
    assert {one.workflow for one in found} == {"react", "pal", "dfsdt", "fc"}
    assert all(sum(one.counts.values()) == pytest.approx(one.questions) for one in found)


def test_the_table_counts_and_shares(make_episode: Make) -> None:
    sheet = closed_book_sheet(
        [line(make_episode, AGENT, ALONE), line(make_episode, "10" + "11", "10" + "00", epochs=2)]
    )
    row = dict(zip(sheet.header, sheet.lines[0], strict=True))
    assert [row[name] for name in ("right", *KINDS)] == ["5", "3", "2", "1", "1"]
    assert (row["needs"], row["needed_share"]) == ("60.00", "42.86")
    assert sheet.shown()[0].lines[1][4] == "1.5"
    assert json.dumps(sheet.lines)


def test_a_task_whose_questions_bring_documents_is_no_closed_book(make_episode: Make) -> None:
    pair = [system(make_episode, name, {"t": "11", "u": "11"}) for name in ("react", "direct")]
    assert [line.task for line in closed_book(pair, {}, without={"t"})] == ["u"]
