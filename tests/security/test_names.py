"""A name in a grid that can be no path is refused in words or is no path; one that a command prints can be pasted."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from r_eval.errors import UserError
from r_eval.grid import Grid
from r_eval.runner.plan import resolve
from tests.commands import typed_here

NAMES = {"too long": "東京 " * 120, "of nobody": "~no-such-user/file", "a NUL": "a\0b", "half a pair": "\ud800"}
PLACES: dict[str, dict[str, Any]] = {
    "an LLM of llama.cpp": {"llms": ["gguf/{}"]},
    "an LLM of transformers": {"llms": ["hf/./{}"]},
    "a scripted LLM": {"llms": ["scripted/{}.py:reply"]},
    "a setting of an LLM": {"llms": [{"llm": "openai/x", "base_url": "{}"}]},
    "a workflow": {"workflows": ["{}.py:Own"]},
    "questions": {"tasks": [{"task": "own", "questions": "{}.jsonl", "environment": "wiki"}]},
    "an environment": {"tasks": [{"task": "aminer/soay-easy", "environment": "{}.py:Own"}]},
    "an OpenAPI document": {"tasks": [{"task": "aminer/soay-easy", "environment": "openapi:{}"}]},
    "documents": {
        "tasks": [{"task": "aminer/soay-easy", "environment": {"environment": "corpus", "documents": ["{}"]}}]
    },
    "a ZIM file": {
        "tasks": [{"task": "aminer/soay-easy", "environment": {"environment": "wiki", "source": "zim", "zim": "{}"}}]
    },
}


@pytest.mark.parametrize("place", sorted(PLACES))
@pytest.mark.parametrize("name", sorted(NAMES))
def test_it_raises_nothing_but_an_error_for_people(name: str, place: str) -> None:
    keys = {"llms": ["openai/x"], "workflows": ["direct"], "tasks": ["aminer/soay-easy"], "samples": 1}
    named = json.loads(json.dumps(PLACES[place]).replace("{}", json.dumps(NAMES[name])[1:-1]))
    grid = Grid(**{**keys, **named})
    with contextlib.suppress(UserError):
        for llm in resolve(grid, None).llms.values():
            llm.fetch()


@pytest.mark.parametrize(
    "command", ["check", "compare", "doctor", "data leaderboard", "report", "run", "score", "show"]
)
def test_a_command_refuses_one_that_is_too_long(command: str, tmp_path: Path) -> None:
    further = {"data leaderboard": ["--out", "board"], "show": ["id"]}.get(command, [])
    done = typed_here([*command.split(), NAMES["too long"], *further], tmp_path)
    assert done.returncode in (1, 2)
    assert "internal error" not in done.stderr


TEMPLATE = "{id: t, level: KS, from: country, where: 'False', question: 'Is {{ country.name }}?', program: answer = 1}"


@pytest.mark.parametrize(
    ("command", "status"),
    [("show '東 京'", 0), ("show '東 京' zzz", 2), ("doctor '東 京.yaml'", 1), ("generate '東 京.t' --out x.jsonl", 2)],
)
def test_a_command_that_is_suggested_is_one_for_the_shell(
    command: str, status: int, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "東 京").symlink_to(good)
    (tmp_path / "東 京.yaml").write_text(
        "llms: [gguf/smollm2-135m]\nworkflows: [direct]\ntasks: [wiki/high-freq]\n", "utf-8"
    )
    (tmp_path / "東 京.t").write_text(f"environment: wiki\ntemplates: [{TEMPLATE}]\n", encoding="utf-8")
    done = typed_here(shlex.split(command), tmp_path)
    assert done.returncode == status, done.stderr
    path = shlex.quote(shlex.split(command)[1])
    assert re.search(rf"r-eval \w+ {re.escape(path)}", done.stdout + done.stderr)
