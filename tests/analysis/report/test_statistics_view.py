"""The statistics view: comparisons as `r-eval compare` makes them, what epochs say, what failed questions share."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.aggregate import aggregate
from r_eval.analysis.columns import of_records
from r_eval.analysis.comparing import compare_runs
from r_eval.analysis.estimate import of_scores
from r_eval.analysis.report.analysed import Analysed, analysed
from r_eval.analysis.report.comparisons import reworded
from r_eval.analysis.report.payload_errors import errors_payload
from r_eval.analysis.report.payload_statistics import FIELDS, statistics_payload
from r_eval.analysis.rows import Aggregates, Row, Task
from r_eval.analysis.systems import System
from r_eval.folder import Cell, RunFolder
from r_eval.records import Question
from tests.analysis.report import makers
from tests.analysis.report.conftest import Visiting

LLM = "openai/gpt-4o-mini"
TURNED = """() => {
  const model = Statistics.model(R_EVAL.statistics);
  const [a, b] = model.rows;
  const [one, other] = [model.of(a, b), model.of(b, a)];
  return [
    one.difference + other.difference, one.low + other.high, one.wins - other.losses,
    one.only_a - other.only_b, one.p - other.p,
  ];
}"""
Made = tuple[Aggregates, RunFolder, dict[str, Any]]


def made_of(*runs: RunFolder) -> tuple[Aggregates, dict[str, Any]]:
    found = aggregate(*runs)
    return found, statistics_payload(found, analysed(found, runs))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A run without gaps, of four systems and three tasks."""
    pairs = makers.systems(("gguf/smollm2-135m", "openai/gpt-4o-mini"))[:4]
    run = makers.write_run(tmp_path_factory.mktemp("statistics") / "run", pairs, makers.TASKS[1:4], 20, makers.episode)
    found, payload = made_of(run)
    return found, run, payload


# what the page is given


def test_comparisons_are_those_of_compare(made: Made) -> None:
    aggregates, run, payload = made
    (wanted,) = compare_runs([run])
    found = {
        (aggregates.rows[p["a"]].system, aggregates.rows[p["b"]].system): p for p in payload["conditions"][0]["pairs"]
    }
    assert list(found) == [(pair.overall.a, pair.overall.b) for pair in wanted.pairs]
    for pair in wanted.pairs:
        own = dict(zip(FIELDS, found[pair.overall.a, pair.overall.b]["all"], strict=True))
        assert own == {name: pytest.approx(getattr(pair.overall, name), rel=1e-5) for name in FIELDS}


def test_the_ranking_is_that_of_compare(made: Made) -> None:
    aggregates, run, payload = made
    (wanted,) = compare_runs([run])
    found = [(aggregates.rows[p["row"]].system, p["rank"], p["groups"]) for p in payload["conditions"][0]["ranking"]]
    assert found == [(place.system, place.rank, place.groups) for place in wanted.ranking]


def test_each_pair_is_compared_on_each_task(made: Made) -> None:
    _, _, payload = made
    assert [[task for task, *_ in pair["tasks"]] for pair in payload["conditions"][0]["pairs"]] == [[0, 1, 2]] * 6


def test_few_questions_and_clusters_are_counted(made: Made) -> None:
    _, _, payload = made
    assert payload["conditions"][0]["tasks"] == [{"task": place, "questions": 20, "clusters": 7} for place in range(3)]


def test_bounds_are_not_compared(tmp_path: Path) -> None:
    run = makers.write_run(tmp_path, [("pal", LLM), ("oracle", "none")], makers.TASKS[:1], 6, makers.episode)
    _, payload = made_of(run)
    assert payload["conditions"][0]["pairs"] == []
    assert len(payload["conditions"][0]["ranking"]) == 1


def test_questions_in_other_words_are_left_out(tmp_path: Path) -> None:
    def other(task: dict[str, Any], number: int, rng: random.Random) -> Question:
        asked = makers.question(task, number, rng)
        return asked.model_copy(update={"question": "Other words?"}) if number == 0 else asked

    pairs = [("pal", LLM), ("fc", LLM)]
    runs = [
        makers.write_run(tmp_path / "one", pairs, makers.TASKS[:1], 6, makers.episode),
        makers.write_run(tmp_path / "two", pairs, makers.TASKS[:1], 6, makers.episode, ask=other),
    ]
    assert {question for _, question in reworded(runs)} == {f"{makers.TASKS[0]['name'].replace('/', '-')}-0"}
    _, payload = made_of(*runs)
    assert payload["conditions"][0]["tasks"][0]["questions"] == 5
    assert payload["reworded"] == 1


def test_one_try_says_nothing_of_passes(made: Made) -> None:
    assert made[2]["epochs"] == []


