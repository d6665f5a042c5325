"""The leaderboard as it is written and read: the folder, the command, and the page in a browser."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from r_eval.analysis.leaderboard import Seasons, entries, write_leaderboard
from r_eval.analysis.leaderboard.page import payload
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from tests.analysis.report.browser import PHONE, Pages, Visit, chromium

Season = Callable[..., Path]
Over = Callable[..., RunFolder]
HOSTILE = "<img src=x onerror=window.hacked=1>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Pages]:
    with chromium() as started:
        yield started


@pytest.fixture
def board(season: Season, over: Over, tmp_path: Path) -> Path:
    """A board of two versions: one system on both, one on the old one only, a baseline on the new one."""
    runs = [
        over("old", "1.9.0", {"rag+m": "wwww", "pal+m": "rrrr"}),
        over("new", "1.10.0", {"rag+m": "rrgw", f"fc+{HOSTILE}": "rwww", "direct+m": "rwww"}),
    ]
    write_leaderboard(runs, tmp_path / "board", [season("1.9.0"), season("1.10.0")])
    return tmp_path / "board"


@pytest.fixture
def visit(browser: Pages, board: Path) -> Iterator[Visit]:
    found = Visit(browser, board, {})
    found.page.goto((board / "index.html").as_uri())
    yield found
    found.close()


def systems(visit: Visit) -> list[str]:
    return visit.page.locator("#board tbody th").all_inner_texts()


def cells(visit: Visit, column: str, system: str) -> str:
    """A cell of the table, by the heading of its column."""
    heads = visit.page.locator("#board thead th").all_inner_texts()
    row = visit.page.locator("#board tbody tr", has=visit.page.get_by_text(system, exact=True))
    return row.locator("th, td").nth(heads.index(column)).inner_text()


def test_the_folder_holds_a_page_its_data_and_tables(board: Path) -> None:
    files = {path.relative_to(board).as_posix() for path in board.rglob("*") if path.is_file()}
    assert files == {
        *("index.html", "assets/leaderboard.css", "assets/leaderboard.js", "assets/radars.js", "data/leaderboard.js"),
        *(f"tables/leaderboard.{end}" for end in ("csv", "md", "tex")),
    }


def test_the_table_has_a_line_a_version_and_system(board: Path) -> None:
    with (board / "tables" / "leaderboard.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["version"] for line in lines] == ["1.9.0", "1.9.0", "1.10.0", "1.10.0", "1.10.0"]
    first = next(line for line in lines if line["version"] == "1.10.0" and line["system"] == "rag+m")
    assert (first["rank"], first["total"], first["retrieval"], first["generation"]) == ("1", "125.00", "75.00", "50.00")


def test_the_boards_can_be_asked_for_any_number_of_versions(season: Season, over: Over) -> None:
    versions = [f"1.{minor}.0" for minor in range(15)]
    runs = [over(version, version, {"rag+m": "rw"}) for version in versions]
    made = payload(entries(runs, Seasons([season(version) for version in versions])))
    assert sorted({one["last"] for one in made["boards"]}) == [*range(1, 13), 15]
    assert [version["name"] for version in made["versions"]] == versions
    assert json.dumps(made, allow_nan=False)


def test_runs_without_episodes_make_no_board(over: Over, tmp_path: Path) -> None:
    run = over("a", "1.0.0", {"rag+m": "r"})
    manifest = json.loads(run.run_file.read_text(encoding="utf-8"))
    run.run_file.write_text(json.dumps(manifest | {"cells": []}), encoding="utf-8")
    with pytest.raises(UserError, match="nothing stands on the leaderboard"):
        write_leaderboard([run], tmp_path / "board")


def test_the_command_says_who_leads_on_each_version(season: Season, over: Over, tmp_path: Path) -> None:
    runs = [over("old", "1.9.0", {"rag+m": "ww", "pal+m": "rr"}), over("new", "1.10.0", {"rag+m": "rw"})]
    named = [part for version in ("1.9.0", "1.10.0") for part in ("--season", str(season(version)))]
    done = typed([*(str(run.path) for run in runs), *named, "--out", str(tmp_path / "board")])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "1.9.0: questions 4, systems 2, first: pal+m",
        "1.10.0: questions 4, systems 1, first: rag+m",
        f"Leaderboard {tmp_path / 'board' / 'index.html'}",
    ]


def test_the_command_tells_which_questions_have_no_season(over: Over, tmp_path: Path) -> None:
    done = typed([str(over("a", "1.9.0", {"rag+m": "rw"}).path), "--out", str(tmp_path / "board")])
    assert done.returncode == 0
    assert done.stdout.startswith("no season: questions 2")
    assert "--season" in done.stderr


def test_nobody_leads_with_nothing(over: Over, tmp_path: Path) -> None:
    done = typed([str(over("a", "1.9.0", {"rag+m": "ww"}).path), "--out", str(tmp_path / "board")])
    assert done.stdout.startswith("no season: questions 2, systems 1, first: no system\n")


def typed(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from r_eval.cli.app import main; main()", "data", "leaderboard", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


def test_the_page_shows_all_versions_and_says_which(visit: Visit) -> None:
    assert cells(visit, "versions", "rag+m") == "1.9.0, 1.10.0"
    assert cells(visit, "generation", "rag+m").startswith("25.00")
    assert cells(visit, "rank", "direct+m") == "–"
    assert visit.faults == []


def test_the_newest_version_alone_can_be_chosen(visit: Visit) -> None:
    visit.page.locator("#controls select").select_option(label="the newest")
    assert cells(visit, "generation", "rag+m").startswith("50.00")
    assert "pal+m" not in systems(visit)


def test_systems_that_are_not_on_the_newest_version_can_be_left_out(visit: Visit) -> None:
    assert "pal+m" in systems(visit)
    visit.page.get_by_label("only systems that ran on the newest version").check()
    assert "pal+m" not in systems(visit)
    assert cells(visit, "rank", "rag+m") == "1"


def test_any_column_sorts_both_ways(visit: Visit) -> None:
    visit.page.get_by_role("button", name="generation").click()
    fallen = systems(visit)
    visit.page.get_by_role("button", name="generation").click()
    assert fallen[0] == systems(visit)[-1] == "pal+m"
    assert visit.page.locator("th[aria-sort=ascending]").inner_text().startswith("generation")


def test_what_is_not_known_stands_last_both_ways(visit: Visit) -> None:
    for _ in range(2):
        visit.page.get_by_role("button", name="total").click()
        assert systems(visit)[-1] == "direct+m"


def test_the_types_of_questions_can_be_seen(visit: Visit) -> None:
    visit.page.get_by_label("by question type").check()
    heads = visit.page.locator("#board thead th").all_inner_texts()
    assert [head for head in heads if "set" in head] == ["set: retrieval", "set: generation"]


def test_names_cannot_act_on_the_page(visit: Visit) -> None:
    assert any(HOSTILE in name for name in systems(visit))
    assert visit.page.locator("main img, main script").count() == 0
    assert visit.page.evaluate("() => window.hacked") is None
    assert visit.faults == []


def test_on_a_phone_only_the_table_scrolls_sideways(browser: Pages, board: Path) -> None:
    found = Visit(browser, board, {"viewport": PHONE})
    found.page.goto((board / "index.html").as_uri())
    wide = found.page.evaluate("() => document.documentElement.scrollWidth")
    found.close()
    assert wide <= PHONE["width"]
