"""All pages of docs/ and all READMEs: their links lead somewhere, their blocks can be read, their commands exist."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import typer
import yaml

from r_eval.cli.app import app
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
def test_every_block_of_a_page_can_be_read(page: Path) -> None:
    for kind, text in documents.blocks(page):
        if kind == "python":
            compile(text, named(page), "exec")
        elif kind == "yaml":
            assert yaml.safe_load(text) is not None
        elif kind == "json":
            assert values(text)


def values(text: str) -> list[object]:
    """JSON values, one after the other: a file of lines, or one value over several."""
    found: list[object] = []
    while text.strip():
        value, end = json.JSONDecoder().raw_decode(text.lstrip())
        found, text = [*found, value], text.lstrip()[end:]
    return found


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_of_a_page_is_one_with_the_options_that_it_has(page: Path) -> None:
    group = typer.main.get_command(app)
    for line in lines(page):
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


def lines(page: Path) -> list[str]:
    """The commands of a page, those that are run by a test of their own among them."""
    shown = [line for kind, text in documents.blocks(page) if kind == "sh" for line in text.splitlines()]
    return [*shown, *(command.line for command in documents.commands(page))]