def test_tries_at_the_same_questions_are_counted() -> None:
    records = [
        {"question_id": f"q{number // 4}", "epoch": number % 4, "score": score, "response_type": "EM"}
        | {"outcome": "finished", "outcome_cause": "", "metrics": {}}
        for number, score in enumerate((1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0))
    ]
    system = System("clean", "s", "pal", LLM, cells={"t": of_records(Cell("pal", LLM, "clean", "t"), records, 8)})
    row = Row("clean", "s", "pal", LLM, averages={"all": of_scores(1.0, 1, 1)}, ranks={"all": 1})
    aggregates = Aggregates([], [Task("t")], [row], {"all": ["t"]})
    found = Analysed([], [system], {}, [], [], [], frozenset(), [])
    passes = statistics_payload(aggregates, found)["epochs"][0]["passes"]
    assert [one["k"] for one in passes] == [1, 2, 4]
    assert [one["at"][0] for one in passes] == pytest.approx([0.75, (1 - 1 / 6 + 1) / 2, 1.0], rel=1e-5)
    assert [one["all"][0] for one in passes] == pytest.approx([0.75, (1 / 6 + 1) / 2, 0.5], rel=1e-5)


def test_all_systems_together_have_no_row(made: Made) -> None:
    aggregates, run, _ = made
    payload = errors_payload(aggregates, [run])
    rows = [one["row"] for one in payload["runs"][0]["separators"] if one["name"] == "kind"]
    assert rows == [None, *range(len(aggregates.rows))]


def test_types_by_level_add_up_to_the_episodes(made: Made) -> None:
    aggregates, run, _ = made
    payload = errors_payload(aggregates, [run])
    for place, row in enumerate(aggregates.rows):
        own = [one["types"] for one in payload["runs"][0]["levels"] if one["row"] == place]
        assert sum(map(sum, own)) == row.recorded


# what a person sees


def test_the_matrix_has_a_cell_for_every_two_systems(visit: Visiting) -> None:
    page = visit("paper").open("#/statistics")
    systems = page.locator("table.pairs tbody tr").count()
    assert systems > 10
    assert page.locator("table.pairs td button").count() == systems * (systems - 1)


def test_a_cell_opens_its_pair(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/statistics")
    page.locator("#pair-2-1").click()
    opened.settle()
    names = page.locator("table.pairs tbody th").all_inner_texts()
    said = page.locator(".pair .verdict strong").all_inner_texts()
    assert said == [names[2][1:].strip(), names[1][1:].strip()]
    assert "a=" in page.url


def test_a_pair_seen_from_the_other_side_is_turned(visit: Visiting) -> None:
    page = visit().open("#/statistics")
    turned = page.evaluate(TURNED)
    assert turned == [0, 0, 0, 0, 0]


def test_the_arrows_move_within_the_matrix_and_over_its_diagonal(visit: Visiting) -> None:
    page = visit().open("#/statistics")
    page.locator("#pair-0-1").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "pair-2-3"


def test_a_pair_links_to_the_questions_where_they_part(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/statistics")
    page.get_by_role("link", name="The questions on which they differ most").click()
    opened.settle()
    assert "sort=differ" in page.url
    assert page.locator("#questions-list").is_visible()


def test_tasks_of_few_questions_are_named(visit: Visiting) -> None:
    page = visit().open("#/statistics")
    assert "Fewer than 30 questions: " in page.locator("#statistics .notice").first.inner_text()


def test_published_means_are_compared_without_a_p(visit: Visiting) -> None:
    page = visit("paper").open("#/statistics")
    text = page.locator("#statistics").inner_text()
    assert "published means" in text
    assert "cannot be said from means alone" in text
    assert page.locator("#pairs-p").count() == 0


def test_published_differences_are_as_dark_as_the_text(visit: Visiting) -> None:
    page = visit("paper").open("#/statistics")
    colour = "(node) => getComputedStyle(node).color"
    cells = page.locator("table.pairs td button")
    assert cells.first.evaluate(colour) == page.locator("h1").first.evaluate(colour)


def test_one_system_is_compared_with_nothing(visit: Visiting) -> None:
    page = visit("single").open("#/statistics")
    assert "nothing to compare it with" in page.locator("#statistics").inner_text()
    assert page.locator("table.pairs").count() == 0


def test_names_beside_p_values_stay_readable(visit: Visiting) -> None:
    page = visit(viewport={"width": 610, "height": 800}).open("#/statistics?show=p")
    widths = page.evaluate("[...document.querySelectorAll('.pairs tbody th')].map((name) => name.clientWidth)")
    assert min(widths) >= 160


def test_what_the_matrix_shows_is_told_below_it(visit: Visiting) -> None:
    opened = visit()
    note = opened.open("#/statistics").locator(".scroll:has(.pairs) + .note")
    assert note.inner_text().startswith("Points by which")
    opened.open("#/statistics?show=p")
    assert note.inner_text().startswith("How likely")


def test_a_group_alone_is_compared_with_nothing(visit: Visiting) -> None:
    page = visit().open("#/statistics")
    alone = page.locator(".separator").filter(has_text="By calls of the gold program")
    assert "nothing to compare" in alone.inner_text()


def test_the_error_analysis_is_of_the_chosen_system(visit: Visiting) -> None:
    opened = visit()
    page = opened.open("#/statistics")
    whole = page.locator(".separator table").first.inner_text()
    page.locator("#failures-system").select_option(index=1)
    opened.settle()
    assert "system=" in page.url
    assert page.locator(".separator table").first.inner_text() != whole
