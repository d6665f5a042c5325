"""docs/quest-eval.md is true: its command prints what the page says, and its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from r_eval.analysis.metrics import names
from r_eval.folder import Cell, CellWriter, RunFolder
from tests import documents
from tests.analysis.conftest import episode, write_manifest
from tests.analysis.metrics.test_quest_eval import KENYA, Table
from tests.serving import serving

pytest.importorskip("jieba", reason="jieba is not installed")

PAGE = Path(__file__).parents[1] / "docs" / "quest-eval.md"
TASK = "wiki/high-freq"
ANSWERS = ["Nairobi was founded in 1899.", "The railway founded Nairobi.", "Nairobi"]


def write_run(path: Path) -> None:
    cell = Cell("rag", "m", "clean", TASK)
    writer = CellWriter(cell.path(RunFolder(path).episodes_root))
    for number, answer in enumerate(ANSWERS):
        ids = {"episode_id": f"e{number}", "question_id": f"q{number}"}
        made = episode(**ids, workflow="rag", llm="m", golds=[KENYA], answer=answer)
        writer.append(made.model_dump_json(by_alias=True))
    writer.close()
    write_manifest(path, [cell], len(ANSWERS))


def write_evaluator(folder: Path, url: str) -> None:
    text = documents.block(PAGE, "yaml", "evaluator.yaml").replace("http://127.0.0.1:8000", url)
    (folder / "evaluator.yaml").write_text(text, encoding="utf-8")


def test_the_command_prints_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("R_EVAL_REPLIES", str(tmp_path / "replies.sqlite"))
    write_run(tmp_path / "runs" / "news")
    with serving(Table().app()) as url:
        write_evaluator(tmp_path, url)
        for command in documents.commands(PAGE):
            done = documents.typed(command.line, tmp_path)
            assert done.returncode == 0, done.stderr
            assert documents.matches(done.stdout, command.expected), done.stdout
    assert "characters" in done.stdout


def test_the_python_of_figure_6_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(documents.block(PAGE, "python", "red fox"), {})
    assert capsys.readouterr().out == "0.6666666666666666 0.75 0.5 0.5\n"


def test_every_metric_of_the_page_is_there() -> None:
    named = re.findall(r"^\| `(\w+)[@`]", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert named
    assert set(named) - set(names()) == set()
