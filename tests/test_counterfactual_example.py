"""examples/counterfactual.yaml: who remembers leaks in every workflow, who looks it up is faithful."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas
import pytest
import yaml

from r_eval import Grid, load_run, run
from r_eval.analysis.results import load
from r_eval.analysis.robustness import faithful
from r_eval.folder import RunFolder

EXAMPLE = Path(__file__).parents[1] / "examples" / "counterfactual.yaml"
LLMS = Path(__file__).parent / "counterfactual_llms.py"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The example with two scripted LLMs, of which one can only write programs."""
    folder = tmp_path_factory.mktemp("counterfactual")
    entries = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    entries["llms"] = [{"llm": f"scripted/{LLMS}:{name}", "name": name} for name in ("remembers", "looks_up")]
    entries["exclude"] = [{"llm": "looks_up", "workflow": name} for name in ("react", "direct")]
    entries["samples"] = 4
    (folder / "grid.yaml").write_text(yaml.safe_dump(entries), encoding="utf-8")
    run(Grid.load(folder / "grid.yaml"), folder / "run")
    return RunFolder(folder / "run")


def totals(ran: RunFolder) -> pandas.DataFrame:
    found = faithful(load(ran))
    return found[found["task"] == "all tasks"]


def test_an_llm_that_remembers_leaks_every_answer_in_every_workflow(ran: RunFolder) -> None:
    found = totals(ran)
    found = found[found["llm"] == "remembers"]
    assert len(found) == 3
    assert (found["leaked"] == found["answers"]).all()
    assert (found["answers"] > 0).all()


def test_an_llm_that_looks_it_up_is_faithful_in_every_answer(ran: RunFolder) -> None:
    line = totals(ran).set_index("system").loc["pal+looks_up"]
    assert line["faithful"] == line["answers"] > 0


def test_in_the_clean_environment_both_are_right(ran: RunFolder) -> None:
    clean = [episode for episode in ran.episodes() if episode.condition == "clean"]
    assert clean
    assert all(episode.answer.casefold() == episode.golds[0].casefold() for episode in clean)


def test_the_report_has_the_table_that_the_example_names(ran: RunFolder) -> None:
    folder = load_run(ran.path).report(figures=False).parent
    with (folder / "tables" / "faithful.csv").open(encoding="utf-8") as file:
        assert list(csv.DictReader(file))
