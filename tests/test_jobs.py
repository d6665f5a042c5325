"""examples/jobs: every command of the three jobs runs in a copy of its folder, with a function in the LLM's place."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import pytest
import yaml

from r_eval import load_run
from r_eval.grid import Grid
from tests import documents

JOBS = Path(__file__).parents[1] / "examples" / "jobs"
RUNS = {"domain": "trams", "grid": "grid", "reports": "reports"}
TALKER = """
def talk(request):
    return "Action 1: Finish[Red]"
"""


@pytest.fixture(scope="module", params=sorted(RUNS))
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job's folder after its commands, each of which printed what the page says."""
    folder = tmp_path_factory.mktemp("jobs") / request.param
    shutil.copytree(JOBS / request.param, folder, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    (folder / "talker.py").write_text(TALKER, encoding="utf-8")
    keys = yaml.safe_load((folder / "grid.yaml").read_text(encoding="utf-8"))
    for entry in keys["llms"]:
        entry.setdefault("name", entry["llm"])
        entry["llm"] = "scripted/talker.py:talk"
    (folder / "grid.yaml").write_text(yaml.safe_dump(keys, sort_keys=False), encoding="utf-8")
    for command in documents.commands(folder / "README.md"):
        ran = documents.typed(command.line, folder)
        assert ran.returncode == 0, f"{command.line}\n{ran.stdout}{ran.stderr}"
        assert not command.expected or documents.matches(ran.stdout, command.expected), f"{command.line}\n{ran.stdout}"
    return folder


def test_a_job_ends_in_a_page_and_its_oracle_is_right(done: Path) -> None:
    run = load_run(done / "runs" / RUNS[done.name])
    assert run.state == "complete"
    assert (run.path / "report" / "index.html").is_file()
    own = [
        score for cell in run.folder.cells() if cell.workflow == "oracle" for score in run.folder.scores(cell).values()
    ]
    assert own
    assert {score["score"] for score in own} == {1.0}


def test_the_files_that_the_page_of_reports_names_are_written(done: Path) -> None:
    if done.name != "reports":
        return
    text, report = (done / "README.md").read_text(encoding="utf-8"), done / "runs" / "reports" / "report"
    named = re.findall(r"`((?:tables|figures)/[\w-]+)\.\*`", text)
    assert len(named) == 6
    assert [name for name in named if not list(report.glob(f"{name}.*"))] == []


def test_the_script_of_the_grid_goes_on_with_the_run_of_its_file(done: Path) -> None:
    if done.name != "grid":
        return
    script = (done / "script.py").read_text(encoding="utf-8").replace("gguf/smollm2-135m", "scripted/talker.py:talk")
    (done / "script.py").write_text(script, encoding="utf-8")
    ran = documents.typed("python script.py", done)
    assert ran.returncode == 0, ran.stderr
    assert "oracle+none" in ran.stdout
    assert ran.stdout.endswith("index.html\n")


@pytest.mark.parametrize("job", sorted(RUNS))
def test_a_job_takes_at_most_ten_commands(job: str) -> None:
    assert 0 < len(documents.commands(JOBS / job / "README.md")) <= 10


@pytest.mark.parametrize("script", ["grid/script.py", "reports/say.py"])
def test_a_script_of_a_job_is_at_most_thirty_lines(script: str) -> None:
    lines = (JOBS / script).read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 30


def test_the_script_of_the_grid_is_its_file() -> None:
    script = runpy.run_path(str(JOBS / "grid" / "script.py"))["grid"]()
    assert script == Grid.load(JOBS / "grid" / "grid.yaml").model_copy(update={"folder": script.folder})


@pytest.mark.parametrize("job", sorted(RUNS))
def test_a_job_asks_the_embedded_model(job: str) -> None:
    grid = Grid.load(JOBS / job / "grid.yaml")
    assert {entry.llm for entry in grid.llms} == {"gguf/smollm2-135m"}
