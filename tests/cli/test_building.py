"""`r-eval build-snapshot` as it is typed: what it prints, what it leaves, and that a grid can use it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from r_eval.environments.aminer import AMiner
from r_eval.environments.opening import open_environment

R_EVAL = Path(sys.executable).with_name("r-eval")
PAGES = '{"title": "Kenya", "text": "Kenya is a country."}\n{"title": "Kenya", "text": "Again."}\n'
PAPER = {"id": "p1", "title": "On Tea", "year": 2001, "authors": [{"id": "a", "name": "Ada Lovelace", "org": "Acme"}]}


def built(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(R_EVAL), "build-snapshot", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False)


def test_a_snapshot_of_a_wiki_opens_as_the_last_line_says(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text(PAGES, encoding="utf-8")
    done = built(tmp_path, "wiki", "pages.jsonl", "--out", "made.sqlite")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "1 pages, 0 redirects, 0 disambiguation pages (json-lines)",
        "left out: 1 of a title that came before",
        "in a grid: environment: {environment: wiki, snapshot: made.sqlite}",
    ]
    assert "read; sorting and indexing" in done.stderr
    wiki = open_environment("wiki", {"snapshot": str(tmp_path / "made.sqlite")})
    assert wiki.Search("kenya") == "Kenya is a country."  # type: ignore[attr-defined]


def test_a_snapshot_of_a_bibliography_is_reported_as_json(tmp_path: Path) -> None:
    (tmp_path / "papers.json.gz").write_bytes(gzip.compress(json.dumps([PAPER]).encode()))
    done = built(tmp_path, "aminer", "papers.json.gz", "--out", "made.sqlite", "--json", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert (report["publications"], report["scholars"], report["format"]) == (1, 1, "citation-network")
    assert report["content_hash"].startswith(AMiner(str(tmp_path / "made.sqlite")).version)
    assert report["out"] == "made.sqlite"


def test_counts_of_broken_records_are_in_the_json(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text(PAGES + "torn\n", encoding="utf-8")
    report = json.loads(built(tmp_path, "wiki", "pages.jsonl", "--out", "made.sqlite", "--json").stdout)
    assert report["broken"] == {"not a JSON object in one line": 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("wiki", "none.jsonl", "--out", "made.sqlite"), "there is no file none.jsonl"),
        (("wiki", "pages.jsonl", "--out", "."), "--out . is a folder: name the file to be written"),
        (("wiki", "pages.jsonl", "--out", "pages.jsonl"), "--out pages.jsonl is the source"),
        (("recipes", "pages.jsonl", "--out", "made.sqlite"), "unknown domain 'recipes'. Known: wiki, aminer"),
        (("wiki", "pages.jsonl", "--out", "made.sqlite", "--format", "xml"), "unknown format 'xml'"),
        (("wiki", "pages.jsonl", "--out", "made.sqlite", "--format", "cirrus"), "2 pages"),
        (("aminer", "pages.jsonl", "--out", "made.sqlite"), "holds no publication that can be used"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "pages.jsonl").write_text(PAGES, encoding="utf-8")
    done = built(tmp_path, *words, "--quiet")
    if message == "2 pages":  # a file of documents without their index lines is read all the same
        assert done.stdout.startswith("1 pages")
        return
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"r-eval: {message}") or message in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["pages.jsonl"]
