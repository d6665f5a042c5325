"""The paper's tables out of its printed scores: examples/paper, read as anybody's published results are.

Of 189 ranks one cannot be reproduced: two systems tie in print on the hard AMiner task.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

from r_eval.analysis.published_results import is_published
from r_eval.analysis.results import load
from r_eval.analysis.scores import averages
from r_eval.folder import RunFolder
from r_eval.grid import Grid
from r_eval.runner.plan import resolve
from tests import documents

PAPER = Path(__file__).parents[1] / "examples" / "paper"
PAGE = PAPER.parents[1] / "docs" / "reproducing-the-paper.md"
TIE = ("aminer_KA", "pal+vicuna-13b", "20")


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def percent() -> dict[tuple[str, str], float]:
    """The averages by system and group; that the printed ones are these is tested in tests/golden."""
    frame = averages(load(RunFolder(PAPER)))
    return dict(zip(zip(frame["system"], frame["group"], strict=True), (100 * frame["score"]).round(1), strict=True))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("matplotlib")
    out = tmp_path_factory.mktemp("paper") / "report"
    code = "from r_eval.cli.app import main; main()"
    command = [sys.executable, "-c", code, "report", str(PAPER), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (out / "printed.txt").write_text(done.stdout.replace(str(out), "runs/paper-report"), encoding="utf-8")
    return out


def printed() -> list[tuple[str, dict[str, str]]]:
    return [(f"{line['workflow']}+{line['llm']}", line) for line in lines(PAPER / "published.csv")]


def test_the_folder_holds_published_results_of_21_systems_on_12_tasks(percent: dict[tuple[str, str], float]) -> None:
    assert is_published(PAPER)
    assert (len({system for system, _ in percent}), len(lines(PAPER / "scores.csv"))) == (21, 252)


def test_the_tables_of_the_report_have_the_printed_averages_and_ranks(report: Path) -> None:
    found = {line["system"]: line for line in lines(report / "tables" / "scores.csv")}
    for name, line in printed():
        if line["average"]:
            assert abs(float(found[name][f"average_{line['group']}"]) - float(line["average"])) <= 0.1
        if (line["group"], name, line["rank"]) != TIE:
            assert found[name][f"rank_{line['group']}"] == line["rank"]


def test_the_report_has_the_tables_and_the_figures_in_every_format(report: Path) -> None:
    assert {path.name for path in (report / "tables").iterdir()} == {
        f"{name}.{ending}"
        for name in ("scores", "averages", "task_scores", "partners")
        for ending in ("csv", "md", "tex")
    }
    assert {path.name for path in (report / "figures").iterdir()} >= {
        f"{name}.{ending}" for name in ("workflow-by-llm", "radar", "levels") for ending in ("png", "svg")
    }


def test_the_best_llm_of_each_workflow_is_in_the_table_of_partners(report: Path) -> None:
    found = {(line["name"], line["group"]): line["best"] for line in lines(report / "tables" / "partners.csv")}
    assert [found["react", group] for group in ("wiki", "aminer", "all")] == ["gpt-4-1106"] * 3
    assert (found["pal", "wiki_KS"], found["fc", "wiki_KU"]) == ("llama2-13b", "gpt-3.5-turbo")


def test_the_readme_names_the_command_that_writes_the_report() -> None:
    assert "\nr-eval report examples/paper --out " in (PAPER / "README.md").read_text(encoding="utf-8")


def test_the_page_shows_the_command_of_the_report_and_what_it_prints(report: Path) -> None:
    (command,) = documents.commands(PAGE)
    assert command.line == "r-eval report examples/paper --out runs/paper-report"
    assert documents.matches((report / "printed.txt").read_text(encoding="utf-8"), command.expected)


def test_the_tables_and_figures_that_the_page_says_are_made_are_made(report: Path) -> None:
    named = set(re.findall(r"`((?:tables|figures)/[\w-]+\.\w+)`", PAGE.read_text(encoding="utf-8")))
    assert named >= {"tables/scores.csv", "figures/radar.png"}
    assert [name for name in sorted(named) if not (report / name).is_file()] == []


def test_the_python_of_the_page_prints_its_numbers() -> None:
    code, root = documents.block(PAGE, "python", "averages"), PAPER.parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, encoding="utf-8", check=False)
    assert (done.stdout, done.stderr) == (documents.block(PAGE, "text", "react 24.4"), "")


def test_the_contradictions_of_the_page_are_in_the_scores(percent: dict[tuple[str, str], float]) -> None:
    assert [percent[f"pal+{llm}", "wiki_KU"] for llm in ("gpt-3.5-turbo", "llama2-13b")] == [40.2, 37.9]
    assert percent["dfsdt+gpt-4-1106", "wiki_KA"] == 10.0


def test_the_grid_has_the_papers_systems_settings_and_one_shot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    grid = Grid.load(PAPER / "grid.yaml")
    cells = [planned.cell for planned in resolve(grid).cells]
    published = {(line["workflow"], line["llm"]) for line in lines(PAPER / "scores.csv")}
    assert {(cell.workflow, cell.llm) for cell in cells} == published
    assert (len(cells), grid.samples, grid.shots) == (252, 100, 1)
    assert {(llm.settings["temperature"], llm.settings["max_tokens"]) for llm in grid.llms} == {(0, 128)}
