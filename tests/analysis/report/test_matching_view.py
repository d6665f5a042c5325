"""Overview and matching in a browser: the lead, the dots, and the radars' numbers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from r_eval.analysis.matching import profile
from r_eval.analysis.published import load
from r_eval.analysis.report import write_report
from r_eval.folder import Cell, RunFolder
from r_eval.records import Episode, Outcome, Question
from tests.analysis.report import makers
from tests.analysis.report.browser import Pages, Visit

Visiting = Callable[..., Visit]
Reported = Callable[[Callable[[Path], RunFolder]], Visit]
PAPER = Path(__file__).parents[3] / "examples" / "paper"
VALUES = """([kind, base]) => {
  const axes = kind === "level" ? levelAxes() : taskAxes();
  return [...profileValues(rowsShown(), axes, base).values()];
}"""


@pytest.mark.parametrize("by", ["level", "task"])
@pytest.mark.parametrize("base", ["", "best", "pal+gpt-3.5-turbo"])
def test_the_radars_have_the_values_of_the_profiles(visit: Visiting, by: Literal["level", "task"], base: str) -> None:
    page = visit("paper").open("#/matching")
    shown = page.evaluate(VALUES, [by, base])
    expected = profile(load(RunFolder(PAPER)), by, base).values
    assert [[pytest.approx(value, rel=1e-4) for value in line] for line in expected] == shown


def test_a_seventh_llm_waits_until_another_goes(visit: Visiting) -> None:
    opened = visit("paper")
    page = opened.open("#/matching?each=no")
    buttons = page.locator("#radars-llms button")
    assert (buttons.count(), page.locator("#radars-llms [aria-pressed=true]").count()) == (8, 6)
    assert page.locator("#radars-llms button:disabled").count() == 2
    page.locator("#radars-llms [aria-pressed=true]").first.click()
    opened.settle()
    assert page.locator("#radars-llms [aria-pressed=true]").count() == 5
    assert page.locator("#radars-llms button:disabled").count() == 0


def test_more_llms_than_six_are_shown_one_each(visit: Visiting) -> None:
    page = visit("paper").open("#/matching")
    assert page.locator(".small-panels figure").count() == 21


def test_the_chosen_llms_are_those_of_the_address(visit: Visiting) -> None:
    page = visit("paper").open("#/matching?each=no&llms=0-1")
    assert page.locator("#radars-llms [aria-pressed=true]").count() == 2
    assert page.locator("#radar-panels figure").count() == 4


def test_the_dots_are_of_the_axis_that_is_chosen(visit: Visiting) -> None:
    opened = visit("paper")
    page = opened.open("#/matching")
    page.get_by_label("Score on").focus()
    page.get_by_label("Score on").select_option(label="wiki/hotpotqa")
    opened.settle()
    assert "task=wiki%2Fhotpotqa" in page.url
    assert page.locator("#dots tbody tr").first.locator("td.number").first.inner_text() == "59.7"
    assert page.evaluate("document.activeElement.id") == "dots-axis"


def test_too_few_tasks_for_a_radar_are_said_to_be_so(visit: Visiting) -> None:
    page = visit("single").open("#/matching")
    assert "needs three axes" in page.locator("#radars-lead").inner_text()
    assert page.locator("#dots tbody tr").count() == 1


def test_without_episodes_the_lead_is_left_open(visit: Visiting) -> None:
    page = visit("paper").open("#/overview")
    assert "nobody can tell" in page.locator("#scores-lead").inner_text()


def test_a_single_system_has_no_lead(visit: Visiting) -> None:
    page = visit("single").open("#/overview")
    assert "nothing to compare it with" in page.locator("#scores-lead").inner_text()


def with_pal(outcome: Outcome) -> Callable[[Path], RunFolder]:
    """Makes a run of two systems, of which pal ends without an answer every time."""

    def made(cell: Cell, task: dict[str, Any], asked: Question, rng: random.Random) -> Episode:
        episode = makers.episode(cell, task, asked, rng)
        return episode.model_copy(update={"outcome": outcome, "answer": ""}) if cell.workflow == "pal" else episode

    pairs = [("react", "gguf/smollm2-135m"), ("pal", "gguf/smollm2-135m")]
    return lambda path: makers.write_run(path, pairs, makers.TASKS[:1], 4, made)


@pytest.fixture
def reported(browser: Pages, tmp_path: Path) -> Iterator[Reported]:
    """Opens the report of a run that a test makes."""
    opened: list[Visit] = []

    def visiting(make: Callable[[Path], RunFolder]) -> Visit:
        report = write_report([make(tmp_path / "run")], tmp_path / "report", figures=False).parent
        opened.append(Visit(browser, report, {}))
        return opened[-1]

    yield visiting
    for one in opened:
        one.close()


BROKEN = Outcome(kind="llm_failure", cause="timeout")


def test_failures_of_the_machinery_stand_first(reported: Reported) -> None:
    notices = reported(with_pal(BROKEN)).open("#/overview").locator("#notices .notice")
    assert "4 episodes failed through no fault of the system" in notices.first.inner_text()
    assert "4 of 8 episodes are missing" in notices.nth(1).inner_text()


def test_failures_of_the_machinery_are_told_in_words(reported: Reported) -> None:
    notice = reported(with_pal(BROKEN)).open("#/overview").locator("#notices .failure")
    notice.locator("summary").click()
    cells = notice.locator("tbody tr").first.locator("th, td").all_inner_texts()
    assert cells == ["pal+gguf/smollm2-135m", "wiki/facts", "the LLM failed: timeout", "4"]


def test_what_one_system_reaches_alone_is_not_called_out_of_reach(reported: Reported) -> None:
    made = reported(with_pal(Outcome(kind="gave_up", cause="give_up")))
    lead = made.open("#/matching").locator("#bound-lead").inner_text()
    assert "no more than react" in lead
    assert lead.endswith("No choice among these systems can do better.")


def test_the_table_names_the_groups_that_cannot_be_told_apart(visit: Visiting) -> None:
    page = visit().open("#/overview")
    groups = page.locator("#score-table td.group").all_inner_texts()
    assert len(groups) == 9
    assert groups.count("–") == 1  # the oracle
    assert "a" in "".join(groups)


def test_only_the_roles_that_are_there_are_explained(visit: Visiting) -> None:
    note = visit().open("#/overview").locator("#scores-note").inner_text()
    assert "see the gold and are not ranked: oracle" in note
    assert "Baselines" not in note


def test_published_means_were_not_run(visit: Visiting) -> None:
    page = visit("paper").open("#/overview")
    assert page.locator("#ran-title").inner_text() == "What was measured"


def test_the_rings_of_a_radar_are_named_by_plain_numbers(visit: Visiting) -> None:
    page = visit().open("#/matching")
    assert page.locator(".radar").first.locator(".ring-label").all_text_contents() == ["50", "100"]
