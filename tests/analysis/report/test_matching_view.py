"""Overview and matching in a browser: the lead, the dots, and the radars' numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from r_eval.analysis.matching import profile
from r_eval.analysis.published import load
from r_eval.analysis.report import write_report
from r_eval.folder import Cell, RunFolder
from r_eval.records import Episode, Outcome, Question
from tests.analysis.report import makers
from tests.analysis.report.browser import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Visiting = Callable[..., Visit]
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
    assert "nothing to rank it against" in page.locator("#scores-lead").inner_text()


def test_failures_of_the_machinery_stand_first(browser: Browser, tmp_path: Path) -> None:
    def broken(cell: Cell, task: dict[str, Any], asked: Question, rng: random.Random) -> Episode:
        made = makers.episode(cell, task, asked, rng)
        stopped = Outcome(kind="llm_failure", cause="timeout")
        return made.model_copy(update={"outcome": stopped, "answer": ""}) if cell.workflow == "pal" else made

    pairs = [("react", "gguf/smollm2-135m"), ("pal", "gguf/smollm2-135m")]
    run = makers.write_run(tmp_path / "run", pairs, makers.TASKS[:1], 4, broken)
    opened = Visit(browser, write_report([run], tmp_path / "report", figures=False).parent, {})
    notices = opened.open("#/overview").locator("#notices .notice")
    assert "4 episodes failed through no fault of the system" in notices.first.inner_text()
    assert "4 of 8 episodes are missing" in notices.nth(1).inner_text()
    opened.close()


def test_the_table_names_the_groups_that_cannot_be_told_apart(visit: Visiting) -> None:
    page = visit().open("#/overview")
    groups = page.locator("#score-table td.group").all_inner_texts()
    assert len(groups) == 9
    assert groups.count("–") == 1  # the oracle
    assert "a" in "".join(groups)
