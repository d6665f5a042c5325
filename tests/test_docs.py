"""The pages of docs/ are true: every command in them runs, in order, and prints what the page says."""

from __future__ import annotations

import importlib.util
import inspect
import re
import shutil
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from r_eval import load_run
from r_eval.llms.model_files import model_path
from r_eval.plugins import names
from r_eval.tasks.templates import Template
from r_eval.workflows.base import Workflow
from tests import documents
from tests.serving import serving

PAGE = Path(__file__).parents[1] / "docs" / "custom-domain.md"
ENVIRONMENTS = PAGE.with_name("environments.md")
OTHERS = {"langchain:": "langchain_core", "mcp:": "mcp", "openapi:": "jsonschema"}


def needs(line: str) -> str | None:
    """The package that a command needs and that is not here."""
    for scheme, package in OTHERS.items():
        if scheme in line and importlib.util.find_spec(package) is None:
            return package
    return None


def test_every_command_of_the_page_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    if not model_path("smollm2-135m").exists():
        pytest.skip("the model smollm2-135m is not here: r-eval doctor --fetch")
    prices = web.Application()
    prices.router.add_get("/prices/pear", lambda request: _json(0.6))
    with serving(prices) as address:

        def entered(folder: Path) -> None:
            write_files(folder, address)
            documents.hurry(folder / "grid.yaml")

        folder = documents.follow(PAGE, tmp_path, entered, lambda line: needs(line) is not None)
    assert (folder / "runs" / "recipes" / "report" / "index.html").is_file()


async def _json(value: object) -> web.Response:
    return web.json_response(value)


def test_every_command_about_environments_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text(documents.block(ENVIRONMENTS, "json", "Mercury"), encoding="utf-8")
    documents.follow(ENVIRONMENTS, tmp_path)


def write_files(folder: Path, address: str) -> None:
    """The files that the page shows whole: their first line is their name."""
    for kind, text in documents.blocks(PAGE):
        if kind in ("python", "yaml") and (name := re.match(r"# (\w+\.(?:py|yaml))\n", text)):
            (folder / name[1]).write_text(text.replace("http://127.0.0.1:8000", address), encoding="utf-8")


def test_the_template_of_the_page_is_the_scaffolds() -> None:
    shown = Template.model_validate(yaml.safe_load(documents.block(PAGE, "yaml", "id: minutes-of-dish"))[0])
    scaffold = PAGE.parents[1] / "r_eval" / "scaffold" / "domain" / "templates.yaml.tmpl"
    first = yaml.safe_load(scaffold.read_text(encoding="utf-8"))["templates"][0]
    assert shown == Template.model_validate(first)


# docs/custom-workflow.md and docs/workflows.md

DOCS = PAGE.parent
EXAMPLES = DOCS.parent / "examples"
CUSTOM_WORKFLOW = DOCS / "custom-workflow.md"
REFLECT = {"reflect.py": "python", "reflect.yaml": "yaml", "test_reflect.py": "python"}


@pytest.mark.parametrize("name", REFLECT)
def test_the_page_of_workflows_shows_the_example_as_it_is(name: str) -> None:
    assert (REFLECT[name], (EXAMPLES / name).read_text(encoding="utf-8")) in documents.blocks(CUSTOM_WORKFLOW)


def test_every_command_of_the_page_of_workflows_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    if not model_path("smollm2-135m").exists():
        pytest.skip("the model smollm2-135m is not here: r-eval doctor --fetch")
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("runs", "__pycache__"))
    folder = documents.follow(CUSTOM_WORKFLOW, tmp_path, lambda folder: documents.hurry(folder / "reflect.yaml"))
    run = load_run(folder / "runs" / "reflect")
    assert {episode.workflow for episode in run.episodes()} == {"react", "reflect"}


def test_every_setting_of_a_workflow_is_in_the_page() -> None:
    sections = (DOCS / "workflows.md").read_text(encoding="utf-8").split("\n## ")
    for name, cls in names("workflows", Workflow).items():
        section = next(text for text in sections if name in text.partition("\n")[0])
        for setting in inspect.signature(cls).parameters:
            assert setting in section, f"{name}: {setting}"
