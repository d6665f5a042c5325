"""The pages are true: their commands run, in order, and print what a page says; their code gives what it says."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import importlib.util
import io
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from r_eval import Grid, load_run, run
from r_eval.analysis.metrics import published, qa
from r_eval.environments.conditions.combined import combine
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.runner.plan import resolve
from r_eval.seeds import Seeds
from r_eval.tasks.questions import read_questions
from tests import documents
from tests.analysis.conftest import episode, write_manifest
from tests.analysis.metrics.test_quest_eval import KENYA, Table
from tests.cli.test_compare import BETTER, KS
from tests.cli.test_compare import write as write_compared
from tests.environments.conditions.shelves import BOOKS, QUESTION, Shelves
from tests.serving import serving

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
README = ROOT / "README.md"
ELSEWHERE = {"leaderboard", "reproducing-the-paper"}
"""Pages whose commands tests/test_examples.py and tests/golden run."""
NEEDS = {
    "agents": "mcp",
    "corpus": "langchain_text_splitters",
    "crud": "langchain_text_splitters",
    "sweeps": "langchain_text_splitters",
    "sharing": "datasets",
    "quest-eval": "jieba",
}
COPIED = {
    "agents": {"examples/agents/plain.py": "plain.py"},
    "custom-workflow": {
        f"examples/{name}": f"examples/{name}" for name in ("reflect.py", "reflect.yaml", "test_reflect.py")
    },
    "questions": {"examples/wiki-graph.yaml": "wiki-graph.yaml"},
    "sharing": {"tasks/aminer/soay-easy.templates.yaml": "templates.yaml"},
}
"""Files of the repository that a page uses, and where it expects them."""
PAGES = [README, *(page for page in sorted(DOCS.glob("*.md")) if documents.commands(page))]


def prepare_crud(folder: Path) -> None:
    (folder / "80000_docs").mkdir()
    (folder / "80000_docs" / "documents_dup_part_1_part_1").write_text("鹭口大桥全长2340米。\n", encoding="utf-8")


def prepare_placeholders(folder: Path) -> None:
    data = folder / "prgb.jsonl"
    data.write_text(data.read_text(encoding="utf-8").replace("\n", " ") + "\n", encoding="utf-8")


def prepare_statistics(folder: Path) -> None:
    write_compared(folder / "runs" / "before", BETTER)
    write_compared(folder / "runs" / "after", {**BETTER, "pal": {KS: [1] * 29 + [0] * 11}})


def prepare_quest_eval(folder: Path) -> None:
    cell = Cell("rag", "m", "clean", "wiki/high-freq")
    writer = CellWriter(cell.path(RunFolder(folder / "runs" / "news").episodes_root))
    for number, answer in enumerate(["Nairobi was founded in 1899.", "The railway founded Nairobi.", "Nairobi"]):
        ids = {"episode_id": f"e{number}", "question_id": f"q{number}"}
        made = episode(**ids, workflow="rag", llm="m", golds=[KENYA], answer=answer)
        writer.append(made.model_dump_json(by_alias=True))
    writer.close()
    write_manifest(folder / "runs" / "news", [cell], 3)


PREPARE = {
    "crud": prepare_crud,
    "placeholders": prepare_placeholders,
    "quest-eval": prepare_quest_eval,
    "statistics": prepare_statistics,
}


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem not in ELSEWHERE], ids=lambda page: page.stem)
def test_every_command_of_a_page_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (package := NEEDS.get(page.stem)) is not None:
        pytest.importorskip(package)
    for variable in ("R_EVAL_CACHE", "HF_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "cache"))
    documents.write_files(page, tmp_path)
    for source, place in COPIED.get(page.stem, {}).items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / source, tmp_path / place)
    PREPARE.get(page.stem, lambda folder: None)(tmp_path)
    with contextlib.ExitStack() as stack:
        if page.stem == "quest-eval":
            url = stack.enter_context(serving(Table().app()))
            file = tmp_path / "evaluator.yaml"
            file.write_text(file.read_text(encoding="utf-8").replace("http://127.0.0.1:8000", url), encoding="utf-8")
        folder = documents.follow(page, tmp_path)
    for path in folder.glob("runs/*/run.json"):
        if page.stem in ("agents", "custom-domain", "custom-workflow", "corpus"):
            outcomes = {episode.outcome.kind for episode in load_run(path.parent).episodes()}
            assert not outcomes & {"llm_failure", "tool_failure"}, path
            assert (path.parent / "report" / "index.html").is_file()
    if page.stem == "sharing":
        (entry,) = yaml.safe_load(documents.block(page, "yaml", "./scholars"))["tasks"]
        grid = Grid(workflows=["oracle"], llms=["openai/m"], tasks=[entry], folder=tmp_path)
        assert [episode.outcome.kind for episode in run(grid, out=tmp_path / "run").episodes()] == ["finished"] * 20


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `runs/mine` that pages read."""
    folder = tmp_path_factory.mktemp("mine")
    (folder / "llm.py").write_text(documents.LLM, encoding="utf-8")
    llms = [f"scripted/{folder / 'llm.py'}:reply"]
    run(Grid(workflows=["react", "oracle"], llms=llms, tasks=["wiki/high-freq"], samples=2), out=folder / "runs/mine")
    return folder


