"""The commands as they are typed: real processes in a folder of their own, judged by what they print and end with."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval import __version__
from r_eval.cli.transcript import transcript
from r_eval.records import Episode
from tests.timing import of_children, quickest

R_EVAL = Path(sys.executable).with_name("r-eval")
HEAVY = {"torch", "transformers", "langchain", "pandas", "matplotlib", "numpy", "scipy", "xllamacpp"}
HOSTILE = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \u202egnp.exe\u202c \u200bzero\r[bold]markup[/bold] \u2066x\x9b2J"
LLM = """
import json

HOSTILE = {hostile!a}

def reply(request):
    if request.messages[-1].content.startswith("Question:"):
        return "Thought: " + HOSTILE + chr(10) + "Action: searchPerson(name=" + json.dumps(HOSTILE) + ")"
    return "Action: Finish[" + HOSTILE + "]"

def steady(request):
    return "Action: Finish[Ada]"
""".replace("{hostile!a}", ascii(HOSTILE))
GRID = """
llms: [{llm: scripted/./llm.py:reply, name: hostile}, {llm: scripted/./llm.py:steady, name: steady}]
workflows: [react, oracle]
tasks: [aminer/soay-easy, aminer/soay-hard]
samples: 3
shots: 1
"""

Typed = Callable[..., subprocess.CompletedProcess[str]]


def typed(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(R_EVAL), *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


@pytest.fixture
def r_eval(tmp_path: Path) -> Typed:
    """Type a command in an empty folder."""
    return lambda *words, **environment: typed(tmp_path, *words, **environment)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a grid that was run."""
    path = tmp_path_factory.mktemp("ran")
    (path / "llm.py").write_text(LLM, encoding="utf-8")
    (path / "grid.yaml").write_text(GRID, encoding="utf-8")
    done = typed(path, "run", "grid.yaml")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    return path


def episodes(folder: Path, system: str = "") -> list[dict[str, Any]]:
    files = sorted((folder / "runs" / "grid" / "episodes").rglob("*.jsonl"))
    return [json.loads(line) for f in files if system in str(f) for line in f.read_text("utf-8").split("\n")[:-1]]


# Help and start


def test_help_names_every_command_of_the_first_piece(r_eval: Typed) -> None:
    for words in ([], ["--help"], ["-h"]):
        done = r_eval(*words)
        shown = done.stdout + done.stderr
        for name in ("demo", "run", "score", "report", "show", "call", "pull", "list", "doctor"):
            assert re.search(rf"^\W*{name}\b", shown, re.MULTILINE), name
    assert r_eval("--help").returncode == 0


def test_the_version_is_the_packages(r_eval: Typed) -> None:
    assert r_eval("--version").stdout.strip() == __version__


@pytest.mark.parametrize(
    "code",
    [
        "import r_eval",
        "import r_eval; r_eval.Grid; r_eval.run; r_eval.load_run",
        "from r_eval.cli.app import app; app(['--help'], standalone_mode=False)",
        "from r_eval.cli.app import app; app(['run', '--help'], standalone_mode=False)",
        "from r_eval.cli.app import app; app(['list', 'tasks'], standalone_mode=False)",
    ],
)
def test_nothing_heavy_is_loaded(code: str, tmp_path: Path) -> None:
    assert HEAVY & loaded(code, tmp_path) == set()


def test_importing_r_eval_loads_none_of_its_own_dependencies(tmp_path: Path) -> None:
    assert {"pydantic", "yaml", "typer", "rich", "aiohttp", "asyncio"} & loaded("import r_eval", tmp_path) == set()


def loaded(code: str, folder: Path) -> set[str]:
    """The packages that a fresh interpreter has loaded after some code."""
    code += "\nimport sys\nsys.stderr.write(' '.join({name.partition('.')[0] for name in sys.modules}))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=True)
    return set(done.stderr.split())


def test_help_takes_less_than_half_a_second_of_processor_time(r_eval: Typed) -> None:
    assert quickest(lambda: r_eval("--help"), enough=0.5, clock=of_children) < 0.5


