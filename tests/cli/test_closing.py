"""The lines that `run` and `report` end with: who is best and how surely, what fails, what is missing, what it cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.cli.closing import closing_lines
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Outcome
from tests.analysis.conftest import call, episode, write_manifest
from tests.analysis.sweeping import write_sweep

TASK = "wiki/high-freq"
PAPER = Path(__file__).parents[2] / "examples" / "paper"
Make = Callable[..., RunFolder]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A run from each workflow's answers: r right, w wrong, x a failure of the machinery, o not run yet."""

    def made(answers: dict[str, str], conditions: tuple[str, ...] = ("clean",), **manifest: Any) -> RunFolder:
        run = RunFolder(tmp_path / "run")
        cells = [Cell(workflow, "m", condition, TASK) for workflow in answers for condition in conditions]
        for cell in cells:
            writer = CellWriter(cell.path(run.episodes_root))
            for number, letter in enumerate(answers[cell.workflow]):
                if letter != "o":
                    writer.append(_episode(cell, number, letter))
            writer.close()
        write_manifest(run.path, cells, len(next(iter(answers.values()))), conditions)
        record = json.loads(run.run_file.read_text(encoding="utf-8")) | manifest
        run.run_file.write_text(json.dumps(record), encoding="utf-8")
        return run

    return made


def _episode(cell: Cell, number: int, letter: str) -> str:
    outcome = Outcome(kind="llm_failure", cause="timeout") if letter == "x" else Outcome(kind="finished")
    return episode(
        episode_id=f"{cell.workflow}{cell.condition}{number}",
        question_id=f"q{number}",
        workflow=cell.workflow,
        llm=cell.llm,
        condition=cell.condition,
        answer="Nairobi" if letter == "r" else "Mombasa",
        outcome=outcome,
        steps=[call("Nairobi is the capital of Kenya." if letter == "r" else "0 results.")],
    ).model_dump_json(by_alias=True)


def line(run: RunFolder, word: str) -> str:
    """What is said about something; "" where nothing is."""
    found = [text for text in closing_lines([run]) if text.startswith(f"{word} ")]
    assert len(found) <= 1
    return found[0].removeprefix(word).strip() if found else ""


# the best


def test_a_lead_that_is_more_than_chance_is_called_certain(make: Make) -> None:
    run = make({"react": "r" * 38 + "ww", "pal": "w" * 40})
    assert line(run, "Best").startswith(
        "react+m, 95.0 %; better than the other for certain, by 95.0 points than pal+m (p = "
    )


def test_a_lead_that_may_be_chance_is_not_certain_and_names_who_cannot_be_told_apart(make: Make) -> None:
    run = make({"react": "rrrrrrwwww", "pal": "rrrrrwwwww", "fc": "w" * 10})
    assert line(run, "Best") == (
        "react+m, 60.0 %; its lead is not certain: pal+m (50.0) cannot be told apart from it with 10 questions"
    )


def test_systems_with_the_same_mean_lead_together(make: Make) -> None:
    assert "its lead is not certain: pal+m (50.0) cannot" in line(make({"react": "rw", "pal": "wr"}), "Best")


def test_one_system_has_none_to_be_compared_with(make: Make) -> None:
    said = line(make({"react": "rrrw", "oracle": "rrrr"}), "Best")
    assert said.startswith("react+m, 75.0 % (95 % interval ")
    assert said.endswith("); no other to compare it with")


def test_bounds_are_never_the_best(make: Make) -> None:
    assert line(make({"oracle": "rr"}), "Best") == "nobody: the run has bounds only"


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"react": "ww"}, "nobody: the only one of 1 system scores 0"),
        ({"react": "ww", "pal": "ww"}, "nobody: each of 2 systems scores 0"),
    ],
)
def test_nobody_is_the_best_of_those_that_score_0(make: Make, answers: dict[str, str], said: str) -> None:
    assert line(make(answers), "Best") == said


def test_a_system_without_a_score_is_not_ranked(make: Make) -> None:
    assert line(make({"react": "rr", "pal": "oo"}), "Best").endswith("; 1 more lack a task")


def test_nobody_is_the_best_before_every_task_has_a_score(make: Make) -> None:
    assert line(make({"react": "oo", "pal": "xx"}), "Best") == "so far nobody yet: no system has a score on every task"


def test_each_of_two_conditions_has_its_best(make: Make) -> None:
    run = make({"react": "rw", "pal": "ww"}, ("clean", "noisy"))
    found = [text for text in closing_lines([run]) if text.startswith("Best")]
    assert [text.split()[1] for text in found] == ["clean:", "noisy:"]


def test_further_conditions_are_counted(make: Make) -> None:
    run = make({"react": "rw", "pal": "ww"}, ("clean", "noisy", "false", "long"))
    found = [text for text in closing_lines([run]) if text.startswith("Best")]
    assert found[2:] == ["Best      and 2 more conditions; the page has them"]


def test_published_means_say_nothing_of_chance() -> None:
    found = closing_lines([RunFolder(PAPER)])
    assert len(found) == 1
    assert found[0].startswith("Best      react+gpt-4-1106, 4")
    assert found[0].endswith("; whether that is chance cannot be told of means without episodes")


def test_two_runs_are_ranked_together(make: Make, tmp_path: Path) -> None:
    first = make({"react": "rw"})
    first.path.rename(tmp_path / "one")
    two = make({"react": "ww"})
    found = closing_lines([RunFolder(tmp_path / "one"), two])
    assert found[0].startswith("Best      react+m, 50.0 %; its lead is not certain: react+m (run) (0.0) cannot")


