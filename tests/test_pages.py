"""All pages of docs/ and all READMEs: links lead somewhere, blocks can be read, commands exist, names are complete."""

from __future__ import annotations

import inspect
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from r_eval import Grid, plugins
from r_eval.cli.app import app
from r_eval.environments.conditions.base import Condition
from r_eval.environments.conditions.combined import combine
from r_eval.environments.corpus import Corpus
from r_eval.environments.corpus.retrievers import NAMES as RETRIEVERS
from r_eval.environments.corpus.sources import embedded
from r_eval.runner.plan import resolve
from r_eval.tasks.loaders import formats
from r_eval.tasks.loaders.prgb import PrgbSettings
from r_eval.tasks.placeholders.world import RECORDS
from r_eval.workflows.agent import VARIABLES, Agent
from r_eval.workflows.base import Workflow
from scripts import reference
from tests import documents

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), ROOT / "README.md", *(ROOT / "examples").rglob("README.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    inside = [link for link in LINK.findall(text) if "://" not in link]
    assert [link for link in inside if not (page.parent / link).exists()] == []


def test_the_index_has_every_page() -> None:
    linked = set(LINK.findall((DOCS / "README.md").read_text(encoding="utf-8")))
    assert [page.name for page in DOCS.glob("*.md") if page.name not in {*linked, "README.md"}] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_block_of_a_page_can_be_read_and_every_grid_is_one(page: Path) -> None:
    for kind, text in documents.blocks(page):
        if kind == "python":
            compile(text, named(page), "exec")
        elif kind == "yaml":
            keys = yaml.safe_load(text)
            if isinstance(keys, dict) and keys.keys() & Grid.model_fields.keys():  # the rest is any grid's
                grid = Grid(**{"llms": ["openai/m"], "workflows": ["direct"], "tasks": ["wiki/high-freq"], **keys})
                assert keys.keys() != {"llms"} or resolve(grid).cells
        elif kind == "json":  # values, one after the other: a file of lines, or one value over several
            assert text.strip()
            while text := text.strip():
                text = text[json.JSONDecoder().raw_decode(text)[1] :]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_of_a_page_is_one_with_the_options_that_it_has(page: Path) -> None:
    group = typer.main.get_command(app)
    shown = [line for kind, text in documents.blocks(page) if kind == "sh" for line in text.splitlines()]
    for line in (*shown, *(command.line for command in documents.commands(page))):
        words = shlex.split(line, comments=True)
        if words[:1] != ["r-eval"] or len(words) == 1:
            continue
        command, rest = group, words[1:]
        while hasattr(command, "get_command"):
            found = command.get_command(None, rest[0])
            found, rest = (found, rest[1:]) if found else (command.get_command(None, "write"), rest)  # of `leaderboard`
            assert found is not None, line
            command = found
        options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        said = {word.partition("=")[0] for word in rest if word.startswith("--")}
        assert said <= options | {"--help"}, line


AGENTS = [path.name for path in (ROOT / "examples" / "agents").iterdir() if path.suffix in (".py", ".mjs")]


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("agents", [*AGENTS, *VARIABLES, *VARIABLES.values(), *inspect.signature(Agent).parameters]),
        ("corpus", [*inspect.signature(Corpus).parameters, *RETRIEVERS, *embedded()]),
        ("placeholders", [*RECORDS, *PrgbSettings.model_fields]),
        ("questions", formats()),
    ],
)
def test_a_page_names_everything_that_there_is(page: str, names: list[str]) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    assert names
    assert [name for name in names if not re.search(rf"`{re.escape(name)}[`:]", text)] == []


def test_every_setting_of_a_workflow_is_in_its_section() -> None:
    sections = (DOCS / "workflows.md").read_text(encoding="utf-8").split("\n## ")
    for name, cls in plugins.names("workflows", Workflow).items():
        section = next(text for text in sections if name in text.partition("\n")[0])
        assert [setting for setting in inspect.signature(cls).parameters if setting not in section] == [], name


def test_every_condition_and_its_defaults_are_in_the_table() -> None:
    text = (DOCS / "conditions.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \| .* \| (.*?) \|$", text, re.MULTILINE))
    assert {"clean", *plugins.names("conditions", Condition)} == {*rows, "clean"}
    for name in ("faulty", "slow", "noisy", "counterfactual"):
        settings: dict[str, Any] = {}
        for setting in re.findall(r"`(\w+: [^`{]+)`", rows[name]):
            settings |= yaml.safe_load(setting)
        assert settings
        assert combine(name, [name], settings).fingerprint_parts() == combine(name, [name], {}).fingerprint_parts()


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_reference_page_is_what_the_code_says(name: str) -> None:
    page = reference.PAGES[name]()
    assert (reference.FOLDER / name).read_text(encoding="utf-8") == page, "python -m scripts.reference writes the pages"
    if name in ("grid.md", "records.md"):
        assert [row for row in page.splitlines() if row.startswith("| `") and row.endswith("|  |")] == []
