"""The report's files: whole, closed to the network, and safe from what models wrote."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from r_eval.analysis.report import write_report
from r_eval.analysis.report.scripts import script
from r_eval.analysis.results import load
from r_eval.errors import UserError
from r_eval.folder import RunFolder

HOSTILE = "</script><img src=x onerror=alert(1)>\u2028&__proto__"


@pytest.fixture(scope="session")
def report(run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(load(run), tmp_path_factory.mktemp("out") / "report", figures=False).parent


def test_the_page_and_everything_it_names_is_there(report: Path) -> None:
    page = (report / "index.html").read_text(encoding="utf-8")
    named = list(re.findall(r'(?:src|href)="([^"#]+)"', page))
    assert {"assets/style.css", "data/page.js", "tables/scores.csv"} <= set(named)
    assert all((report / name).is_file() for name in named)


def test_the_page_forbids_every_other_source_and_holds_no_script(report: Path) -> None:
    page = (report / "index.html").read_text(encoding="utf-8")
    assert "default-src 'none'; script-src 'self';" in page
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=", page)


def test_own_scripts_write_no_markup_and_name_no_address(report: Path) -> None:
    own = [path for path in (report / "assets").glob("*.*") if path.name != "plotly.min.js"]
    text = "".join(path.read_text(encoding="utf-8") for path in own)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://", text
    )


def test_hostile_text_cannot_leave_the_data() -> None:
    text = script("results", {"name": HOSTILE, "__proto__": 1})
    assert text.isascii()
    assert not re.search(r"[<>&]", text)
    literal = re.search(r'JSON\.parse\((".*")\);', text)
    assert literal
    assert json.loads(json.loads(literal[1]))["name"] == HOSTILE


def test_the_same_run_gives_the_same_bytes(run: RunFolder, report: Path, tmp_path: Path) -> None:
    again = write_report(load(run), tmp_path, figures=False).parent
    for path in report.rglob("*.*"):
        assert (again / path.relative_to(report)).read_bytes() == path.read_bytes(), path


def test_what_an_earlier_report_wrote_is_removed_and_nothing_else(run: RunFolder, tmp_path: Path) -> None:
    results = load(run)
    write_report(results, tmp_path / "report", figures=False)
    report = tmp_path / "report"
    outside = tmp_path / "outside.csv"
    for path in (outside, report / "tables" / "old-ä.csv", report / "tables" / "mine.csv"):
        path.write_text("", encoding="utf-8")
    page = report / "index.html"
    names = ("tables/old-%C3%A4.csv", "tables/../../outside.csv", "tables/..%2F..%2Foutside.csv", "../outside.csv")
    links = "".join(f'<a href="{name}">' for name in names)
    page.write_text(page.read_text(encoding="utf-8") + links, encoding="utf-8")
    write_report(results, report, figures=False)
    assert [path.name for path in report.rglob("old*")] == []
    assert outside.exists()
    assert (report / "tables" / "mine.csv").exists()


def test_a_link_in_the_runs_folder_is_not_followed(run: RunFolder, tmp_path: Path) -> None:
    shutil.copytree(run.path, tmp_path / "run", ignore=shutil.ignore_patterns("report"))
    (tmp_path / "run" / "report").symlink_to(tmp_path)
    with pytest.raises(UserError, match="link in a run's folder"):
        write_report(load(RunFolder(tmp_path / "run")), tmp_path / "run" / "report")


def test_importing_the_room_loads_nothing_heavy() -> None:
    code = (
        "import sys, r_eval.analysis.report, r_eval.analysis.summary, r_eval.analysis.charts\n"
        "print([name for name in ('pandas', 'rich', 'matplotlib', 'plotly', 'jinja2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
