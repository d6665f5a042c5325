"""The deployment view: bounds are judged on the page as they are in the terminal, and nothing unknown passes for 0."""

from __future__ import annotations

import base64
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from r_eval.analysis.aggregate import aggregate
from r_eval.analysis.deployment import Choice, choose, deployment
from r_eval.analysis.report.analysed import Analysed, analysed
from r_eval.analysis.report.payload_deployment import deployment_payload, packed
from r_eval.analysis.rows import Aggregates
from tests.analysis.report import makers
from tests.analysis.report.conftest import Visiting

if TYPE_CHECKING:
    from playwright.sync_api import Page

JUDGED = """bounds => {
  const choice = Choosing.choose(R_EVAL.deployment.conditions[0], bounds);
  const name = (system) => Report.data.rows[system.row].system;
  return {
    best: choice.best && name(choice.best), quality: choice.best && choice.best.quality,
    share: choice.share, noneFits: choice.noneFits,
    fitting: choice.fitting.map(name), beyond: choice.beyond.map(({ system }) => name(system)),
    leftOut: choice.leftOut.map(({ system, why }) => [name(system), why]),
    rivals: choice.rivals.map(({ system, share }) => [name(system), share]), resamples: choice.resamples,
  };
}"""

SCALE = """values => {
  const made = DeploymentChart.scale(values, true);
  return [values.map(made.at), made.broken, made.ticks[0].text];
}"""