# list


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("workflows", {"react", "pal", "dfsdt", "fc", "direct", "oracle"}),
        ("llms", {"gguf/...", "openai/...", "scripted/...", "gguf/smollm2-135m"}),
        ("environments", {"aminer", "corpus", "wiki"}),
        ("tasks", {"wiki/high-freq", "wiki/hotpotqa", "aminer/soay-easy", "aminer/soay-hard"}),
        ("conditions", {"clean"}),
        ("metrics", {"token_f1", "token_f1_published", "exact_match"}),
    ],
)
def test_list_shows_every_name_and_the_same_as_json(r_eval: Typed, kind: str, expected: set[str]) -> None:
    plain, data = r_eval("list", kind), r_eval("list", kind, "--json")
    assert (plain.returncode, plain.stderr, data.returncode, data.stderr) == (0, "", 0, "")
    rows = json.loads(data.stdout)
    assert expected <= {row["name"] for row in rows}
    assert all(value != "" for row in rows for value in row.values())
    lines = plain.stdout.splitlines()
    assert len(lines) == len(rows)
    assert all(row["name"] in line.split() for row, line in zip(rows, lines, strict=True))


def test_list_tasks_says_id_level_and_number(r_eval: Typed) -> None:
    rows = json.loads(r_eval("list", "tasks", "--json").stdout)
    easy = next(row for row in rows if row["name"] == "aminer/soay-easy")
    assert (easy["id"], easy["level"], easy["questions"]) == ("1-3", "KS", 40)
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)


# call


def test_call_prints_what_a_model_would_see(r_eval: Typed) -> None:
    done = r_eval("call", "aminer", "searchPerson", "name=Antti Andersen")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Andersen" in done.stdout
    assert re.search(r"^\d+ results?\.$", done.stdout, re.MULTILINE)


def test_call_reads_a_page_of_the_wiki(r_eval: Typed) -> None:
    done = r_eval("call", "wiki", "Search", "entity=Kenya")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Nairobi" in done.stdout


def test_call_gives_json(r_eval: Typed) -> None:
    data = json.loads(r_eval("call", "aminer", "searchPerson", "name=Antti Andersen", "--json").stdout)
    assert set(data) == {"observation", "value", "error"}
    assert data["error"] is None
    assert all("Andersen" in person["name"] for person in data["value"])


@pytest.mark.parametrize(
    ("words", "said", "kind"),
    [
        (["searchPersn", "name=x"], "There is no API named 'searchPersn'. Did you mean searchPerson?", "unknown_api"),
        (["searchPerson", "nam=x"], "searchPerson has no argument 'nam'. Did you mean 'name'?", "bad_arguments"),
        (["getPersonInterest"], "getPersonInterest needs the argument 'person_id'", "bad_arguments"),
        (["getPersonInterest", "person_id=0"], "0", "not_found"),
    ],
)
def test_call_ends_with_1_where_the_observation_is_an_errors(
    r_eval: Typed, words: list[str], said: str, kind: str
) -> None:
    done = r_eval("call", "aminer", *words)
    assert (done.returncode, done.stderr) == (1, "")
    assert said in done.stdout
    assert json.loads(r_eval("call", "aminer", *words, "--json").stdout)["error"] == kind


def test_call_takes_an_environment_from_a_file_and_its_failure_is_one_line(r_eval: Typed, tmp_path: Path) -> None:
    code = """
from r_eval.environments.base import Environment, query_api

class Pantry(Environment):
    '''Dishes.'''

    @query_api
    def count(self, dish: str, times: int = 1) -> int:
        '''Count the letters of a dish.'''
        return len(dish) * times

    @query_api
    def broken(self) -> str:
        '''Fail.'''
        return {}["nothing"]
"""
    (tmp_path / "pantry.py").write_text(code, encoding="utf-8")
    assert r_eval("call", "./pantry.py:Pantry", "count", "dish=a=b", "times=2").stdout == "6\n"
    failed = r_eval("call", "./pantry.py:Pantry", "broken")
    assert (failed.returncode, failed.stderr) == (1, "")
    assert failed.stdout == "broken failed: KeyError: 'nothing'\n"


