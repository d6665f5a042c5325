"""examples/: each runs by its own commands, and shows what it is there to show. Functions replace its LLMs."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from r_eval import Run, load_run
from r_eval.analysis.leaderboard import board_rows, standings
from r_eval.folder import RunFolder
from r_eval.grid import Grid
from r_eval.llms.base import Reply, Request, ToolCall
from r_eval.tasks.questions import read_questions
from r_eval.tasks.seasons import read_season
from r_eval.workflows.agent import Agent
from r_eval.workflows.base import Limits
from tests import documents
from tests.commands import table_rows
from tests.workflow_contract import Pantry, Talker, played

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


def lines(path: Path, task: str = "") -> dict[str, dict[str, str]]:
    """The lines of a table, or of a task in it, by system."""
    return {line["system"]: line for line in table_rows(path) if task in ("", line.get("task"))}


def ran(example: str, folder: Path, **changes: object) -> Run:
    """The run of an example's grid with other keys."""
    keys = yaml.safe_load((EXAMPLES / example).read_text(encoding="utf-8")) | changes
    (folder / "grid.yaml").write_text(yaml.safe_dump(keys, sort_keys=False), encoding="utf-8")
    done = documents.typed("r-eval run grid.yaml --out run", folder)
    assert done.returncode == 0, done.stderr
    return load_run(folder / "run")


def scripted(*names: str) -> list[dict[str, str]]:
    """LLMs that read what they are given, look it up, or know the answer beforehand."""
    return [{"llm": f"scripted/{Path(__file__).parent / 'knowing_llms.py'}:{name}", "name": name} for name in names]


def test_under_counterfactual_who_remembers_leaks_and_who_looks_it_up_is_faithful(tmp_path: Path) -> None:
    exclude = [{"llm": "looks_up", "workflow": name} for name in ("react", "direct")]
    run = ran("counterfactual.yaml", tmp_path, llms=scripted("remembers", "looks_up"), exclude=exclude, samples=4)
    clean = [episode for episode in run.episodes() if episode.condition == "clean"]
    assert clean
    assert all(episode.answer.casefold() == episode.golds[0].casefold() for episode in clean)
    systems = lines(run.path / "report" / "tables" / "faithful.csv", "all tasks")
    assert len(systems) == 4
    for system, line in systems.items():
        assert float(line["leaked" if "remembers" in system else "faithful"]) == float(line["answers"]) > 0


def test_with_placeholders_who_reads_is_right_in_every_variant_who_remembers_in_one(tmp_path: Path) -> None:
    tables = ran("placeholder.yaml", tmp_path, llms=scripted("reads", "recalls")).path / "report" / "tables"
    systems = lines(tables / "stability.csv", "all tasks")
    line = systems["direct+reads"]
    assert (line["samples"], float(line["all_right_share"]), float(line["all_wrong_share"])) == ("9", 1.0, 0.0)
    assert float(systems["direct+recalls"]["all_right_share"]) == 0.0
    assert float(systems["direct+recalls"]["right_of_partly_share"]) == pytest.approx(1 / 3, abs=0.04)
    assert {"direct+reads", "rag+recalls"} <= set(lines(tables / "placeholder_scores.csv"))


def test_the_grid_about_what_a_score_does_not_say_gives_the_tables_of_its_page(tmp_path: Path) -> None:
    (tmp_path / "llm.py").write_text(documents.LLM, encoding="utf-8")
    run = ran("beyond-accuracy.yaml", tmp_path, llms=["scripted/llm.py:reply"], samples=2)
    page = (ROOT / "docs" / "beyond-accuracy.md").read_text(encoding="utf-8")
    assert "table `faithful`" in page
    assert lines(run.path / "report" / "tables" / "faithful.csv")
    for file in ("beyond-accuracy.yaml", "placeholder.yaml"):
        assert f"r-eval run examples/{file}" in page


@pytest.mark.parametrize("retrievers", [["bm25"], ["bm25", "dense", "rrf"]], ids=["bm25", "all"])
def test_every_pipeline_of_the_sweep_reads_as_many_passages_as_it_says(tmp_path: Path, retrievers: list[str]) -> None:
    pytest.importorskip("langchain_text_splitters", reason="extra: retrieval")
    if "dense" in retrievers:
        pytest.importorskip("sentence_transformers", reason="extra: dense")
    vary = yaml.safe_load((EXAMPLES / "rag-sweep" / "sweep.yaml").read_text(encoding="utf-8"))["vary"]
    assert [len(values) for values in vary.values() if isinstance(values, list)] == [2, 3, 2]
    (tmp_path / "llm.py").write_text(documents.LLM, encoding="utf-8")
    changes = {"llms": ["scripted/llm.py:reply"], "vary": vary | {"environment.retriever": retrievers}, "samples": 1}
    episodes = list(ran("rag-sweep/sweep.yaml", tmp_path, **changes).episodes())
    assert len(episodes) == 4 * len(retrievers)
    for episode in episodes:
        (ids,) = [step.retrieved_ids for step in episode.steps if step.kind == "call"]
        assert len(ids or []) == (2 if "top_k=2" in episode.workflow else 4)


