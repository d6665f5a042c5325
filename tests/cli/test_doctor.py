"""r-eval doctor, with and without a grid."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.chat_server import Server, good
from tests.cli.test_commands import typed

Typed = Callable[..., CompletedProcess[str]]

GRID = """name: looked-at
llms:
  - {{llm: openai/model, base_url: "{url}", api_key_env: THE_KEY}}
workflows: [react]
tasks: [wiki/high-freq, aminer/soay-easy]
"""


@pytest.fixture
def r_eval(tmp_path: Path) -> Typed:
    """Type a command in an empty folder."""
    return lambda *words, **environment: typed(tmp_path, *words, **environment)


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that answers, in a thread of its own."""
    served, loop = Server(good()), asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    runner = asyncio.run_coroutine_threadsafe(served.start(), loop).result()
    yield served
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
    loop.call_soon_threadsafe(loop.stop)


@pytest.fixture
def grid(tmp_path: Path) -> Callable[[str], Path]:
    def write(url: str) -> Path:
        (tmp_path / "grid.yaml").write_text(GRID.format(url=url), encoding="utf-8")
        return tmp_path / "grid.yaml"

    return write


def test_it_says_what_is_there_and_what_to_type_next(r_eval: Typed, tmp_path: Path) -> None:
    done = r_eval("doctor", XDG_CACHE_HOME=str(tmp_path / "cache"), HOME=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    first, *_, last = done.stdout.splitlines()
    assert re.match(r"r-eval \d+\.\d+\.\d+, Python 3\.\d+", first)
    assert re.search(r"^missing  model smollm2-135m: .*cache.*; r-eval pull smollm2-135m$", done.stdout, re.MULTILINE)
    assert re.match(r"next: (r-eval pull|pip install) ", last)


def test_it_writes_nothing(r_eval: Typed, tmp_path: Path) -> None:
    r_eval("doctor", XDG_CACHE_HOME=str(tmp_path / "cache"), HOME=str(tmp_path))
    assert not (tmp_path / "cache").exists()


def test_a_grid_whose_server_answers_is_to_be_run(r_eval: Typed, grid: Callable[[str], Path], server: Server) -> None:
    path = grid(server.url)
    done = r_eval("doctor", str(path), THE_KEY="of-no-use")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ok       openai/model answers\n" in done.stdout
    assert done.stdout.endswith(f"next: r-eval run {path}\n")


def test_a_server_that_is_not_there_is_named(r_eval: Typed, grid: Callable[[str], Path]) -> None:
    done = r_eval("doctor", str(grid("http://127.0.0.1:9/v1")))
    assert done.returncode == 1
    assert "wrong    openai/model: no server answers at http://127.0.0.1:9/v1/chat/completions" in done.stdout
    assert done.stdout.endswith("next: mend what is named above\n")


def test_a_key_that_is_missing_is_to_be_set(r_eval: Typed, grid: Callable[[str], Path]) -> None:
    path = grid("x")
    path.write_text(path.read_text(encoding="utf-8").replace('base_url: "x", ', ""), encoding="utf-8")
    done = r_eval("doctor", str(path))
    assert done.returncode == 1
    assert done.stdout.endswith("next: export THE_KEY=...\n")


def test_the_key_is_not_printed(r_eval: Typed, grid: Callable[[str], Path]) -> None:
    done = r_eval("doctor", str(grid("http://127.0.0.1:9/v1")), "--json", THE_KEY="sk-0123456789")
    assert "sk-0123456789" not in done.stdout + done.stderr
    assert json.loads(done.stdout)["checks"][0]["status"] == "ok"


def test_a_file_of_a_model_that_is_missing_is_named(r_eval: Typed, tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text(
        "name: g\nllms: [gguf/none.gguf]\nworkflows: [direct]\ntasks: [wiki/high-freq]\n", encoding="utf-8"
    )
    done = r_eval("doctor", str(tmp_path / "grid.yaml"))
    assert done.returncode == 1
    assert "there is no file none.gguf" in done.stdout


def test_a_grid_that_is_wrong_ends_with_2(r_eval: Typed, grid: Callable[[str], Path]) -> None:
    path = grid("http://127.0.0.1:9/v1")
    path.write_text(path.read_text(encoding="utf-8").replace("high-freq", "hihg-freq"), encoding="utf-8")
    done = r_eval("doctor", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "Did you mean wiki/high-freq?" in done.stderr
