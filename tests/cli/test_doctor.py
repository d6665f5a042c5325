"""`r-eval doctor`, with and without a grid."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from r_eval.llms import model_files
from tests.chat_server import Server, good
from tests.commands import typed_here
from tests.serving import serving

GRID = """name: looked-at
llms:
  - {{llm: openai/model, base_url: "{url}", api_key_env: THE_KEY}}
workflows: [react]
tasks: [wiki/high-freq, aminer/soay-easy]
"""
LOCAL = "name: g\nllms: [gguf/{model}]\nworkflows: [direct]\ntasks: [wiki/high-freq]\n"
DEAD = GRID.format(url="http://127.0.0.1:9/v1")


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("THE_KEY", raising=False)


def doctor(folder: Path, grid: str = "", *words: str, status: int = 0) -> str:
    """What is printed about a grid, or about what is installed."""
    if grid:
        (folder / "grid.yaml").write_text(grid, encoding="utf-8")
    done = typed_here(["doctor", *(["grid.yaml"] if grid else []), *words], folder)
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stderr == "" or status == 2
    return done.stderr if status == 2 else done.stdout


def test_it_says_what_is_there_and_what_to_type_next_and_writes_nothing(tmp_path: Path) -> None:
    first, *lines, last = doctor(tmp_path).splitlines()
    assert re.match(r"r-eval \d+\.\d+\.\d+, Python 3\.\d+", first)
    assert lines[-1].startswith("missing  model smollm2-135m: ")
    assert lines[-1].endswith("; r-eval doctor --fetch")
    assert re.match(r"next: (r-eval doctor --fetch|pip install) ?", last)
    assert list(tmp_path.iterdir()) == []


def test_a_grid_whose_server_answers_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", "of-no-use")
    with serving(Server(good()).app()) as address:
        text = doctor(tmp_path, GRID.format(url=f"{address}/v1"))
    assert "ok       openai/model answers\n" in text
    assert text.endswith("next: r-eval run grid.yaml\n")


def test_a_server_that_is_not_there_is_named_without_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", "sk-0123456789")
    text = doctor(tmp_path, DEAD, status=1)
    assert "wrong    openai/model: no server answers at http://127.0.0.1:9/v1/chat/completions" in text
    assert text.endswith("next: fix the items above\n")
    found = doctor(tmp_path, DEAD, "--json", status=1)
    assert json.loads(found)["checks"][0]["status"] == "ok"
    assert "sk-0123456789" not in text + found


@pytest.mark.parametrize("grid", ["", LOCAL.format(model="smollm2-135m")], ids=["alone", "of a grid"])
def test_fetch_fetches_the_embedded_models_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grid: str) -> None:
    fetched: list[str] = []

    def fetch(name: str) -> Path:
        fetched.append(name)
        path = model_files.model_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"GGUF")
        return path

    monkeypatch.setattr("r_eval.cli.doctor.fetch_model", fetch)
    if grid:
        assert doctor(tmp_path, grid, status=1).endswith("next: r-eval doctor grid.yaml --fetch\n")
    assert "ok       model smollm2-135m" in doctor(tmp_path, grid, "--fetch")
    assert fetched == ["smollm2-135m"]