Made = tuple[Aggregates, Analysed]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The run that the small report is of."""
    run = makers.small(tmp_path_factory.mktemp("deployment") / "run")
    found = aggregate(run)
    return found, analysed(found, [run])


@pytest.fixture(scope="module")
def given(made: Made) -> dict[str, Any]:
    return deployment_payload(*made)["conditions"][0]


def judged(page: Page, **bounds: float) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(JUDGED, {"seconds": None, "cost": None, "quality": None, **bounds})
    return found


# what the page is given


def test_an_unknown_price_stays_unknown(made: Made, given: dict[str, Any]) -> None:
    own = [system for system in given["systems"] if "smollm2" in made[0].rows[system["row"]].llm]
    assert [system["cost"] for system in own] == [None] * 4


def test_an_unknown_price_is_no_number_in_any_resample(made: Made, given: dict[str, Any]) -> None:
    drawn = given["resampled"]
    costs = np.frombuffer(base64.b64decode(drawn["cost"]), "<f4").reshape(drawn["resamples"], -1)
    priced = ["openai" in made[0].rows[row].llm for row in drawn["rows"]]
    assert np.isfinite(costs).all(axis=0).tolist() == priced
    assert np.isnan(costs).all(axis=0).tolist() == [not known for known in priced]


def test_bounds_are_not_among_the_resampled(made: Made, given: dict[str, Any]) -> None:
    assert {made[0].rows[row].workflow for row in given["resampled"]["rows"]} == {"react", "pal", "dfsdt", "fc"}


def test_tokens_are_those_of_prompt_and_completion(given: dict[str, Any]) -> None:
    for system in given["systems"]:
        whole = system["prompt_tokens"]["mean"] + system["completion_tokens"]["mean"]
        assert math.isclose(system["tokens"]["mean"], whole, rel_tol=1e-5)


def test_queue_and_retry_stand_apart_from_the_seconds(given: dict[str, Any]) -> None:
    assert all(set(system["queue"]) == {"mean", "p50", "p90", "p95", "p99"} for system in given["systems"])
    assert all(system["retry"] is not None for system in given["systems"])


def test_numbers_are_packed_row_after_row() -> None:
    text = packed(np.array([[0.5, 1.0], [2.0, math.nan]]))
    assert np.frombuffer(base64.b64decode(text), "<f4")[:3].tolist() == [0.5, 1.0, 2.0]


# the page and the terminal


def bounds_within(made: Made) -> list[dict[str, float]]:
    """Bounds that part the systems."""
    ranked = [one for one in deployment(made[1].systems) if one.role != "reference"]
    seconds = sorted(one.seconds.mean for one in ranked if one.seconds)
    costs = sorted(one.cost.mean for one in ranked if one.cost)
    return [
        {},
        {"seconds": seconds[3] * 1.01},
        {"cost": costs[1] * 1.01},
        {"seconds": seconds[5] * 1.01, "cost": costs[2] * 1.01},
        {"seconds": seconds[0] / 2},
    ]


def test_the_page_judges_bounds_as_the_terminal_does(made: Made, visit: Visiting) -> None:
    page = visit().open("#/deployment")
    for bounds in bounds_within(made):
        found = judged(page, **bounds)
        (wanted,) = choose(made[1].systems, bounds.get("seconds"), bounds.get("cost"), made[1].shared)
        assert found["best"] == (wanted.best.system if wanted.best else None)
        assert found["fitting"] == [one.system for one in wanted.fitting]
        assert found["beyond"] == [name for name, _ in wanted.beyond]
        assert found["leftOut"] == [[name, why] for name, why in wanted.left_out]
        assert found["resamples"] == wanted.resamples
        same_shares(found, wanted)


def same_shares(found: dict[str, Any], wanted: Choice) -> None:
    """A resample at the edge of a bound may fall to either side, as 32 bits round."""
    assert math.isclose(found["share"], wanted.share, abs_tol=0.002)
    assert math.isclose(found["noneFits"], wanted.none_fits, abs_tol=0.002)
    rivals = dict(wanted.rivals)
    assert all(math.isclose(share, rivals.get(name, 0.0), abs_tol=0.002) for name, share in found["rivals"])


def test_a_least_quality_leaves_out_what_is_worse(visit: Visiting) -> None:
    page = visit().open("#/deployment")
    free = judged(page)
    bound = judged(page, quality=free["quality"])
    assert bound["fitting"] == free["fitting"][:1]
    assert bound["noneFits"] > 0


def test_no_system_within_the_bounds_is_said(visit: Visiting) -> None:
    page = visit().open("#/deployment?seconds=0.001")
    assert "No system fits these bounds" in page.locator("#deployment-verdict").inner_text()


# what a person does


def test_a_bound_that_is_typed_stands_in_the_address_and_on_the_slider(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/deployment")
    page.locator("#bound-seconds-field").fill("5")
    opened.settle()
    assert "seconds=5" in page.url
    assert page.locator("#bound-seconds").get_attribute("aria-valuetext") == "5"
    assert "within these bounds" in page.locator("#deployment-verdict").inner_text()


def test_a_slider_keeps_the_focus_while_it_moves(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/deployment")
    page.locator("#bound-quality").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        opened.settle()
    assert page.evaluate("document.activeElement.id") == "bound-quality"
    assert "quality=0.3" in page.url


def test_the_open_end_of_a_slider_is_no_bound(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/deployment?seconds=5")
    page.locator("#bound-seconds").focus()
    page.keyboard.press("End")
    opened.settle()
    assert "seconds" not in page.url
    assert page.locator("#bound-seconds").get_attribute("aria-valuetext") == "no bound"


def test_what_the_bounds_say_is_in_the_table_too(visit: Visiting) -> None:
    page = visit().open("#/deployment?seconds=5")
    said = page.locator("#deployment-table tbody tr td:nth-child(2)").all_inner_texts()
    assert said.count("best") == 1
    assert {"yes", "no"} <= set(said)


def test_quality_can_be_weighed_against_money_and_the_unpriced_are_named(visit: Visiting) -> None:
    page = visit().open("#/deployment?against=cost")
    assert page.locator("#deployment-plot svg g").count() == 4
    assert "the price is not known: react+gguf/smollm2-135m" in page.locator("#deployment-note").inner_text()
    assert page.locator("#deployment-by-cost").get_attribute("aria-pressed") == "true"


def test_an_unknown_price_is_a_dash_in_the_table(visit: Visiting) -> None:
    page = visit().open("#/deployment")
    heads = page.locator("#deployment-table thead th").all_inner_texts()
    usd = heads.index("USD")
    lines = {
        str(line.locator("th").get_attribute("title")): line.locator("th, td").nth(usd).inner_text()
        for line in page.locator("#deployment-table tbody tr").all()
    }
    assert lines["react+gguf/smollm2-135m"] == "–"
    assert float(lines["react+openai/gpt-4o-mini"]) > 0


def test_the_table_sorts_by_a_column(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/deployment")
    page.locator("#deployment-sort-p95").click()
    opened.settle()
    place = page.locator("#deployment-table thead th").all_inner_texts().index("p95")
    numbers = [
        float(line.locator("th, td").nth(place).inner_text())
        for line in page.locator("#deployment-table tbody tr").all()
    ]
    assert numbers == sorted(numbers, reverse=True)


def test_published_means_have_nothing_to_weigh(visit: Visiting) -> None:
    page = visit("paper").open("#/deployment")
    assert "without seconds, tokens or money" in page.locator("#deployment-body").inner_text()


def test_one_system_is_the_only_one_to_judge(visit: Visiting) -> None:
    page = visit("single").open("#/deployment")
    assert "the only system that can be judged" in page.locator("#deployment-verdict").inner_text()


def test_what_costs_nothing_stands_left_of_the_break_of_a_log_axis(visit: Visiting) -> None:
    page = visit().open("#/deployment")
    (zero, small, large), broken, first = page.evaluate(SCALE, [0, 0.001, 10])
    assert zero < broken < small < large < 1
    assert first == "0"


def test_only_systems_with_scores_on_every_task_are_resampled(tmp_path: Path) -> None:
    run = makers.small(tmp_path / "run", questions=2)
    found = aggregate(run)
    payload = deployment_payload(found, analysed(found, [run]))
    rows = payload["conditions"][0]["resampled"]["rows"]
    whole = [
        place for place, row in enumerate(found.rows) if not row.reference and row.overall.tasks == row.overall.of_tasks
    ]
    assert rows == whole


def test_no_name_stands_on_the_front_where_there_is_room_beside_it(visit: Visiting) -> None:
    page = visit().open("#/deployment")
    crossed = page.evaluate(
        """() => {
            const front = document.querySelector("#deployment-plot .front");
            const part = front.getTotalLength() / 399;
            const along = Array.from({length: 400}, (_, step) => front.getPointAtLength(step * part));
            return [...document.querySelectorAll("#deployment-plot .name")].filter((name) => {
                const {x, y, width, height} = name.getBBox();
                return along.some((at) => at.x > x && at.x < x + width && at.y > y + 3 && at.y < y + height - 3);
            }).map((name) => name.textContent);
        }"""
    )
    assert crossed == []


def test_the_columns_of_the_table_have_their_units(visit: Visiting) -> None:
    page = visit().open("#/deployment?against=cost")
    heads = page.locator("#deployment-table thead th").all_inner_texts()
    assert {"USD, mean", "queue,\u00a0s", "prompt tokens"} <= {" ".join(head.split(" ")) for head in heads}
