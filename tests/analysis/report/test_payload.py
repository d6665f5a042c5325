"""What the page is given for its overview, matching and responses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.causes import CAUSES
from r_eval.analysis.published import load
from r_eval.analysis.report.analysed import Analysed, analysed
from r_eval.analysis.report.payload import payload, rounded, script
from r_eval.analysis.report.payload_matching import matching_payload
from r_eval.analysis.report.payload_responses import responses_payload
from r_eval.analysis.report.standing import standing
from r_eval.analysis.responses import TYPES
from r_eval.analysis.rows import Aggregates
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome

PAPER = Path(__file__).parents[3] / "examples" / "paper"
Write = Callable[..., RunFolder]


@pytest.fixture
def written(tmp_path: Path, make_episode: Callable[..., Episode], make_manifest: Callable[..., None]) -> Write:
    """Writes a run of one task: by workflow, whether each question was answered rightly."""

    def write(name: str, answers: dict[str, list[bool]], **changes: Any) -> RunFolder:
        run = RunFolder(tmp_path / name)
        cells = [Cell(workflow, "gpt", "clean", "wiki/high-freq") for workflow in answers]
        for cell in cells:
            writer = CellWriter(cell.path(run.episodes_root))
            for number, right in enumerate(answers[cell.workflow]):
                made = make_episode(
                    episode_id=f"{cell.workflow}-{number}",
                    question_id=f"q{number}",
                    workflow=cell.workflow,
                    llm="gpt",
                    answer="Nairobi" if right else "Mombasa",
                    **changes,
                )
                writer.append(made.model_dump_json(by_alias=True))
            writer.close()
        make_manifest(run.path, cells, max(map(len, answers.values())))
        return run

    return write


def analyse(*runs: RunFolder) -> tuple[Aggregates, Analysed]:
    aggregates = load(*runs)
    return aggregates, analysed(aggregates, runs)


def ranked(*runs: RunFolder) -> list[dict[str, Any]]:
    return standing(*analyse(*runs))


def responses(*runs: RunFolder) -> tuple[Aggregates, dict[str, Any]]:
    aggregates, found = analyse(*runs)
    return aggregates, responses_payload(aggregates, found.runs)


def test_a_lead_on_every_question_is_certain(written: Write) -> None:
    run = written("r", {"react": [False] * 20, "pal": [True] * 20})
    (found,) = ranked(run)
    assert [place["row"] for place in found["places"]] == [1, 0]
    assert [(rival["row"], rival["lead"], rival["apart"]) for rival in found["lead"]] == [(0, 1.0, True)]


def test_a_lead_of_one_question_is_not_certain(written: Write) -> None:
    (found,) = ranked(written("r", {"react": [False] * 20, "pal": [True] + [False] * 19}))
    assert [rival["apart"] for rival in found["lead"]] == [False]
    assert [place["groups"] for place in found["places"]] == ["a", "a"]
    assert [(place["highest"], place["lowest"]) for place in found["places"]] == [(1, 2), (1, 2)]


def test_the_lead_is_that_of_the_best_whichever_comes_first_in_the_grid(written: Write) -> None:
    first = ranked(written("r", {"pal": [True] * 9, "react": [False] * 9}))[0]["lead"][0]
    second = ranked(written("s", {"react": [False] * 9, "pal": [True] * 9}))[0]["lead"][0]
    assert {**first, "row": 0} == {**second, "row": 0}
    assert first["low"] <= first["lead"] <= first["high"]


def test_bounds_are_not_ranked(written: Write) -> None:
    (found,) = ranked(written("r", {"react": [False] * 8, "pal": [True] * 8, "oracle": [True] * 8}))
    assert {place["row"] for place in found["places"]} == {0, 1}


def test_one_system_has_no_standing(written: Write) -> None:
    assert ranked(written("r", {"react": [True] * 8})) == []


def test_published_means_have_no_standing_and_no_endings_but_say_who_suits_whom() -> None:
    aggregates, found = analyse(RunFolder(PAPER))
    assert standing(aggregates, found) == []
    assert responses_payload(aggregates, found.runs) == {"whys": [], "ends": [], "sensitivity": []}
    matching = matching_payload(aggregates, found)
    assert matching["bounds"] == []
    react = next(one for one in matching["suited"]["workflow"] if (one["fixed"], one["axis"]) == ("react", "all"))
    assert react["best"] == ["gpt-4-1106"]
    assert {rival["p"] for rival in react["rivals"]} == {None}


def test_the_endings_add_up_to_the_response_types(run: RunFolder) -> None:
    aggregates, found = responses(run)
    for place, row in enumerate(aggregates.rows):
        own = Counter[str]()
        for of, _, type_, _, episodes in found["ends"]:
            if of == place:
                own[TYPES[type_]] += episodes
        assert own == row.types


def test_right_answers_have_no_cause_and_all_others_have_one(run: RunFolder) -> None:
    _, found = responses(run)
    words = [why["key"] for why in found["whys"]]
    assert {words[why] == "" for _, _, type_, why, _ in found["ends"] if TYPES[type_] in ("EM", "AM")} == {True}
    assert {words[why] == "" for _, _, type_, why, _ in found["ends"] if TYPES[type_] not in ("EM", "AM")} == {False}
    assert all(why["text"] == CAUSES.get(why["key"], "") for why in found["whys"])


def test_at_the_kept_threshold_the_types_are_those_of_the_table(run: RunFolder) -> None:
    aggregates, found = responses(run)
    for one in found["sensitivity"]:
        kept = one["types"][one["at"].index(one["threshold"])]
        assert kept == [aggregates.rows[one["row"]].types[type_] for type_ in TYPES]


def test_endings_of_a_system_that_two_runs_have_stay_with_their_run(written: Write) -> None:
    aggregates, found = responses(written("r", {"react": [True] * 3}), written("s", {"react": [False] * 5}))
    assert [row.system for row in aggregates.rows] == ["react+gpt", "react+gpt (s)"]
    assert [(row, episodes) for row, _, _, _, episodes in found["ends"]] == [(0, 3), (1, 5)]


def test_a_system_with_nothing_but_failures_of_the_machinery_is_shown(written: Write) -> None:
    stopped = Outcome(kind="llm_failure", cause="timeout")
    run = written("r", {"react": [False] * 4, "pal": [False] * 4}, outcome=stopped, steps=[])
    aggregates, found = responses(run)
    assert ranked(run) == []
    assert [why["key"] for why in found["whys"]] == ["llm_timeout"]
    assert {TYPES[type_] for _, _, type_, _, _ in found["ends"]} == {"ME"}
    assert matching_payload(*analyse(run))["bounds"] == []
    assert payload(aggregates)["rows"][0]["tasks"][0]["mean"] is None


def test_the_data_of_one_system_on_one_question_are_plain(written: Write) -> None:
    run = written("r", {"react": [True]})
    aggregates, found = analyse(run)
    data = payload(aggregates) | {"standing": standing(aggregates, found)} | matching_payload(aggregates, found)
    assert script("results", data | responses_payload(aggregates, found.runs)).isascii()


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_no_number_is_none_to_the_page(value: float | None) -> None:
    assert rounded(value) is None