@pytest.mark.parametrize("page", ["records", "sharing"])
def test_the_python_of_a_page_reads_a_run(mine: Path, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("pyarrow") is None:
        pytest.skip("pyarrow is not installed")
    monkeypatch.chdir(mine)
    printed(documents.block(DOCS / f"{page}.md", "python", "load_run"))


def printed(code: str, scope: dict[str, Any] | None = None) -> str:
    """What code prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "page", "exec"), {} if scope is None else scope)
    return out.getvalue()


def test_the_python_about_statistics_and_figure_6_gives_their_numbers() -> None:
    scope: dict[str, Any] = {}
    printed(documents.block(DOCS / "statistics.md", "python", "ScorePairs"), scope)
    assert scope["score"].mean == 0.75
    assert scope["comparison"].difference[0] == pytest.approx(1 / 3)
    assert printed(documents.block(DOCS / "quest-eval.md", "python", "red fox")) == "0.6666666666666666 0.75 0.5 0.5\n"


CALLS = documents.block(DOCS / "placeholders.md", "python", "covered_match").splitlines()


@pytest.mark.parametrize("line", [line for line in CALLS if "# " in line])
def test_each_call_of_covered_match_gives_what_its_comment_says(line: str) -> None:
    call, _, comment = line.partition("  # ")
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call)
    assert isinstance(tree.func, ast.Name)
    arguments = [ast.literal_eval(argument) for argument in tree.args]
    assert repr({**vars(qa), **vars(published)}[tree.func.id](*arguments)) == comment.partition(": ")[0]


def test_the_conditions_of_the_page_resolve_and_its_own_one_works(tmp_path: Path) -> None:
    page = DOCS / "conditions.md"
    plan = resolve(Grid(**yaml.safe_load(documents.block(page, "yaml", "conditions:"))))
    assert [cell.cell.condition for cell in plan.cells] == ["clean", "faulty", "very-faulty", "faulty+slow"]
    documents.write_files(page, tmp_path)
    condition = combine("capitals", [f"{tmp_path / 'capitals.py'}:Capitals"], {})

    async def observation() -> str:
        with Sandbox() as sandbox:
            environment = condition.environment(Shelves(), QUESTION, Seeds(0, "q1", 0))
            return (await Session(environment, sandbox).call(*BOOKS)).observation

    assert "ADA 0" in asyncio.run(observation())


def test_the_papers_protocol_changes_one_setting_at_a_time_within_1024_tokens(tmp_path: Path) -> None:
    documents.write_files(DOCS / "sweeps.md", tmp_path)
    vary = Grid.load(tmp_path / "paper.yaml").vary
    assert vary is not None
    variants = vary.variants("rag")
    assert len(variants) == 1 + 3 + 4 + 3 + 3 + 4
    for name, own in variants.items():
        changed = [key for key in variants["rag"] if own[key] != variants["rag"][key]]
        if name.startswith("rag@chunk_size="):
            assert own["environment.chunk_size"] * own["workflow.top_k"] == 1024
        else:
            assert len(changed) == (name != "rag")


def test_pages_show_files_as_they_are() -> None:
    on_page = [block for _, block in documents.blocks(DOCS / "custom-workflow.md")]
    for name in ("reflect.py", "reflect.yaml"):
        assert (EXAMPLES / name).read_text(encoding="utf-8") in on_page
    (template,) = yaml.safe_load(documents.block(DOCS / "custom-domain.md", "yaml", "minutes-of-dish"))
    scaffold = ROOT / "r_eval" / "scaffold" / "domain" / "templates.yaml.tmpl"
    assert template == yaml.safe_load(scaffold.read_text(encoding="utf-8"))["templates"][0]


def test_the_custom_domain_of_readme_runs_and_its_grid_is_one(tmp_path: Path) -> None:
    documents.write_files(README, tmp_path)
    assert Grid.load(tmp_path / "grid.yaml").llms[0].llm == "gguf/smollm2-135m"
    (tmp_path / "questions.jsonl").write_text(documents.block(README, "json", "hummus"), encoding="utf-8")
    tasks = yaml.safe_load(documents.block(README, "yaml", "environment: ./recipes.py"))["tasks"]
    (oracle,) = run(
        Grid(workflows=["oracle"], llms=["openai/m"], tasks=tasks, folder=tmp_path), tmp_path / "run"
    ).episodes()
    assert (oracle.outcome.kind, oracle.answer) == ("finished", "chickpeas; tahini; lemon")
    assert len(read_questions(tmp_path / "questions.jsonl")) == 1


def test_the_python_of_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "llm.py").write_text(documents.LLM, encoding="utf-8")
    script = documents.block(README, "python", "from r_eval import Grid, run")
    assert script.count("gguf/smollm2-135m") == 1
    assert "react+scripted" in printed(script.replace("gguf/smollm2-135m", "scripted/llm.py:reply"))


def test_readme_prints_the_jobs_as_their_own_pages_do() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (EXAMPLES / "jobs").glob("*/README.md"))
    on_page = [line for kind, text in documents.blocks(README) if kind == "text" for line in text.splitlines()]
    own = [line for line in on_page if line.strip() not in ("", "...")]
    assert own
    assert [line for line in own if line not in pages] == []
