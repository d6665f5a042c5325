"""examples/jobs: every command of the three jobs runs in a copy of its folder, with a function in the LLM's place."""

from __future__ import annotations

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


@pytest.fixture(scope="module", params=sorted(RUNS))
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job's folder after its commands, each of which printed what the page says."""
    folder = tmp_path_factory.mktemp("jobs") / request.param
    shutil.copytree(JOBS / request.param, folder, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    (folder / "talker.py").write_text(documents.TALKER, encoding="utf-8")
    keys = yaml.safe_load((folder / "grid.yaml").read_text(encoding="utf-8"))
    for entry in keys["llms"]:
        entry.setdefault("name", entry["llm"])
        entry["llm"] = "scripted/talker.py:talk"
    (folder / "grid.yaml").write_text(yaml.safe_dump(keys, sort_keys=False), encoding="utf-8")
    documents.follow(folder / "README.md", folder)
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


def test_the_script_of_the_grid_goes_on_with_the_run_of_its_file(done: Path) -> None:
    if done.name != "grid":
        return
    script = (done / "script.py").read_text(encoding="utf-8").replace("gguf/smollm2-135m", "scripted/talker.py:talk")
    (done / "script.py").write_text(script, encoding="utf-8")
    ran = documents.typed("python script.py", done)
    assert ran.returncode == 0, ran.stderr
    assert "oracle+none" in ran.stdout
    assert ran.stdout.endswith("index.html\n")


def test_the_script_of_the_grid_is_its_file() -> None:
    script = runpy.run_path(str(JOBS / "grid" / "script.py"))["grid"]()
    assert script == Grid.load(JOBS / "grid" / "grid.yaml").model_copy(update={"folder": script.folder})
