"""The report's files: whole, closed to the network, and safe from what models wrote."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from r_eval.analysis.report import write_report
from r_eval.analysis.report.payload import script
from r_eval.folder import RunFolder

HOSTILE = "</script><img src=x onerror=alert(1)>\u2028&__proto__"


@pytest.fixture(scope="session")
def report(run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report([run], tmp_path_factory.mktemp("out") / "report", figures=False).parent


def test_the_page_and_everything_it_names_is_there(report: Path) -> None:
    page = (report / "index.html").read_text(encoding="utf-8")
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(named) == 40
    assert all((report / name).is_file() for name in named)


def test_the_page_names_nothing_outside_its_folder(report: Path) -> None:
    own = [path for path in report.rglob("*") if path.suffix in (".html", ".css", ".js")]
    outside = re.compile(r"https?://(?!www\.w3\.org/2000/svg\")|//cdn")  # the name of SVG's elements is no address
    assert [path.name for path in own if outside.search(path.read_text(encoding="utf-8"))] == []


def test_the_page_forbids_every_other_source(report: Path) -> None:
    page = (report / "index.html").read_text(encoding="utf-8")
    assert "default-src 'none'; script-src 'self';" in page
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=", page)


def test_no_script_writes_markup(report: Path) -> None:
    own = "".join(path.read_text(encoding="utf-8") for path in (report / "assets").glob("*.js"))
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", own)


def test_hostile_text_cannot_leave_the_data() -> None:
    text = script("results", {"name": HOSTILE, "__proto__": 1})
    assert text.isascii()
    assert not re.search(r"[<>&]", text)


def test_the_data_come_back_as_they_were() -> None:
    literal = re.search(r'JSON\.parse\((".*")\);', script("results", {"name": HOSTILE}))
    assert literal
    assert json.loads(json.loads(literal[1])) == {"name": HOSTILE}


def test_the_same_run_gives_the_same_bytes(run: RunFolder, report: Path, tmp_path: Path) -> None:
    again = write_report([run], tmp_path, figures=False).parent
    assert (again / "data/results.js").read_bytes() == (report / "data/results.js").read_bytes()


def test_importing_the_room_loads_nothing_heavy() -> None:
    code = (
        "import sys, r_eval.analysis.report, r_eval.analysis.summary\n"
        "print([name for name in ('pandas', 'rich', 'matplotlib', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
