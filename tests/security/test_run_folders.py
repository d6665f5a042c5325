"""A run's folder whose files are damaged, or no files at all: it is read or refused in words, gone on with, and nothing
is written elsewhere."""

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

import r_eval
from r_eval import Grid, disk
from r_eval.analysis.report import write_report
from r_eval.analysis.report.transcripts import write_transcripts
from r_eval.analysis.results import load
from r_eval.analysis.scoring import ensure_scored, score_run
from r_eval.api import load_run
from r_eval.errors import UserError
from r_eval.folder import RunFolder

pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # what other tests left to collect
]


@pytest.fixture
def run(good: Path, tmp_path: Path) -> RunFolder:
    shutil.copytree(good, tmp_path / "run", symlinks=True)
    return RunFolder(tmp_path / "run")


def go_on(run: RunFolder, good: Path) -> r_eval.Run:
    """The command that made the run, again."""
    llm = {"llm": f"scripted/{good.parent / 'llm.py'}:reply", "name": "ada"}
    grid = Grid(workflows=["direct", "react"], llms=[llm], tasks=["aminer/soay-easy"], samples=2)
    return r_eval.run(grid, out=run.path)


def cell_file(run: RunFolder, system: str = "direct+ada") -> Path:
    return run.episodes_root / system / "clean" / "aminer__soay-easy.jsonl"


def answers(run: RunFolder) -> list[str]:
    return [f"{e.system} {e.question_id} {e.answer}" for e in run.episodes()]


# Damaged lines

Damage = Callable[[list[bytes]], bytes]


def changed(line: bytes, at: int, bits: int) -> bytes:
    return line[:at] + bytes([line[at] ^ bits]) + line[at + 1 :]


def of_second(change: Callable[[bytes], bytes]) -> Damage:
    return lambda lines: lines[0] + change(lines[1])


def within(line: bytes, text: bytes, offset: int = 0) -> int:
    return line.index(text) + len(text) + offset


DAMAGES: dict[str, tuple[Damage, int]] = {
    "no JSON": (lambda lines: lines[0] + b"{not json\n", 1),
    "a field that there is not": (of_second(lambda line: line.replace(b'"answer"', b'"anzwer"')), 1),
    "NULs in front": (of_second(lambda line: b"\0" * 4096 + line), 1),
    "NULs in the middle": (of_second(lambda line: line[:90] + b"\0" * 40 + line[130:]), 1),
    "a line break lost": (lambda lines: lines[0][:-1] + lines[1], 2),
    "a line cut in two": (of_second(lambda line: line[:200] + b"\n" + line[200:]), 1),
    "the end lost, the next line on": (lambda lines: lines[1][:-30] + b"\n" + lines[0], 1),
    "the beginning lost": (of_second(lambda line: line[25:]), 1),
    "a bit of the answer": (of_second(lambda line: changed(line, within(line, b'"answer":"'), 1)), 1),
    "a byte order mark": (of_second(lambda line: b"\xef\xbb\xbf" + line), 1),
    "a text file of Windows": (of_second(lambda line: line[:-1] + b"\r\n"), 0),
    "nested without end": (lambda lines: lines[0] + b'{"a":' * 100_000 + b"\n", 1),
    "a number without end": (of_second(lambda line: line.replace(b'"epoch":0', b'"epoch":' + b"9" * 5000, 1)), 1),
}


