"""A run's folder whose files are damaged, or no files at all: it is read or refused in words, resumed, and nothing is
written elsewhere."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval import disk
from r_eval.analysis.report import write_report
from r_eval.analysis.report.transcripts import write_transcripts
from r_eval.analysis.results import load
from r_eval.analysis.scoring import ensure_scored, score_run
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from tests.security.conftest import READERS, Resume

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # what other tests left to collect
]


def cell_file(run: RunFolder) -> Path:
    return run.episodes_root / "direct+ada" / "clean" / "aminer__soay-easy.jsonl"


def answers(run: RunFolder) -> list[str]:
    return [f"{e.system} {e.question_id} {e.answer}" for e in run.episodes()]


# Damaged lines

Damage = Callable[[bytes, bytes], bytes]


def changed(line: bytes, at: int, bits: int) -> bytes:
    return line[:at] + bytes([line[at] ^ bits]) + line[at + 1 :]


def strange(**keys: Any) -> Damage:
    """The second line is a stranger's, who has no checksum, with other values."""
    return lambda one, two: one + json.dumps(json.loads(two) | {"checksum": ""} | keys).encode() + b"\n"


DAMAGES: dict[str, tuple[Damage, int]] = {
    "no JSON": (lambda one, two: one + b"{not json\n", 1),
    "a field that there is not": (lambda one, two: one + two.replace(b'"answer"', b'"anzwer"'), 1),
    "NULs in front": (lambda one, two: one + b"\0" * 4096 + two, 1),
    "NULs in the middle": (lambda one, two: one + two[:90] + b"\0" * 40 + two[130:], 1),
    "a line break lost": (lambda one, two: one[:-1] + two, 2),
    "a line cut in two": (lambda one, two: one + two[:200] + b"\n" + two[200:], 1),
    "the end lost, the next line on": (lambda one, two: two[:-30] + b"\n" + one, 1),
    "the beginning lost": (lambda one, two: one + two[25:], 1),
    "a bit of the answer": (lambda one, two: one + changed(two, two.index(b'"answer":"') + 10, 1), 1),
    "a byte order mark": (lambda one, two: one + b"\xef\xbb\xbf" + two, 1),
    "a text file of Windows": (lambda one, two: one + two[:-1] + b"\r\n", 0),
    "nested without end": (lambda one, two: one + b'{"a":' * 100_000 + b"\n", 1),
    "a number without end": (lambda one, two: one + two.replace(b'"epoch":0', b'"epoch":' + b"9" * 5000, 1), 1),
    "a count beyond numbers": (strange(usage={"prompt_tokens": 10**400}), 1),
    "a time beyond numbers": (strange(seconds={"total": 1e308}), 1),
    "a price beyond numbers": (strange(usage={"cost": 1e300}), 1),
    "half a pair of surrogates": (strange(question_id="half \ud800"), 1),
    "reasoning that is no text": (strange(steps=[{"kind": "thought", "reasoning": [{"x": 1}]}]), 1),
    "a name with control codes": (strange(**{"st\x1b[2J\x1b]0;owned\x07eps": []}), 1),
}


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_a_damaged_line_is_left_out_by_readers_and_its_episode_runs_again(
    damage: str, run: RunFolder, resume: Resume, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole, path = answers(run), cell_file(run)
    change, lost = DAMAGES[damage]
    path.write_bytes(change(*path.read_bytes().splitlines(keepends=True)))
    damaged = path.read_bytes()
    left = answers(run)
    assert len(left) == len(whole) - lost
    assert set(left) <= set(whole)
    score_run(run)
    assert sum(len(run.scores(cell)) for cell in run.cells()) == len(left)
    results = load(run)
    write_transcripts(results, results.cells["system"].drop_duplicates().astype(str).tolist(), tmp_path / "report")
    assert path.read_bytes() == damaged
    warnings = [message for message in caplog.messages if "left out" in message]
    assert len(warnings) == (lost > 0)
    assert all(warning.isprintable() for warning in warnings)
    assert resume().state == "complete"
    assert answers(run) == whole
    aside = path.with_suffix(".damaged")
    assert aside.exists() == (lost > 0)
    assert all(line.split(b"\t", 1)[1] in damaged for line in (aside.read_bytes().splitlines() if lost else ()))


def test_every_bit_of_a_line_is_under_its_checksum(run: RunFolder) -> None:
    path = cell_file(run)
    first, second = path.read_bytes().splitlines(keepends=True)
    for bit in range(0, 8 * (len(second) - 1), 7):
        path.write_bytes(first + changed(second, bit // 8, 1 << bit % 8))
        assert len(list(run.cell_episodes(run.cells()[0]))) == 1, bit


def test_a_line_of_someone_else_without_a_checksum_is_taken(run: RunFolder) -> None:
    whole, path = answers(run), cell_file(run)
    records = map(json.loads, path.read_bytes().splitlines())
    lines = [json.dumps({key: record[key] for key in record if key != "checksum"}) + "\n" for record in records]
    path.write_text("".join(lines), encoding="utf-8")
    assert answers(run) == whole


# What is no regular file


def socket_file(path: Path, elsewhere: Path) -> None:
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as made:  # the path of a socket is short
        made.bind(path.name)


NO_FILES: dict[str, Callable[[Path, Path], None]] = {
    "a pipe": lambda path, elsewhere: os.mkfifo(path),
    "a folder": lambda path, elsewhere: path.mkdir(),
    "a socket": socket_file,
    "a link to /dev/zero": lambda path, elsewhere: path.symlink_to("/dev/zero"),
    "a link to /dev/tty": lambda path, elsewhere: path.symlink_to("/dev/tty"),
    "a link to a pipe": lambda path, elsewhere: path.symlink_to(elsewhere / "pipe"),
    "a link to itself": lambda path, elsewhere: path.symlink_to(path.name),
    "a link to a folder": lambda path, elsewhere: path.symlink_to(elsewhere),
}
EPISODES = "episodes/direct+ada/clean/aminer__soay-easy.jsonl"
QUESTIONS = "questions/aminer__soay-easy.jsonl"
PLACES = ("run.json", EPISODES, QUESTIONS, EPISODES.replace("episodes", "scores"), ".lock")


@pytest.mark.parametrize(
    ("kind", "place"), [*zip(sorted(NO_FILES), itertools.cycle(PLACES)), *(("a pipe", place) for place in PLACES)]
)
def test_what_is_no_regular_file_is_refused_at_once(
    kind: str, place: str, run: RunFolder, resume: Resume, tmp_path: Path
) -> None:
    ensure_scored(run)
    path, elsewhere = run.path / place, tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.mkfifo(elsewhere / "pipe")
    path.unlink()
    NO_FILES[kind](path, elsewhere)
    for read in (*READERS.values(), lambda run, out: resume()):
        with contextlib.suppress(UserError):
            read(run, tmp_path / "report")
    assert [*elsewhere.iterdir()] == [elsewhere / "pipe"]


# Links

LINKS = {
    "a hard link": (Path.hardlink_to, (".lock", EPISODES)),
    "a link": (
        Path.symlink_to,
        (".lock", "run.json", EPISODES, QUESTIONS, "episodes", "episodes/direct+ada/clean", "questions"),
    ),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, (_, names) in LINKS.items() for name in names])
def test_a_run_is_not_resumed_through_a_link(
    kind: str, name: str, run: RunFolder, resume: Resume, tmp_path: Path
) -> None:
    place, elsewhere = run.path / name, tmp_path / "elsewhere"
    place.rename(elsewhere)
    if elsewhere.is_dir():
        (elsewhere / ".a.jsonl.1.part").write_text("what another program is at", encoding="utf-8")
    for path in elsewhere.rglob("*.jsonl") if elsewhere.is_dir() else [elsewhere]:
        path.write_bytes(path.read_bytes()[:-40])  # a torn line would be cut off
    before = {path: path.read_bytes() for path in [elsewhere, *elsewhere.rglob("*")] if path.is_file()}
    LINKS[kind][0](place, elsewhere)
    with pytest.raises(UserError) as raised:
        resume()
    assert str(place) in str(raised.value) or name == "run.json"
    assert {path: path.read_bytes() for path in [elsewhere, *elsewhere.rglob("*")] if path.is_file()} == before


REPORT = ("report", "report/data", "report/tables", "report/assets", "report/data/page.js", "report/figures")
SCORES = ("scores", "scores/direct+ada", "scores/direct+ada/clean")


@pytest.mark.parametrize("name", [*REPORT, *SCORES])
def test_reports_and_scores_are_not_written_through_a_link(name: str, run: RunFolder, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "index.html").write_text("mine", encoding="utf-8")
    path = run.path / name
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(elsewhere / "index.html" if name.endswith(".js") else elsewhere)
    with pytest.raises(UserError, match=f"{re.escape(name)}: a link in a run's folder"):
        write_report(load(run), run.path / "report", figures=name.endswith("figures"))
    assert [path.read_text(encoding="utf-8") for path in elsewhere.iterdir()] == ["mine"]


def test_a_draft_that_is_a_link_is_replaced(run: RunFolder, resume: Resume, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    (run.path / f".run.json.{os.getpid()}.part").symlink_to(victim)
    assert resume().state == "complete"
    assert victim.read_text(encoding="utf-8") == "mine"


def test_a_folder_of_runs_may_be_a_link(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "runs").symlink_to(tmp_path)
    through = RunFolder(tmp_path / "runs" / "run")
    write_report(load(through), through.path / "report", figures=False)
    assert (run.path / "report" / "index.html").is_file()


# Size


def test_a_file_without_an_end_fills_no_memory(run: RunFolder, resume: Resume, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "LONGEST", 1 << 16)
    whole, manifest, cell = answers(run), run.run_file.read_bytes(), cell_file(run)
    page = run.path / "report" / "index.html"
    page.parent.mkdir()
    for path in (run.run_file, cell, page):
        path.write_bytes(b"")
        os.truncate(path, 1 << 24)  # a hole: it takes no room on the disk
    with pytest.raises(UserError, match=r"run\.json: longer than"):
        run.manifest()
    run.run_file.write_bytes(manifest)
    assert len(answers(run)) == 2
    with pytest.raises(UserError, match=r"index\.html: longer than"):
        write_report(load(run), page.parent, figures=False)
    page.unlink()
    with cell.open("ab") as file:
        file.write(b"\n")
    assert resume().state == "complete"
    assert answers(run) == whole
    assert cell.with_suffix(".damaged").stat().st_size < 1 << 17
