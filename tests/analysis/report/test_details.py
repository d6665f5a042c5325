"""The files of single questions and episodes."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.published import load
from r_eval.analysis.report import details
from r_eval.analysis.report.details import write_details
from r_eval.analysis.responses import TYPES
from r_eval.analysis.systems import clusters_of
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode
from tests.analysis.report import makers

QUESTIONS = 6


class Written:
    """The details of some runs, read back as the page reads them."""

    def __init__(self, runs: list[RunFolder], out: Path) -> None:
        self.out = out
        self.aggregates = load(*runs)
        self.chunks = write_details(runs, self.aggregates, clusters_of(runs), out)

    def questions(self, task: int) -> Any:
        return self._read(f"questions/{task}")

    def transcripts(self, task: int, chunk: int) -> Any:
        return json.loads(gzip.decompress(base64.b64decode(self._read(f"episodes/{task}-{chunk}"))))

    def _read(self, name: str) -> Any:
        text = (self.out / "data" / f"{name}.js").read_text(encoding="utf-8")
        literal = re.search(r'JSON\.parse\((".*")\);', text)
        assert literal
        assert f"window.R_EVAL[{json.dumps(name)}]" in text
        return json.loads(json.loads(literal[1]))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return makers.small(tmp_path_factory.mktemp("run") / "one", QUESTIONS)


@pytest.fixture(scope="module")
def written(run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Written:
    return Written([run], tmp_path_factory.mktemp("out"))


def test_every_task_has_its_file_and_its_transcripts(written: Written) -> None:
    assert written.chunks == [1, 1, 1, 1]


def test_a_question_is_told_with_what_is_known_of_it(written: Written, run: RunFolder) -> None:
    name = written.aggregates.tasks[0].name
    first = next(run.questions(name))
    assert written.questions(0)["questions"][0] == {
        "id": first.id,
        "text": first.question,
        "golds": first.answers,
        "level": first.level,
        "cluster": "template-0",
    }


def test_an_episode_has_what_its_score_record_says(written: Written, run: RunFolder) -> None:
    data = written.questions(0)
    for system in data["systems"]:
        row = written.aggregates.rows[system["row"]]
        cell = next(cell for cell in run.cells() if cell.system == row.system and cell.task == row_task(written))
        records = run.scores(cell)
        assert len(system["episodes"]) == len(records) == QUESTIONS
        for question, epoch, score, type_, why, _, calls, id_, _ in system["episodes"]:
            record = records[id_]
            assert data["questions"][question]["id"] == record["question_id"]
            assert (epoch, TYPES[type_], data["whys"][why]) == (0, record["response_type"], record["cause"])
            assert calls == record["calls"]
            assert score == pytest.approx(record["score"], rel=1e-5) if record["score"] is not None else score is None


def row_task(written: Written) -> str:
    return written.aggregates.tasks[0].name


def test_causes_come_with_their_sentences(written: Written) -> None:
    data = written.questions(0)
    assert data["whys"][0] == data["sentences"][0] == ""
    assert all(data["sentences"][1:])


def test_every_episode_of_the_list_has_its_transcript_in_the_chunk_that_it_names(written: Written) -> None:
    chunk = written.transcripts(0, 0)
    listed = [episode for system in written.questions(0)["systems"] for episode in system["episodes"]]
    assert sorted(chunk) == sorted(episode[7] for episode in listed)
    assert all(data["steps"] for data in chunk.values())


def test_chunks_follow_the_order_of_the_questions(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(details, "CHUNK", 6000)
    written = Written([run], tmp_path)
    assert min(written.chunks) > 2
    listed = [episode for system in written.questions(0)["systems"] for episode in system["episodes"]]
    assert {episode[8] for episode in listed} == set(range(written.chunks[0]))
    assert [question for question, *_ in sorted(listed, key=lambda episode: (episode[8], episode[0]))] == sorted(
        question for question, *_ in listed
    )
    assert all(episode[7] in written.transcripts(0, episode[8]) for episode in listed)


def test_the_same_run_gives_the_same_bytes(run: RunFolder, written: Written, tmp_path: Path) -> None:
    Written([run], tmp_path)
    files = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.js"))
    assert len(files) == 8
    assert all((tmp_path / name).read_bytes() == (written.out / name).read_bytes() for name in files)


def test_nothing_but_the_files_is_left(written: Written) -> None:
    assert [path for path in written.out.rglob("*") if path.is_file() and path.suffix != ".js"] == []


def test_files_of_an_earlier_report_are_taken_away(run: RunFolder, tmp_path: Path) -> None:
    old = tmp_path / "data" / "episodes" / "7-99.js"
    old.parent.mkdir(parents=True)
    old.write_text("old", encoding="utf-8")
    Written([run], tmp_path)
    assert not old.exists()


def test_a_system_of_a_second_run_is_another_row(run: RunFolder, tmp_path: Path) -> None:
    again = makers.small(tmp_path / "two", QUESTIONS)
    written = Written([run, again], tmp_path / "out")
    rows = [written.aggregates.rows[system["row"]].system for system in written.questions(0)["systems"]]
    assert len(rows) == len(set(rows)) == 18
    assert sum(row.endswith(" (two)") for row in rows) == 9


def test_published_results_have_no_details(tmp_path: Path) -> None:
    paper = Path(__file__).parents[3] / "examples" / "paper"
    aggregates = load(RunFolder(paper))
    assert set(write_details([], aggregates, {}, tmp_path)) == {0}
    assert list(tmp_path.rglob("*.js")) == []


@pytest.fixture
def odd(
    tmp_path: Path, make_episode: Callable[..., Episode], make_manifest: Callable[..., None]
) -> Callable[..., Written]:
    """Writes the details of a run with a few episodes that are given."""

    def write(*episodes: Episode) -> Written:
        run = RunFolder(tmp_path / "odd")
        cell = Cell("react", "gguf/smollm2-135m", "clean", "wiki/high-freq")
        writer = CellWriter(cell.path(run.episodes_root))
        for episode in episodes:
            writer.append(episode.model_dump_json(by_alias=True))
        writer.close()
        make_manifest(run.path, [cell], len(episodes))
        return Written([run], tmp_path / "out")

    return write


def test_a_question_without_a_file_is_told_by_its_episode(
    odd: Callable[..., Written], make_episode: Callable[..., Episode]
) -> None:
    question = odd(make_episode()).questions(0)["questions"][0]
    assert (question["id"], question["golds"], question["cluster"]) == ("q1", ["Nairobi"], "q1")


def test_an_episode_that_was_tried_again_is_told_once(
    odd: Callable[..., Written], make_episode: Callable[..., Episode]
) -> None:
    written = odd(make_episode(answer="first"), make_episode(answer="second"))
    assert [data["answer"] for data in written.transcripts(0, 0).values()] == ["second"]


def test_any_text_survives_the_way(odd: Callable[..., Written], make_episode: Callable[..., Episode]) -> None:
    answer = "</script>\u2028\u202e\x1b[31m\x00 \U0001f600 " + "x" * 1_000_000
    written = odd(make_episode(answer=answer))
    assert [data["answer"] for data in written.transcripts(0, 0).values()] == [answer]
    page = (written.out / "data" / "episodes" / "0-0.js").read_text(encoding="utf-8")
    assert page.isascii()
    assert len(page) < 20_000