# failures


def test_the_commonest_cause_of_failure_is_named(make: Make) -> None:
    assert line(make({"react": "rwww", "pal": "rrrw"}), "Failures") == (
        "4 of 8 episodes; the commonest cause: The calls found nothing (empty_search, 4)"
    )


def test_bounds_and_the_machinery_are_no_failures_of_systems(make: Make) -> None:
    assert line(make({"react": "rrx", "direct": "www"}), "Failures") == "none in 2 episodes"


# what is missing


def test_nothing_is_said_of_a_run_that_lacks_nothing(make: Make) -> None:
    assert line(make({"react": "rw"}), "Missing") == ""


def test_episodes_that_are_missing_are_counted_by_why(make: Make) -> None:
    assert line(make({"react": "rxoo", "pal": "rrro"}, state="incomplete"), "Missing") == (
        "4 of 8 episodes (3 not run yet, 1 without a score, for the machinery's sake); the run is incomplete"
    )


@pytest.mark.parametrize(
    ("state", "said"),
    [("running", "the run ended without a word"), ("budget", "the run reached its budget")],
)
def test_the_state_of_a_run_is_said_with_what_is_missing(make: Make, state: str, said: str) -> None:
    assert line(make({"react": "ro"}, state=state), "Missing").endswith(f"; {said}")


def test_what_is_best_of_an_incomplete_run_is_so_only_so_far(make: Make) -> None:
    assert line(make({"react": "ro", "pal": "wo"}), "Best").startswith("so far react+m, ")


# money


def spent(cost: float | None, calls: int = 10, cached: int = 0) -> dict[str, Any]:
    return {"calls": calls, "cached": cached, "cost": cost, "tokens": 99, "seconds": 1.0}


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"m": spent(1.234)}, "1.23 USD, for 10 replies"),
        ({"m": spent(0.00123)}, "0.0012 USD, for 10 replies"),
        ({"m": spent(None)}, "no price is known of m, for 10 replies"),
        ({"m": spent(0.5), "n": spent(None)}, "0.5 USD, and no price is known of n, for 20 replies"),
        (
            {"m": spent(0.5, 10, 30)},
            "0.5 USD, for 10 replies; 30 of 40 replies are from earlier runs (--no-cache makes every call)",
        ),
        ({}, "none: no LLM was asked"),
    ],
)
def test_money_is_said_and_never_0_where_a_price_is_not_known(make: Make, entries: dict[str, Any], said: str) -> None:
    assert line(make({"react": "r"}, spent=entries), "Money") == said


def test_money_that_a_run_does_not_speak_of_is_not_called_none(make: Make) -> None:
    assert line(make({"react": "r"}), "Money") == "not recorded"


# all of it


def test_there_are_at_most_six_lines(make: Make) -> None:
    run = make({"react": "rxo", "pal": "rwo"}, ("a", "b", "c", "d"), spent={"m": spent(None, 3, 4)})
    assert len(closing_lines([run])) <= 6


def test_hostile_names_do_not_act_on_the_terminal(tmp_path: Path) -> None:
    cells = [Cell("re\x1b[31mact", "m\u202e", "clean", TASK), Cell("pal", "m\r", "clean", TASK)]
    run = RunFolder(tmp_path)
    for cell in cells:
        writer = CellWriter(cell.path(run.episodes_root))
        writer.append(_episode(cell, 0, "r" if cell.workflow != "pal" else "w"))
        writer.close()
    write_manifest(run.path, cells, 1)
    text = "\n".join(closing_lines([run]))
    assert "re\\u001b[31mact+m\\u202e, 100.0 %" in text
    assert text.replace("\n", "").isprintable()


def test_a_run_that_varies_settings_ends_with_its_strongest_recommendation(tmp_path: Path) -> None:
    shares = {"rag@chunk_size=64": 9, "rag@chunk_size=256": 5}
    run = write_sweep(tmp_path / "run", lambda cell, number: number % 10 < shares.get(cell.workflow, 4))
    (advice,) = [line for line in closing_lines([run]) if line.startswith("Advice")]
    assert advice.startswith(
        "Advice    wiki/facts: chunk_size 64 is better than 128 for certain, by 50.0 points of token_f1 (p"
    )
    assert advice.endswith("the page has all (#/components)")


def test_where_no_setting_matters_for_certain_it_says_so(tmp_path: Path) -> None:
    run = write_sweep(tmp_path / "run", lambda cell, number: number % 2 == 0)
    (advice,) = [line for line in closing_lines([run]) if line.startswith("Advice")]
    assert "no value of chunk_size, retriever, top_k can be told from the others with 40 questions" in advice


def test_other_runs_end_without_a_recommendation(make: Make) -> None:
    assert not any(line.startswith("Advice") for line in closing_lines([make({"react": "rrr", "pal": "www"})]))


# beyond scores


def test_what_needs_the_domain_has_a_line_where_the_llm_ran_alone_too(make: Make) -> None:
    assert line(make({"react": "rrrw", "direct": "rwww"}), "Domain") == (
        "67 % of react+m's right answers need the domain (mean over tasks; 3 right answers)"
    )
    assert line(make({"react": "rrrw"}), "Domain") == ""


def test_a_condition_is_held_against_clean_in_a_line(make: Make) -> None:
    run = make({"react": "rw"}, ("clean", "noisy"))
    assert line(run, "Condition") == "no comparison with clean is more than chance"