# run


def test_run_prints_tables_and_paths_on_standard_output_and_progress_on_standard_error(folder: Path) -> None:
    done = typed(folder, "run", "grid.yaml")
    assert done.returncode == 0
    assert "oracle+none" in done.stdout
    assert "react+steady" in done.stdout
    assert re.search(r"^Best      .*\nFailures  .*\nMoney     ", done.stdout, re.MULTILINE)
    assert "Episodes  runs/grid\nReport    runs/grid/report/index.html\n" in done.stdout
    assert "18 episodes of 3 systems, 18 of them recorded before" in done.stderr
    assert "18 episodes" not in done.stdout
    assert (folder / "runs" / "grid" / "report" / "index.html").is_file()


def test_progress_comes_in_plain_lines_without_a_terminal(r_eval: Typed, folder: Path, tmp_path: Path) -> None:
    done = typed(folder, "run", "grid.yaml", "--out", str(tmp_path / "again"))
    assert "\x1b" not in done.stdout + done.stderr
    assert re.search(r"^steady: 6 of 6, mean score [\d.]+, .* tokens/s, done$", done.stderr, re.MULTILINE)


def test_quiet_says_nothing_of_the_progress(folder: Path) -> None:
    assert typed(folder, "run", "grid.yaml", "--quiet").stderr == ""


def test_run_gives_json_and_nothing_else(folder: Path) -> None:
    done = typed(folder, "run", "grid.yaml", "--json", "--quiet")
    printed = json.loads(done.stdout)
    assert set(printed.pop("spent")) == {"hostile", "steady"}
    assert printed == {
        "run": "runs/grid",
        "state": "complete",
        "outcomes": {"finished": 18},
        "report": "runs/grid/report/index.html",
    }


def test_limit_and_out_are_obeyed(folder: Path, tmp_path: Path) -> None:
    done = typed(folder, "run", "grid.yaml", "--limit", "1", "--out", str(tmp_path / "here"), "--json", "--quiet")
    assert json.loads(done.stdout)["outcomes"] == {"finished": 6}
    assert (tmp_path / "here" / "run.json").is_file()


# score, report


def test_score_prints_tables_and_json(folder: Path) -> None:
    assert "oracle+none" in typed(folder, "score", "runs/grid").stdout
    data = json.loads(typed(folder, "score", "runs/grid", "--json").stdout)
    assert (data["run"], data["taxonomy"], data["episodes"], data["scored"]) == ("runs/grid", "strict", 18, 18)
    assert sum(data["types"].values()) == 18
    assert 1 / 3 <= data["mean"] < 1


def test_score_asks_for_further_metrics_another_taxonomy_and_threshold(folder: Path) -> None:
    words = ["score", "runs/grid", "--metric", "exact_match", "--metric", "token_f1_published"]
    done = typed(folder, *words, "--taxonomy", "published", "--match-threshold", "0.9", "--json")
    data = json.loads(done.stdout)
    assert (done.returncode, data["taxonomy"], data["threshold"]) == (0, "published", 0.9)
    path = next((folder / "runs" / "grid" / "scores").rglob("*.jsonl"))
    line = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert set(line["metrics"]) == {"exact_match", "token_f1_published"}
    assert line["taxonomy"] == "published"
    assert json.loads(typed(folder, "score", "runs/grid", "--json").stdout)["taxonomy"] == "strict"


def test_score_never_changes_the_episodes(folder: Path) -> None:
    before = {p: p.read_bytes() for p in (folder / "runs" / "grid" / "episodes").rglob("*") if p.is_file()}
    typed(folder, "score", "runs/grid", "--metric", "exact_match")
    assert before == {p: p.read_bytes() for p in (folder / "runs" / "grid" / "episodes").rglob("*") if p.is_file()}