def read_as_a_report_does(run: RunFolder, out: Path) -> None:
    """All that a report reads of a run: its scores and, for the transcripts, its episodes."""
    results = load(run)
    write_transcripts(results, results.cells["system"].drop_duplicates().astype(str).tolist(), out)


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_a_damaged_line_is_left_out_by_readers_and_its_episode_runs_again(
    damage: str, run: RunFolder, good: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole, path = answers(run), cell_file(run)
    change, lost = DAMAGES[damage]
    path.write_bytes(change(path.read_bytes().splitlines(keepends=True)))
    damaged = path.read_bytes()
    kept = answers(run)
    assert len(kept) == len(whole) - lost
    assert set(kept) <= set(whole)
    score_run(run)
    assert sum(len(run.scores(cell)) for cell in run.cells()) == len(kept)
    read_as_a_report_does(run, tmp_path / "report")
    assert path.read_bytes() == damaged
    assert sum("left out" in message for message in caplog.messages) == (lost > 0)
    caplog.clear()
    assert go_on(run, good).state == "complete"
    assert answers(run) == whole
    aside = path.with_suffix(".damaged")
    assert aside.exists() == (lost > 0)
    if lost:
        numbered = dict(line.split(b"\t", 1) for line in aside.read_bytes().split(b"\n")[:-1])
        for number, line in numbered.items():
            assert damaged.split(b"\n")[int(number) - 1].removesuffix(b"\r") == line.removesuffix(b"\r")
        assert sum("moved to aminer__soay-easy.damaged" in message for message in caplog.messages) == 1
        go_on(run, good)
        assert aside.read_bytes().count(b"\n") == len(numbered)


def test_every_bit_of_a_line_is_under_its_checksum(run: RunFolder) -> None:
    path = cell_file(run)
    first, second = path.read_bytes().splitlines(keepends=True)
    for bit in range(0, 8 * (len(second) - 1), 7):
        path.write_bytes(first + changed(second, bit // 8, 1 << bit % 8))
        assert len(list(run.cell_episodes(run.cells()[0]))) == 1, bit


def test_a_line_of_someone_else_without_a_checksum_is_taken(run: RunFolder) -> None:
    path = cell_file(run)
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    for record in records:
        del record["checksum"]
    whole = answers(run)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    assert answers(run) == whole


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "a count beyond numbers": {"usage": {"prompt_tokens": 10**400}},
    "a time beyond numbers": {"seconds": {"total": 1e308}},
    "a price beyond numbers": {"usage": {"cost": 1e300}},
    "half a pair of surrogates": {"question_id": "half \ud800"},
    "reasoning that is no text": {"steps": [{"kind": "thought", "reasoning": [{"x": 1}]}]},
    "a name with control codes": {"st\x1b[2J\x1b]0;owned\x07eps": []},
}


@pytest.mark.parametrize("change", sorted(IMPOSSIBLE))
def test_a_record_of_a_stranger_that_cannot_be_is_left_out(
    change: str, run: RunFolder, good: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole, path = answers(run), cell_file(run)
    first, second = path.read_bytes().splitlines(keepends=True)
    strange = json.loads(second) | {"checksum": ""} | IMPOSSIBLE[change]
    path.write_bytes(first + json.dumps(strange).encode() + b"\n")
    score_run(run)
    assert sum(len(run.scores(cell)) for cell in run.cells()) == len(whole) - 1
    read_as_a_report_does(run, tmp_path / "report")
    (said,) = [message for message in caplog.messages if "left out" in message]
    assert said.isprintable()
    assert go_on(run, good).state == "complete"
    assert answers(run) == whole


# What is no regular file


def pipe(path: Path, elsewhere: Path) -> None:
    os.mkfifo(path)


def socket_file(path: Path, elsewhere: Path) -> None:
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as made:  # the path of a socket is short
        made.bind(path.name)


NO_FILES: dict[str, Callable[[Path, Path], None]] = {
    "a pipe": pipe,
    "a folder": lambda path, elsewhere: path.mkdir(),
    "a socket": socket_file,
    "a link to /dev/zero": lambda path, elsewhere: path.symlink_to("/dev/zero"),
    "a link to /dev/tty": lambda path, elsewhere: path.symlink_to("/dev/tty"),
    "a link to a pipe": lambda path, elsewhere: (os.mkfifo(elsewhere / "pipe"), path.symlink_to(elsewhere / "pipe")),  # type: ignore[func-returns-value]
    "a link to itself": lambda path, elsewhere: path.symlink_to(path.name),
    "a link to a folder": lambda path, elsewhere: path.symlink_to(elsewhere),
}
PLACES = ("run.json", "episodes", "questions", "scores", ".lock")


@pytest.mark.parametrize(
    ("kind", "place"), [*zip(sorted(NO_FILES), itertools.cycle(PLACES)), *(("a pipe", place) for place in PLACES)]
)
def test_what_is_no_regular_file_is_refused_at_once(
    kind: str, place: str, run: RunFolder, good: Path, tmp_path: Path
) -> None:
    ensure_scored(run)
    places = {
        "run.json": run.run_file,
        "episodes": cell_file(run),
        "questions": run.questions_file("aminer/soay-easy"),
        "scores": run.scores_root / "direct+ada" / "clean" / "aminer__soay-easy.jsonl",
        ".lock": run.path / ".lock",
    }
    path, elsewhere = places[place], tmp_path / "elsewhere"
    elsewhere.mkdir()
    path.unlink()
    NO_FILES[kind](path, elsewhere)
    before = set(elsewhere.iterdir())
    readers: list[Callable[[], Any]] = [
        run.state,
        lambda: score_run(run),
        lambda: load_run(run.path).to_pandas(),
        lambda: write_report(load(run), tmp_path / "report", figures=False),
        lambda: go_on(run, good),
    ]
    for read in readers:
        with contextlib.suppress(UserError):
            read()
    assert set(elsewhere.iterdir()) == before


# Links


def link(path: Path, target: Path) -> None:
    """Put a link in place of whatever is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


FILES = (".lock", "run.json", "episodes/direct+ada/clean/aminer__soay-easy.jsonl", "questions/aminer__soay-easy.jsonl")
FOLDERS = ("episodes", "episodes/direct+ada", "episodes/direct+ada/clean", "questions")


@pytest.mark.parametrize("name", [*FILES, *FOLDERS])
@pytest.mark.parametrize("hard", [False, True])
def test_a_run_is_not_gone_on_with_through_a_link(
    name: str, hard: bool, run: RunFolder, good: Path, tmp_path: Path
) -> None:
    place = run.path / name
    if hard and (place.is_dir() or name in ("run.json", FILES[3])):
        pytest.skip("such a link cannot be made, or is replaced and not written through")
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(place, elsewhere) if place.is_dir() else shutil.copy(place, elsewhere)
    if elsewhere.is_file():
        elsewhere.write_bytes(elsewhere.read_bytes()[:-40])  # a torn line would be cut off
    else:
        (elsewhere / ".a.jsonl.1.part").write_text("what another program is at", encoding="utf-8")
        for path in elsewhere.rglob("*.jsonl"):
            path.write_bytes(path.read_bytes()[:-40])
    before = {p: p.read_bytes() for p in [elsewhere, *elsewhere.rglob("*")] if p.is_file()}
    link(place, elsewhere)
    if hard:
        place.unlink()
        place.hardlink_to(elsewhere)
    with pytest.raises(UserError) as raised:
        go_on(run, good)
    assert str(place) in str(raised.value) or name == "run.json"
    assert {p: p.read_bytes() for p in [elsewhere, *elsewhere.rglob("*")] if p.is_file()} == before


PARTS = ("", "/data", "/tables", "/assets", "/data/page.js", "/figures")


@pytest.mark.parametrize("name", [f"report{part}" for part in PARTS])
def test_a_report_is_not_written_through_a_link(name: str, run: RunFolder, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "index.html").write_text("mine", encoding="utf-8")
    link(run.path / name, elsewhere / "index.html" if name.endswith(".js") else elsewhere)
    with pytest.raises(UserError, match=f"{re.escape(name)}: a link in a run's folder"):
        write_report(load(run), run.path / "report", figures=name.endswith("figures"))
    assert [path.read_text(encoding="utf-8") for path in elsewhere.iterdir()] == ["mine"]


def test_scores_are_not_written_through_a_link(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for name in ("scores", "scores/direct+ada", "scores/direct+ada/clean"):
        link(run.path / name, tmp_path / "elsewhere")
        with pytest.raises(UserError, match=f"{re.escape(name)}: a link in a run's folder"):
            score_run(run)
        (run.path / name).unlink()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_draft_that_is_a_link_is_replaced(run: RunFolder, good: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    (run.path / f".run.json.{os.getpid()}.part").symlink_to(victim)
    (run.scores_root).mkdir(exist_ok=True)
    assert go_on(run, good).state == "complete"
    assert victim.read_text(encoding="utf-8") == "mine"


def test_a_folder_of_runs_may_be_a_link(run: RunFolder, good: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").symlink_to(tmp_path)
    through = RunFolder(tmp_path / "runs" / "run")
    assert go_on(through, good).state == "complete"
    write_report(load(through), through.path / "report", figures=False)
    assert (run.path / "report" / "index.html").is_file()


# Size


def test_a_file_without_an_end_fills_no_memory(run: RunFolder, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "LONGEST", 1 << 16)
    whole = answers(run)
    for path, content in ((run.run_file, run.run_file.read_bytes()), (cell_file(run), b"")):
        before = path.read_bytes()
        with path.open("wb") as file:
            file.truncate(1 << 24)  # a hole: it takes no room on the disk
        if content:
            with pytest.raises(UserError, match=r"run\.json: longer than"):
                run.manifest()
            path.write_bytes(before)
        else:
            assert len(answers(run)) == 2
    with cell_file(run).open("ab") as file:
        file.write(b"\n")
    assert go_on(run, good).state == "complete"
    assert answers(run) == whole
    assert cell_file(run).with_suffix(".damaged").stat().st_size < 1 << 17
