"""What docs/conditions.md says is so."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import yaml

from r_eval import Grid, plugins
from r_eval.environments.conditions.base import Condition
from r_eval.environments.conditions.combined import combine
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.runner.plan import resolve
from r_eval.seeds import Seeds
from tests.environments.conditions.shelves import BOOKS, QUESTION, Shelves

PAGE = Path(__file__).parents[1] / "docs" / "conditions.md"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_the_grid_of_the_page_resolves() -> None:
    plan = resolve(Grid(**yaml.safe_load(block("yaml"))))
    assert [cell.cell.condition for cell in plan.cells] == ["clean", "faulty", "very-faulty", "faulty+slow"]


def test_every_condition_and_its_defaults_stand_in_the_table() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \| .* \| (.*?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert {"clean", *plugins.names("conditions", Condition)} == {*rows, "clean"}
    for name in ("faulty", "slow", "noisy", "counterfactual"):
        given: dict[str, Any] = {}
        for setting in re.findall(r"`(\w+: [^`{]+)`", rows[name]):
            given |= yaml.safe_load(setting)
        assert given
        assert combine(name, [name], given).identity() == combine(name, [name], {}).identity()


def test_the_condition_of_the_page_works(tmp_path: Path) -> None:
    file = tmp_path / "capitals.py"
    file.write_text(block("python"), encoding="utf-8")
    condition = combine("capitals", [f"{file}:Capitals"], {})

    async def made() -> str:
        with Sandbox() as sandbox:
            environment = condition.environment(Shelves(), QUESTION, Seeds(0, "q1", 0))
            return (await Session(environment, sandbox).call(*BOOKS)).observation

    assert "ADA 0" in asyncio.run(made())