@pytest.mark.parametrize(("job", "name"), [("domain", "trams"), ("grid", "grid"), ("reports", "reports")])
def test_a_job_ends_in_a_page_and_its_oracle_is_right(tmp_path: Path, job: str, name: str) -> None:
    folder = tmp_path / job
    shutil.copytree(EXAMPLES / "jobs" / job, folder, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    documents.follow(folder / "README.md", folder)
    run = load_run(folder / "runs" / name)
    assert run.state == "complete"
    assert (run.path / "report" / "index.html").is_file()
    assert set(run.to_pandas().query("role == 'reference'")["score"]) == {1.0}


def test_the_script_of_the_grid_is_its_file() -> None:
    script = runpy.run_path(str(EXAMPLES / "jobs" / "grid" / "script.py"))["grid"]()
    file = Grid.load(EXAMPLES / "jobs" / "grid" / "grid.yaml")
    assert script.model_dump(exclude={"folder"}) == file.model_dump(exclude={"folder"})


# Agents

AGENTS = sorted(path.name for path in (EXAMPLES / "agents").iterdir() if path.suffix in (".py", ".mjs"))
PYTHON = os.environ.get("R_EVAL_AGENTS_PYTHON", sys.executable)


def calling(request: Request) -> Reply:
    """Two calls at once, then the answer, as a call where the agent wants it so."""
    if any("egg" in message.content for message in request.messages[2:]):
        if "final_answer" in (tool.name for tool in request.tools):
            return Reply("", (ToolCall("", "final_answer", {"answer": "omelette"}),), "tool_calls")
        return Reply("omelette")
    calls = (ToolCall("", "find_dish", {"name": "ome"}), ToolCall("", "ingredients", {"dish": "omelette"}))
    return Reply("I look.", calls, "tool_calls")


def missing(file: str) -> str:
    """What an agent needs and is not installed."""
    if file.endswith(".mjs"):
        return "" if shutil.which("node") else "node"
    tree = ast.walk(ast.parse((EXAMPLES / "agents" / file).read_text(encoding="utf-8")))
    modules = sorted({(node.module or "").partition(".")[0] for node in tree if isinstance(node, ast.ImportFrom)})
    code = f"import importlib.util; print(*(m for m in {modules} if importlib.util.find_spec(m) is None))"
    return subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("file", AGENTS)
def test_an_agent_looks_things_up_and_answers(file: str) -> None:
    pytest.importorskip("mcp", reason="extra: mcp")
    if lacking := missing(file):
        pytest.skip(f"{file} needs {lacking}, which {PYTHON} lacks")
    program = "node" if file.endswith(".mjs") else PYTHON
    agent = Agent(command=[program, str(EXAMPLES / "agents" / file)])
    episode = played(agent, Talker(calling), Pantry(), Limits())
    assert (episode.answer, episode.outcome.kind) == ("omelette", "finished"), episode.outcome
    calls = [(step.api, step.error) for step in episode.steps if step.kind == "call"]
    assert sorted(calls) == [("find_dish", None), ("ingredients", None)]


# News: two seasons and their leaderboard

VERSIONS = ("1.0.0", "1.1.0")
TYPES = {"simple", "set", "multi-hop", "conditional", "comparison"}


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder after the commands of its README; without `rrf` where that is not installed, as the README says."""
    pytest.importorskip("langchain_text_splitters", reason="extra: retrieval")
    folder = tmp_path_factory.mktemp("desk") / "news"
    shutil.copytree(EXAMPLES / "news-seasons", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for grid in folder.glob("grid-*.yaml"):
        if importlib.util.find_spec("sentence_transformers") is None:
            keys = yaml.safe_load(grid.read_text(encoding="utf-8"))
            keys["vary"]["environment.retriever"].remove("rrf")
            grid.write_text(yaml.safe_dump(keys, sort_keys=False), encoding="utf-8")
    return documents.follow(folder / "README.md", folder)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_season_has_all_types_two_languages_and_a_public_half_without_answers(news: Path, version: str) -> None:
    questions = read_questions(news / f"private-{version}.jsonl")
    assert {question.meta["type"] for question in questions} == TYPES
    assert any("мэр" in question.question for question in questions)
    reports = {path.name for path in (news / ("march" if version == "1.0.0" else "april")).iterdir()}
    assert all(set(question.meta["text_ids"]) <= reports for question in questions)
    public = (news / f"public-{version}.jsonl").read_text(encoding="utf-8").splitlines()
    assert {key for line in public for key in json.loads(line)} == {"id", "question"}
    seasons = [read_season(news / f"public-{version}.jsonl")]
    seasons += [read_season(news / "runs" / f"season-{version}" / "questions" / "news.jsonl")]
    versions = [(season.version, season.seed is None, season.count) for season in seasons if season is not None]
    assert versions == [(version, True, 25), (version, False, 25)]


def test_the_board_has_every_system_on_its_versions(news: Path) -> None:
    board = table_rows(news / "board" / "tables" / "leaderboard.csv")
    assert {line["version"] for line in board if line["llm"] == "careful"} == set(VERSIONS)
    assert {line["version"] for line in board if line["llm"] == "hasty"} == {"1.0.0"}
    assert all(0 < float(line["generation_score"]) < 1 for line in board)
    rows = board_rows([RunFolder(path) for path in sorted(news.glob("runs/*"))])
    assert set(standings(rows)["llm"]) == {"careful", "hasty"}


def test_a_submission_is_on_the_board_with_what_it_lacks(news: Path) -> None:
    page = ROOT / "docs" / "leaderboard.md"
    first = read_questions(news / "private-1.1.0.jsonl")[0]
    text = documents.block(page, "json", "PUBLIC_ID").replace("PUBLIC_ID", first.id)
    (news / "north-wind.json").write_text(text.replace("PUBLIC_ANSWER", first.answers[0]), encoding="utf-8")
    documents.follow(page, news)
    line = lines(news / "board" / "tables" / "leaderboard.csv")["north-wind"]
    assert (line["version"], line["questions"], line["missing"]) == ("1.1.0", "25", "24")
    assert float(line["generation_score"]) == pytest.approx(0.04)
