"""Retrieval and generation by type of question, and the table of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.analysis.question_types import OfType, by_type, in_order
from r_eval.analysis.tables.formats import write_sheet
from r_eval.analysis.tables.question_types import question_types_sheet
from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome, Question, Step
from tests.analysis.conftest import write_manifest

Make = Callable[..., Episode]
TASK = "wiki/high-freq"
TYPED = {"q0": "simple", "q1": "simple", "q2": "comparison", "q3": "comparison", "q4": ""}
FOUND = {"q0": ["a#1"], "q1": ["x#1"], "q2": ["x#1", "a#3"], "q4": ["a#1"]}
RIGHT = {"q0": "Nairobi", "q1": "Lamu", "q2": "Nairobi", "q4": "Nairobi"}


def run_of(path: Path, make: Make, answers: dict[str, str], expected: int, condition: str = "clean") -> RunFolder:
    """A run of rag and direct, which answer the same; all questions have one right document, "a"."""
    cells = [Cell(workflow, "m", condition, TASK) for workflow in ("rag", "direct")]
    write_manifest(path, cells, expected, (condition,))
    run = RunFolder(path)
    run.questions_file(TASK).parent.mkdir()
    with run.questions_file(TASK).open("w", encoding="utf-8") as file:
        for id_, type_ in TYPED.items():
            meta = {"text_ids": ["a"], **({"type": type_} if type_ else {})}
            question = Question(id=id_, question="Where?", answers=["Nairobi"], level="KS", meta=meta)
            file.write(question.model_dump_json() + "\n")
    for cell in cells:
        writer = CellWriter(cell.path(run.episodes_root))
        for id_, answer in answers.items():
            call = Step(kind="call", api="retrieve", observation="A text.", found=FOUND[id_])
            made = make(
                **{"episode_id": f"{cell.system}-{id_}", "question_id": id_, "task": TASK, "answer": answer},
                **{"workflow": cell.workflow, "llm": "m", "condition": condition},
                steps=[call] if cell.workflow == "rag" else [],
            )
            writer.append(made.model_dump_json(by_alias=True))
        writer.close()
    return run


def lines_of(found: list[OfType], system: str) -> dict[str, OfType]:
    return {line.type: line for line in found if line.system == system}


@pytest.fixture
def found(tmp_path: Path, make_episode: Make) -> list[OfType]:
    """q3 is not answered yet."""
    return by_type([run_of(tmp_path / "run", make_episode, RIGHT, 5)])


def test_types_have_their_own_lines_and_one_over_all(found: list[OfType]) -> None:
    assert list(lines_of(found, "rag+m")) == ["simple", "comparison", ""]


def test_generation_is_the_score_and_retrieval_the_mean_of_hit_recall_and_ndcg(found: list[OfType]) -> None:
    simple = lines_of(found, "rag+m")["simple"]
    assert (simple.generation.mean, simple.retrieval.mean, simple.total) == (0.5, 0.5, 1.0)
    assert simple.generation.low is not None
    assert simple.generation.high is not None
    assert 0 <= simple.generation.low < 0.5 < simple.generation.high <= 1


def test_a_question_without_an_answer_is_counted_and_0_in_both(found: list[OfType]) -> None:
    comparison = lines_of(found, "rag+m")["comparison"]
    assert (comparison.n, comparison.missing, comparison.generation.mean) == (2, 1, 0.5)
    assert comparison.retrieval.mean == pytest.approx((1 + 1 + 0.6309297535714575) / 3 / 2)


def test_over_all_types_every_question_with_a_type_weighs_the_same(found: list[OfType]) -> None:
    all_types = lines_of(found, "rag+m")[""]
    assert (all_types.n, all_types.missing, all_types.generation.mean) == (4, 1, 0.5)


def test_a_system_that_does_not_search_has_no_retrieval_and_no_total(found: list[OfType]) -> None:
    simple = lines_of(found, "direct+m")["simple"]
    assert (simple.retrieval.mean, simple.total, simple.generation.mean) == (None, None, 0.5)


def test_a_failure_of_the_machinery_is_missing(tmp_path: Path, make_episode: Make) -> None:
    def failing(**fields: object) -> Episode:
        outcome = Outcome(kind="llm_failure", cause="server") if fields["question_id"] == "q0" else None
        return make_episode(**fields, **({"outcome": outcome} if outcome else {}))

    simple = lines_of(by_type([run_of(tmp_path / "run", failing, RIGHT, 4)]), "rag+m")["simple"]
    assert (simple.n, simple.missing, simple.generation.mean, simple.retrieval.mean) == (2, 1, 0.0, 0.0)


def test_questions_that_a_condition_drops_do_not_count(tmp_path: Path, make_episode: Make) -> None:
    found = by_type([run_of(tmp_path / "run", make_episode, RIGHT, 4, "counterfactual")])
    assert (lines_of(found, "rag+m")[""].n, lines_of(found, "rag+m")[""].missing) == (3, 0)


def test_questions_without_types_give_no_lines(tmp_path: Path, make_episode: Make) -> None:
    run = run_of(tmp_path / "run", make_episode, RIGHT, 5)
    lines = run.questions_file(TASK).read_text(encoding="utf-8").splitlines()
    bare = [{**json.loads(line), "meta": {}} for line in lines]
    run.questions_file(TASK).write_text("".join(json.dumps(line) + "\n" for line in bare), encoding="utf-8")
    assert by_type([run]) == []


def test_types_stand_in_the_order_of_the_graphs_and_then_by_name() -> None:
    assert in_order(["b", "comparison", "a", "set"]) == ["set", "comparison", "a", "b"]


def test_the_table_has_percent_for_programs_and_a_view_for_people(found: list[OfType], tmp_path: Path) -> None:
    paths = {path.suffix: path for path in write_sheet(question_types_sheet(found), tmp_path)}
    rows = list(csv.DictReader(paths[".csv"].read_text(encoding="utf-8").splitlines()))
    first = rows[0]
    assert (first["system"], first["type"], first["n"], first["generation"], first["total"]) == (
        *("rag+m", "simple", "2", "50.00", "100.00"),
    )
    assert (rows[2]["type"], rows[3]["retrieval"]) == ("all types", "")
    assert "| rag | m | all types | 4 |" in paths[".md"].read_text(encoding="utf-8")
    assert paths.keys() == {".csv", ".md", ".tex"}