def test_report_ends_with_the_path_of_its_page(folder: Path, tmp_path: Path) -> None:
    done = typed(folder, "report", "runs/grid", "--out", str(tmp_path / "r"))
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["Best", "Failures", "Money", "Report"]
    assert done.stdout.endswith(f"\nReport    {tmp_path / 'r' / 'index.html'}\n")
    with (tmp_path / "r" / "tables" / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["system"] for row in rows} == {"react+hostile", "react+steady", "oracle+none"}


def test_a_report_without_figures_is_a_page_and_tables(folder: Path) -> None:
    done = typed(folder, "report", "runs/grid", "--no-figures")
    assert done.stdout.endswith("\nReport    runs/grid/report/index.html\n")
    assert not list((folder / "runs" / "grid" / "report").rglob("*.pdf"))


# show


def test_show_takes_the_beginning_of_an_id(folder: Path) -> None:
    wanted = episodes(folder, "react+steady")[0]
    every = [e["episode_id"] for e in episodes(folder)]
    start = next(n for n in range(1, 17) if sum(i.startswith(wanted["episode_id"][:n]) for i in every) == 1)
    for key in (wanted["episode_id"][:start], wanted["episode_id"]):
        done = typed(folder, "show", "runs/grid", key)
        assert (done.returncode, done.stderr) == (0, "")
        assert wanted["episode_id"] in done.stdout
        assert "answer  Ada" in re.sub(r"\s+", " ", done.stdout).replace("answer Ada", "answer  Ada")
        assert re.search(r"finished\ntoken_f1 \d+\.\d, response type (RE|EM|GE|AM)", done.stdout)


def test_show_refuses_an_ambiguous_or_unknown_beginning(folder: Path) -> None:
    ambiguous, unknown = typed(folder, "show", "runs/grid", ""), typed(folder, "show", "runs/grid", "zzz")
    assert (ambiguous.returncode, ambiguous.stdout) == (2, "")
    assert re.fullmatch(r"r-eval: 18 episodes begin with .*: (\w{16}, ){4}\w{16}, \.\.\.\n", ambiguous.stderr)
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "runs/grid has no episode zzz" in unknown.stderr


def test_show_makes_hostile_text_harmless(folder: Path) -> None:
    wanted = episodes(folder, "react+hostile")[0]
    assert any(step["text"] == HOSTILE for step in wanted["steps"]), "the record holds what the model wrote"
    done = typed(folder, "show", "runs/grid", wanted["episode_id"], FORCE_COLOR="1", TERM="xterm-256color")
    assert done.returncode == 0
    plain = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", plain)
    folded = plain.replace("\n", "")
    for visible in ("\\u001b[31mred", "\\u202egnp.exe", "\\u200bzero", "\\u000d[bold]markup[/bold]", "\\u009b2J"):
        assert visible in folded, visible
    assert "\x1b[31mred" not in done.stdout


def test_no_field_of_an_episode_acts_on_the_terminal() -> None:
    texts = ("episode_id", "question_id", "task", "domain", "workflow", "llm", "condition", "question", "answer")
    steps = [
        {"kind": "call", "api": HOSTILE, "arguments": {HOSTILE: HOSTILE}, "observation": HOSTILE, "error": HOSTILE},
        *({"kind": kind, "text": HOSTILE, "error": HOSTILE} for kind in ("thought", "observation", "answer")),
    ]
    outcome = {"kind": "exhausted", "cause": HOSTILE, "detail": HOSTILE}
    record = {**dict.fromkeys(texts, HOSTILE), "level": "KS", "golds": [HOSTILE], "outcome": outcome, "steps": steps}
    score = {"score": 0.5, "metric": HOSTILE, "response_type": "RE", "undecided": False}
    shown = transcript(Episode.model_validate(record), score).plain
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", shown)
    assert shown.count("[bold]markup[/bold]") >= 12


# Mistakes, and how a command ends

