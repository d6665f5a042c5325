"""The error analysis: counts that add up, what is known of questions, intervals by questions, examples in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.causes import CAUSES
from r_eval.analysis.errors import ErrorAnalysis, Separator, analyse_errors
from r_eval.analysis.estimate import interval
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome, Question, Step

Make = Callable[..., Episode]
MakeCall = Callable[..., Step]
TASK = "wiki/high-freq"
ASKED = 30


@pytest.fixture(scope="module")
def analysis(run: RunFolder) -> ErrorAnalysis:
    return analyse_errors(run)


@pytest.fixture
def asked(tmp_path: Path, make_episode: Make, make_manifest: Callable[..., None], make_call: MakeCall) -> RunFolder:
    """A run of two systems: questions of one hop are answered right, of three wrong; the last was stopped."""
    run = RunFolder(tmp_path / "asked")
    cells = [Cell(workflow, "some", "clean", TASK) for workflow in ("react", "pal")]
    for cell in cells:
        writer = CellWriter(cell.path(run.episodes_root))
        for number in reversed(range(ASKED)):
            hard = number % 2 == 1
            made = make_episode(
                episode_id=f"{cell.workflow}{number:02}",
                question_id=f"q{number}",
                task=TASK,
                workflow=cell.workflow,
                llm="some",
                level="KA" if hard else "KS",
                answer="Mombasa" if hard else "Nairobi",
                outcome=Outcome(kind="llm_failure" if number == ASKED - 1 else "finished", cause="timeout"),
                steps=[make_call(f"{number}", entity=str(place)) for place in range(3 if hard else 1)],
            )
            writer.append(made.model_dump_json(by_alias=True))
        writer.close()
    make_manifest(run.path, cells, ASKED)
    lines = [question(number) for number in range(ASKED)]
    run.questions_file(TASK).parent.mkdir()
    run.questions_file(TASK).write_text("".join(f"{one.model_dump_json()}\n" for one in lines), encoding="utf-8")
    return run


def question(number: int) -> Question:
    more: dict[str, Any] = {"meta": {"hops": 3}} if number % 2 else {"program": "answer = Search('Kenya')"}
    return Question(id=f"q{number}", question="Which?", answers=["Nairobi"], level="KS", **more)


def separator(found: ErrorAnalysis, name: str, system: str = "") -> Separator:
    return next(one for one in found.separators if (one.name, one.system) == (name, system))


def test_every_episode_is_in_one_distribution_of_each_kind(analysis: ErrorAnalysis) -> None:
    kinds = (analysis.by_system, analysis.by_task, analysis.by_level)
    assert [sum(one.episodes for one in kind) for kind in kinds] == [880, 880, 880]


def test_the_types_of_a_distribution_add_up_to_its_episodes(analysis: ErrorAnalysis) -> None:
    everything = [*analysis.by_system, *analysis.by_task, *analysis.by_level]
    assert all(sum(one.types.values()) == one.episodes for one in everything)


def test_every_wrong_answer_has_one_cause(analysis: ErrorAnalysis) -> None:
    for one in analysis.by_system:
        assert sum(one.causes.values()) == one.episodes - one.types["EM"] - one.types["AM"]


def test_causes_stand_in_the_order_of_their_table(analysis: ErrorAnalysis) -> None:
    order = list(CAUSES)
    assert all(list(one.causes) == sorted(one.causes, key=order.index) for one in analysis.by_task)


def test_questions_of_more_hops_are_told_from_those_of_one(asked: RunFolder) -> None:
    hops = separator(analyse_errors(asked), "hops")
    assert [(group.value, group.right, group.questions) for group in hops.groups] == [("1", 1.0, 15), ("3", 0.0, 14)]
    assert hops.spread == 1.0


def test_a_share_has_the_interval_of_its_questions_however_many_systems_answer_them(asked: RunFolder) -> None:
    group = separator(analyse_errors(asked), "hops").groups[0]
    assert (group.episodes, (group.low, group.high)) == (30, interval(1.0, 15))


def test_what_the_machinery_stopped_is_counted_as_such_and_not_among_the_shares(asked: RunFolder) -> None:
    found = analyse_errors(asked)
    assert (found.by_system[0].types["ME"], found.by_system[0].causes["llm_timeout"]) == (1, 1)
    assert sum(group.episodes for group in separator(found, "hops", "react+some").groups) == ASKED - 1


def test_the_number_of_calls_made_is_a_separator(asked: RunFolder) -> None:
    calls = separator(analyse_errors(asked), "calls", "pal+some")
    assert [(group.value, group.episodes) for group in calls.groups] == [("1", 15), ("3", 14)]


def test_the_entities_popularity_is_read_off_the_tasks_name(asked: RunFolder) -> None:
    assert [group.value for group in separator(analyse_errors(asked), "popularity").groups] == ["high"]


def test_groups_of_few_questions_make_no_spread(run: RunFolder, asked: RunFolder) -> None:
    assert separator(analyse_errors(asked), "kind").spread is None


def test_examples_are_the_first_by_the_order_of_the_questions(asked: RunFolder) -> None:
    found = analyse_errors(asked, examples=2).examples
    short = [(one.system, one.question_id) for one in found if one.why == "stopped_short"]
    assert short == [("react+some", "q1"), ("react+some", "q3"), ("pal+some", "q1"), ("pal+some", "q3")]


def test_an_example_names_an_episode_of_that_cause(run: RunFolder, analysis: ErrorAnalysis) -> None:
    kept = {key: record for cell in run.cells() for key, record in run.scores(cell).items()}
    assert all(kept[one.episode_id]["cause"] == one.why for one in analysis.examples)


def test_a_run_without_its_questions_is_analysed_by_what_its_episodes_say(analysis: ErrorAnalysis) -> None:
    assert {one.name for one in analysis.separators} == {"popularity", "calls"}
    assert separator(analysis, "popularity").unknown > 0


def test_all_systems_together_are_those_that_use_tools(run: RunFolder, analysis: ErrorAnalysis) -> None:
    of = [one for one in analysis.separators if one.name == "calls"]
    counts = {one.system: sum(group.episodes for group in one.groups) for one in of}
    together = counts.pop("")
    assert {"direct", "oracle"} < {name.partition("+")[0] for name in counts}
    tools = [count for name, count in counts.items() if not name.startswith(("direct+", "oracle+"))]
    assert together == sum(tools) < sum(counts.values())


def test_the_analysis_is_the_same_each_time(asked: RunFolder) -> None:
    assert analyse_errors(asked) == analyse_errors(asked)
