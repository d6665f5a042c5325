"""The leaderboard: what each system reached on a version, who leads over several, foreign answers, the folder."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas
import pytest
from packaging.version import Version

from r_eval.analysis.leaderboard import approve, board_rows, read_board, standings, write_leaderboard
from r_eval.analysis.submissions import read_results
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.records import Outcome, Question, Step
from r_eval.tasks.questions import write_questions
from r_eval.tasks.seasons import Season, season_path, write_season
from tests.analysis.answers import KS, write_answers
from tests.commands import typed_here

RIGHT = {"found_ids": ["right", "right"], "model_answer": "Nairobi"}
WRONG = {"found_ids": ["no", "right"], "model_answer": "Nakuru"}
Write = Callable[..., Path]


def asked(version: str, number: int) -> list[Question]:
    """Questions of a version; every other one is of the type set."""
    return [
        Question(
            id=f"q{place}",
            question=f"Who won race {place} of season {version}?",
            answers=["Nairobi"],
            level="KS",
            meta={"type": "set" if place % 2 else "simple", "text_ids": ["right"]},
        )
        for place in range(number)
    ]


@pytest.fixture
def season(tmp_path: Path) -> Write:
    """Writes the question file of a version, and its season."""

    def write(version: str, number: int = 4) -> Path:
        path = tmp_path / f"{version}.jsonl"
        write_questions(path, asked(version, number))
        write_season(path, Season(version=version, environment="news", environment_version="1", seed=0, count=number))
        return path

    return write


def over(
    folder: Path, version: str, verdicts: dict[str, str], conditions: tuple[str, ...] = ("clean",), **more: Any
) -> RunFolder:
    """A run of some workflows over the first questions of a version.

    Args:
        verdicts: By workflow, a letter per question: r right and found, g found only, w neither, x a failure.
    """

    def changes(cell: Any, number: int) -> dict[str, Any]:
        letter = verdicts[cell.workflow][number]
        found = [] if letter == "w" else ["right#1"]
        step = Step(kind="call", api="retrieve", observation="A text.", retrieved_ids=found or ["no#1"])
        answer = "Nairobi" if letter == "r" else "Nakuru"
        outcome = Outcome(kind="llm_failure" if letter == "x" else "finished")
        return {"steps": [] if cell.workflow == "direct" else [step], "answer": answer, "outcome": outcome}

    number = max(map(len, verdicts.values()))
    letters = {workflow: own.replace("g", "w") for workflow, own in verdicts.items()}
    updated = f"2026-03-{10 + Version(version).minor:02}T09:41:12+00:00"
    run = write_answers(folder, letters, conditions, changes, {KS: asked(version, number)}, updated=updated, **more)
    season = Season(version=version, environment="news", environment_version="1", seed=0, count=number)
    write_season(run.questions_file(KS), season)
    return run


def one(*runs: RunFolder, seasons: Sequence[Path] = ()) -> dict[str, Any]:
    (found,) = standings(board_rows(runs, seasons)).to_dict("records")
    return {str(name): value for name, value in found.items()}


def answered(folder: Path, results: dict[str, object], name: str = "theirs") -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(results), encoding="utf-8")
    return path


def test_generation_is_the_tasks_metric_and_retrieval_what_was_found(tmp_path: Path) -> None:
    found = one(over(tmp_path, "1.0.0", {"rag": "rggw"}))
    assert [found[f"{name}_score"] for name in ("generation", "retrieval", "total")] == [0.25, 0.75, 1.0]
    assert found["generation_score_low"] < 0.25 < found["generation_score_high"]


@pytest.mark.parametrize(
    ("letters", "number", "expected"),
    [("rrxx", 4, (0.5, 0.5, 2, 4)), ("rr", 8, (0.25, 0.25, 6, 8))],
    ids=["infrastructure failures", "never asked"],
)
def test_questions_without_a_score_are_0_and_missing(
    season: Write, tmp_path: Path, letters: str, number: int, expected: tuple[float, float, int, int]
) -> None:
    seasons = [season("1.0.0", number)]
    found = one(over(tmp_path / "run", "1.0.0", {"rag": letters}), seasons=seasons)
    assert tuple(found[name] for name in ("generation_score", "retrieval_score", "missing", "questions")) == expected


def test_a_question_that_a_condition_drops_counts_for_no_system(season: Write, tmp_path: Path) -> None:
    runs = [over(tmp_path / "a", "1.0.0", {"rag": "rrww"})]
    runs.append(over(tmp_path / "b", "1.0.0", {"rag": "rx", "pal": "rw"}, ("noisy",)))
    found = standings(board_rows(runs, [season("1.0.0")]))
    rows = found[["condition", "system", "generation_score", "missing", "questions"]].to_numpy().tolist()
    assert rows == [["clean", "rag+m", 0.5, 0, 4], ["noisy", "rag+m", 0.5, 1, 2], ["noisy", "pal+m", 0.5, 0, 2]]


@pytest.fixture
def led(tmp_path: Path) -> pandas.DataFrame:
    """The standings over two versions, by workflow: one system on both of them, one on the old one, four on the new."""
    runs = [over(tmp_path / "old", "1.9.0", {"old": "rrgw", "rag": "gwww"})]
    letters = {"rag": "rrrg", "react": "rrrr", "pal": "rrrr", "oracle": "rrrr"}
    runs.append(over(tmp_path / "new", "1.10.0", letters))
    return standings(board_rows(runs)).set_index("workflow")


def test_over_several_versions_each_has_the_same_weight(led: pandas.DataFrame) -> None:
    found = led.loc["rag"]
    scores = [found[f"{name}_score"] for name in ("generation", "retrieval", "total")]
    assert scores == pytest.approx([0.375, 0.625, 1.0])
    assert (found["versions"], found["questions"]) == ("1.9.0, 1.10.0", 8)


def test_ranks_go_by_the_total_equal_ones_share_one_and_references_have_none(led: pandas.DataFrame) -> None:
    assert led["rank"].dropna().to_dict() == {"react": 1, "pal": 1, "old": 3, "rag": 4}


def test_a_run_without_a_season_is_of_no_version(tmp_path: Path) -> None:
    run = over(tmp_path / "run", "1.10.0", {"rag": "rr"})
    assert one(run)["versions"] == "1.10.0"
    season_path(run.questions_file(KS)).unlink()
    assert one(run)["versions"] == "no season"


def test_a_run_without_its_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the leaderboard would be empty"):
        write_leaderboard([write_answers(tmp_path / "run", {"rag": "r"})], tmp_path / "board")


def test_a_file_without_a_season_is_refused_by_name(season: Write) -> None:
    path = season("1.0.0")
    season_path(path).unlink()
    with pytest.raises(UserError, match=r"1\.0\.0\.jsonl has no season next to it"):
        board_rows([], [path])


def beside(run: RunFolder, season: Path, results: Path) -> pandas.DataFrame:
    return standings(board_rows([run], [season], {results: "Ada"})).set_index("system")


def test_answers_are_scored_as_runs_are(season: Write, tmp_path: Path) -> None:
    path = answered(tmp_path, {f"q{number}": RIGHT for number in range(4)})
    found = beside(over(tmp_path / "run", "1.1.0", {"rag": "rrrr"}), season("1.1.0"), path)
    assert found["total_score"].to_dict() == {"rag+m": 2.0, "theirs": 2.0}
    assert found["versions"].to_list() == ["1.1.0", "1.1.0"]


def test_answers_of_no_season_or_of_two_are_refused(season: Write, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"theirs\.json: no known season has a question of these ids.*--season"):
        board_rows([], [season("1.1.0")], {answered(tmp_path, {"elsewhere": RIGHT}): ""})
    with pytest.raises(UserError, match=r"the versions 1\.0\.0 and 1\.1\.0"):
        board_rows([], [season("1.0.0"), season("1.1.0")], {answered(tmp_path, {"q0": RIGHT}): ""})


def test_answers_are_read_with_ids_as_numbers_or_texts(tmp_path: Path) -> None:
    answers = {"q": {"found_ids": [7, "8", "7"], "model_answer": " Париж "}, "r": {}, "s": {"found_ids": None}}
    found = {name: (one.text, one.found) for name, one in read_results(answered(tmp_path, answers)).items()}
    assert found == {"q": ("Париж", ["7", "8"]), "r": ("", []), "s": ("", [])}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *[
            ('{"q": "Paris"}', "q: must be a mapping, not 'Paris'"),
            ('{"q": {"model_answer": 5}}', r"q\.model_answer: "),
        ],
        *[(f'{{"q": {{"found_ids": [{one}]}}}}', r"q\.found_ids\.0") for one in ("[7]", "true")],
        *[('{"q": {"model_anwser": "x"}}', r"q\.model_anwser: "), ("[]", r"must be a mapping, not \[\]")],
        *[("", "Invalid JSON"), ("[" * 100_000, "Invalid JSON")],
    ],
)
def test_a_file_of_another_form_is_an_error_that_names_the_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "results.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=rf"results\.json: {message}"):
        read_results(tmp_path / "results.json")


@pytest.fixture
def board(season: Write, tmp_path: Path) -> Path:
    """A board of two versions: one system on both, one on the old one only, a hostile name on the new one."""
    runs = [over(tmp_path / "old", "1.9.0", {"rag": "wwww", "pal": "rrrr"})]
    runs.append(over(tmp_path / "<img src=x onerror=alert(1)>", "1.10.0", {"rag": "rrgw", "direct": "rwww"}))
    write_leaderboard(runs, tmp_path / "board", [season("1.9.0"), season("1.10.0")])
    return tmp_path / "board"


def table(board: Path) -> list[dict[str, str]]:
    with (board / "tables" / "leaderboard.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_folder_holds_a_page_and_a_table_with_a_row_per_version_and_system(board: Path) -> None:
    assert (board / "index.html").is_file()
    shown = (board / "data" / "page.js").read_text(encoding="utf-8")
    assert all(text in shown for text in ("All versions", "Each version", "rag+m"))
    assert "<img" not in shown + (board / "index.html").read_text(encoding="utf-8")
    lines = table(board)
    assert [line["version"] for line in lines] == ["1.9.0", "1.9.0", "1.10.0", "1.10.0"]
    first = next(line for line in lines if line["version"] == "1.10.0" and line["system"] == "rag+m")
    assert [float(first[name]) for name in ("rank", "total_score", "generation_score")] == [1, 1.25, 0.5]


def test_submitted_answers_stand_on_the_board_once_approved(board: Path, season: Write, tmp_path: Path) -> None:
    file = answered(tmp_path, {f"q{number}": RIGHT for number in range(4)} | {"q3": WRONG}, "north wind")
    done = typed_here(["data", "leaderboard", "add", str(board), str(file), "--approved-by", "Ada Лавлейс"], tmp_path)
    assert done.returncode == 2, "the ids are those of both versions"
    assert "name one of them" in done.stderr
    assert not (board / "submissions" / "north_wind.json").exists()
    later = over(tmp_path / "later", "1.11.0", {"rag": "rrrr"})
    only_new = tmp_path / "new-board"
    write_leaderboard([later], only_new, [season("1.11.0")])
    approve(only_new, file, "Ada Лавлейс")
    line = next(line for line in table(only_new) if line["system"] == "north_wind")
    assert (line["approved_by"], float(line["generation_score"])) == ("Ada Лавлейс", 0.75)
    write_leaderboard([later], only_new, [tmp_path / "1.11.0.jsonl"])
    assert read_board(only_new).approved == {"north_wind.json": "Ada Лавлейс"}, "a new board keeps what was approved"
    with pytest.raises(UserError, match="the board has a submission 'north_wind"):
        approve(only_new, file, "Ada")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no leaderboard"),
        ("/dev/zero", r"board\.json: not a regular file"),
        ('{"runs": "x"}', r"board\.json: runs: "),
        ('{"approved": {"../../x.json": "Ada"}}', "is not the name of a file in submissions/"),
    ],
)
def test_a_folder_that_is_no_board_is_refused(tmp_path: Path, text: str, message: str) -> None:
    if text.startswith("/"):
        (tmp_path / "board.json").symlink_to(text)
    elif text:
        (tmp_path / "board.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        approve(tmp_path, answered(tmp_path, {"q0": RIGHT}), "Ada")


def test_a_run_is_submitted_as_a_file_that_the_board_takes(season: Write, tmp_path: Path) -> None:
    run, out = over(tmp_path / "run", "1.0.0", {"rag": "rrgw"}), tmp_path / "mine.json"
    done = typed_here(["data", "leaderboard", "submit", str(run.path), "--out", str(out)], tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{out}: 4 answers\n"), done.stderr
    found = beside(run, season("1.0.0"), out)
    scores = found[["generation_score", "retrieval_score"]]
    assert scores.loc["mine"].to_list() == scores.loc["rag+m"].to_list()
