"""Which episodes of a cell are recorded, and in what order its file is put."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval import Grid
from r_eval.records import Episode, OutcomeKind
from r_eval.runner.ledger import Ledger
from r_eval.runner.plan import PlannedCell, resolve
from tests.runner.desks import make_episode

EPOCHS, QUESTIONS = 2, 3
KINDS: list[OutcomeKind] = ["finished", "llm_failure"]


@pytest.fixture(scope="module")
def cell() -> PlannedCell:
    grid = Grid(llms=["openai/m"], workflows=["direct"], tasks=["aminer/soay-easy"])
    return resolve(grid, limit=QUESTIONS).cells[0]


def episode(cell: PlannedCell, place: int, kind: OutcomeKind, answer: str) -> Episode:
    """The episode of a place in a complete file."""
    epoch, number = divmod(place, QUESTIONS)
    made = make_episode(cell, number, kind, answer)
    return made.model_copy(update={"epoch": epoch, "episode_id": f"{place}"})


def answers(path: Path) -> list[str]:
    return [json.loads(line)["answer"] for line in path.read_text(encoding="utf-8").splitlines()]


@given(tries=st.lists(st.tuples(st.integers(0, EPOCHS * QUESTIONS - 1), st.sampled_from(KINDS)), max_size=14))
def test_a_ledger_knows_the_same_from_the_file_as_from_what_was_added(
    tmp_path_factory: pytest.TempPathFactory, cell: PlannedCell, tries: list[tuple[int, OutcomeKind]]
) -> None:
    path = tmp_path_factory.mktemp("ledger") / "cell.jsonl"
    added = Ledger(cell, EPOCHS, path)
    newest: dict[int, OutcomeKind] = {}
    for number, (place, kind) in enumerate(tries):
        made = episode(cell, place, kind, str(number))
        added.append(made, made.model_dump_json())
        newest[place] = kind
    missing = [p for p in range(EPOCHS * QUESTIONS) if newest.get(p) != "finished"]
    for found in (added, Ledger(cell, EPOCHS, path)):
        assert [(q.id, e) for q, e in found.missing()] == [
            (cell.planned.questions[p % QUESTIONS].id, p // QUESTIONS) for p in missing
        ]
        assert (found.left(), found.count()) == (len(missing), EPOCHS * QUESTIONS - len(missing))


@given(order=st.permutations(range(EPOCHS * QUESTIONS)), twice=st.sets(st.integers(0, EPOCHS * QUESTIONS - 1)))
def test_the_bytes_of_a_complete_file_depend_on_no_order_and_no_earlier_tries(
    tmp_path_factory: pytest.TempPathFactory, cell: PlannedCell, order: list[int], twice: set[int]
) -> None:
    path = tmp_path_factory.mktemp("ledger") / "cell.jsonl"
    book = Ledger(cell, EPOCHS, path)
    for place, attempt in itertools.chain(((p, "old") for p in sorted(twice)), ((p, "new") for p in order)):
        made = episode(cell, place, "finished" if attempt == "new" else "llm_failure", f"{attempt} {place} Ü")
        book.append(made, made.model_dump_json())
    if writer := book.release():
        writer.close()
    book.sort()
    assert answers(path) == [f"new {place} Ü" for place in range(EPOCHS * QUESTIONS)]
