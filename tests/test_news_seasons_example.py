"""examples/news-seasons and docs/leaderboard.md: their commands run, in order, and print what they say."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import shutil
from pathlib import Path

import pandas
import pytest
import yaml

from r_eval import load_run
from r_eval.analysis.leaderboard import board_rows, by_type, standings
from r_eval.analysis.question_sets import Seasons
from r_eval.folder import RunFolder
from r_eval.tasks.questions import read_questions
from r_eval.tasks.seasons import read_season
from tests import documents

EXAMPLE = Path(__file__).parents[1] / "examples" / "news-seasons"
PAGE = EXAMPLE.parents[1] / "docs" / "leaderboard.md"
VERSIONS = ("1.0.0", "1.1.0")
DENSE = importlib.util.find_spec("sentence_transformers") is not None
TYPES = {"simple", "set", "multi-hop", "conditional", "comparison"}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the folder after all commands; without `rrf` where that is not installed, as the README says."""
    pytest.importorskip(
        "langchain_text_splitters", reason="langchain-text-splitters is not installed (extra: retrieval)"
    )
    folder = tmp_path_factory.mktemp("desk") / "news"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for grid in folder.glob("grid-*.yaml"):
        keys = yaml.safe_load(grid.read_text(encoding="utf-8"))
        if not DENSE:
            keys["vary"]["environment.retriever"].remove("rrf")
        grid.write_text(yaml.safe_dump(keys, sort_keys=False), encoding="utf-8")
    for command in documents.commands(folder / "README.md"):
        runs = " ".join(path.relative_to(folder).as_posix() for path in sorted(folder.glob("runs/*")))
        done = documents.typed(command.line.replace("runs/*", runs), folder)
        assert done.returncode == 0, f"{command.line}\n{done.stdout}{done.stderr}"
        said = re.sub("systems .*", "systems ...", command.expected)  # half as many without the retriever
        assert documents.matches(done.stdout, command.expected if DENSE else said), f"{command.line}\n{done.stdout}"
    return folder


def board(desk: Path) -> list[dict[str, str]]:
    with (desk / "board" / "tables" / "leaderboard.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def rows(desk: Path) -> pandas.DataFrame:
    return board_rows([RunFolder(path) for path in sorted(desk.glob("runs/*"))], Seasons())


def test_every_season_has_all_five_types_and_both_languages(desk: Path) -> None:
    for version in VERSIONS:
        questions = read_questions(desk / f"private-{version}.jsonl")
        assert {question.meta["type"] for question in questions} == TYPES
        assert any("мэр" in question.question for question in questions)


def test_a_question_names_the_reports_to_find_and_comes_without_them(desk: Path) -> None:
    reports = {path.name for path in (desk / "april").iterdir()}
    for question in read_questions(desk / "private-1.1.0.jsonl"):
        assert set(question.meta["text_ids"]) <= reports
        assert question.context == []
        text = "\n".join(question.meta["sources"])
        assert all(fact in text for _, _, fact in question.meta["triples"])


def test_the_public_half_tells_questions_and_nothing_else(desk: Path) -> None:
    for version in VERSIONS:
        lines = (desk / f"public-{version}.jsonl").read_text(encoding="utf-8").splitlines()
        assert {key for line in lines for key in json.loads(line)} == {"id", "question"}
        found = read_season(desk / f"public-{version}.jsonl")
        assert found is not None
        assert (found.version, found.seed) == (version, None)


def test_a_run_knows_its_version_and_that_its_questions_are_the_private_part(desk: Path) -> None:
    for version in VERSIONS:
        run = load_run(desk / "runs" / f"season-{version}")
        found = read_season(run.path / "questions" / "news.jsonl")
        assert found is not None
        assert (found.version, found.seed is None, found.count) == (version, False, 25)


def test_the_board_has_every_system_on_its_versions(desk: Path) -> None:
    lines = board(desk)
    assert {line["version"] for line in lines if line["llm"] == "careful"} == set(VERSIONS)
    assert {line["version"] for line in lines if line["llm"] == "hasty"} == {"1.0.0"}
    for line in lines:
        total = float(line["retrieval_score"]) + float(line["generation_score"])
        assert float(line["total_score"]) == pytest.approx(total)
        assert 0 < float(line["generation_score"]) < 1


def test_only_systems_of_the_newest_version_are_current(rows: pandas.DataFrame) -> None:
    assert set(standings(rows)["llm"]) == {"careful", "hasty"}
    assert set(standings(rows, 1)["llm"]) == {"careful"}


def test_the_board_is_of_all_types(rows: pandas.DataFrame) -> None:
    assert set(by_type(rows)["type"]) == TYPES


@pytest.fixture(scope="module")
def page(desk: Path) -> Path:
    """The same folder after the commands of docs/leaderboard.md; results from outside are right in one question."""
    first = read_questions(desk / "private-1.1.0.jsonl")[0]
    text = documents.block(PAGE, "json", "PUBLIC_ID")
    text = text.replace("PUBLIC_ID", first.id).replace("PUBLIC_ANSWER", first.answers[0])
    (desk / "north-wind.json").write_text(text, encoding="utf-8")
    for command in documents.commands(PAGE):
        done = documents.typed(command.line, desk)
        assert done.returncode == 0, f"{command.line}\n{done.stdout}{done.stderr}"
        assert documents.matches(done.stdout, command.expected), f"{command.line}\n{done.stdout}"
    return desk


def test_submitted_answers_stand_on_the_board_with_what_they_lack(page: Path) -> None:
    (line,) = [line for line in board(page) if line["system"] == "north-wind"]
    assert (line["version"], line["questions"], line["missing"]) == ("1.1.0", "25", "24")
    assert float(line["generation_score"]) == pytest.approx(0.04)