WRONG: dict[str, tuple[list[str], str]] = {
    "no such command": (["rnu"], "rnu"),
    "no such option": (["run", "grid.yaml", "--limt", "3"], "--limt"),
    "no argument": (["run"], "GRID"),
    "a word for a number": (["run", "grid.yaml", "--limit", "many"], "'--limit'"),
    "a limit of none": (["run", "grid.yaml", "--limit", "0"], "'--limit'"),
    "no such engine": (["run", "grid.yaml", "--engine", "warp"], "unknown engine 'warp'"),
    "no such grid": (["run", "nowhere.yaml"], "nowhere.yaml: no such grid file"),
    "no such kind": (["list", "taks"], "unknown kind 'taks'. Did you mean tasks?"),
    "no such environment": (["call", "wikki", "Search"], "unknown environment 'wikki'. Did you mean wiki?"),
    "no such file": (["call", "./gone.py:Gone", "count"], "gone.py: no such file"),
    "not a pair": (["call", "aminer", "searchPerson", "Ada"], "'Ada': expected key=value"),
    "no such run to score": (["score", "nowhere"], "nowhere is not a run"),
    "no such run to report": (["report", "nowhere"], "nowhere"),
    "no such run to show": (["show", "nowhere", "x"], "nowhere is not a run"),
    "no such model": (["pull", "smollm9"], "smollm9"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_command_ends_with_2_and_one_message(r_eval: Typed, tmp_path: Path, mistake: str) -> None:
    words, said = WRONG[mistake]
    done = r_eval(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--metric", "f2"], "unknown metric 'f2'"),
        (["--taxonomy", "loose"], "no taxonomy is called 'loose'; there are strict and published"),
        (["--match-threshold", "7"], "'--match-threshold'"),
    ],
)
def test_a_wrong_scoring_ends_with_2(folder: Path, words: list[str], said: str) -> None:
    done = typed(folder, "score", "runs/grid", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_debug_shows_the_traceback_wherever_it_stands(r_eval: Typed) -> None:
    for words in (["--debug", "score", "nowhere"], ["score", "--debug", "nowhere"], ["score", "nowhere", "--debug"]):
        done = r_eval(*words)
        assert done.returncode != 0
        assert "Traceback" in done.stderr
        assert "nowhere is not a run" in done.stderr


def test_an_internal_error_is_one_line_and_the_way_to_see_more(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import r_eval.cli.listing as l\nl.list_command = None\n", encoding="utf-8"
    )
    done = typed(folder, "list", "tasks", PYTHONPATH=str(tmp_path))
    assert done.returncode not in (0, 1, 2, 130)
    assert re.fullmatch(r"r-eval: internal error: TypeError: .* \(--debug shows where\)\n", done.stderr)


def test_an_incomplete_run_ends_with_1(r_eval: Typed, tmp_path: Path) -> None:
    code = (
        "from r_eval.llms.base import LLMError\ndef reply(request):\n    raise LLMError('server', 'no [bold]luck[/]')\n"
    )
    (tmp_path / "down.py").write_text(code, encoding="utf-8")
    grid = "llms: [scripted/./down.py:reply]\nworkflows: [direct]\ntasks: [aminer/soay-easy]\nsamples: 2\n"
    (tmp_path / "grid.yaml").write_text(grid, encoding="utf-8")
    done = r_eval("run", "grid.yaml")
    assert done.returncode == 1
    assert "the run is incomplete: 2 episodes failed" in done.stderr
    assert "2 x llm_failure (server): no [bold]luck[/]" in done.stderr
    assert "missing" in done.stdout
    data = r_eval("run", "grid.yaml", "--json", "--quiet")
    assert (data.returncode, json.loads(data.stdout)["state"]) == (1, "incomplete")


@pytest.mark.parametrize("words", [["call", "aminer", "searchPerson", "name=Burak Koç"], ["list", "tasks"], ["doctor"]])
def test_a_terminal_that_knows_only_ascii_is_no_obstacle(r_eval: Typed, words: list[str]) -> None:
    done = r_eval(*words, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", [["list", "metrics"], ["call", "aminer", "searchPerson", "name=Jonas"]])
def test_a_reader_that_went_away_is_told_nothing(r_eval: Typed, tmp_path: Path, words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run([str(R_EVAL), *words], cwd=tmp_path, stdout=gone, stderr=subprocess.PIPE, check=False)
    assert done.stderr == b""
