"""Real files of published datasets load with the number of records that they are said to hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.tasks.loaders import load

KOLA = {
    "1-1_2_high_freq_ent": "KS",
    "2-1_COPEN++csj": "KU",
    "2-2_COPEN++cpj": "KU",
    "2-3_COPEN++cic": "KU",
    "3-1_hotpotqa": "KA",
    "3-4_kqapro": "KA",
}


def path_of(data_folder: Path, name: str) -> Path:
    path = data_folder / name
    if not path.exists():
        pytest.skip(f"R_EVAL_DATA holds no {name}")
    return path


@pytest.mark.parametrize("name", sorted(KOLA))
def test_a_sample_of_kola_holds_five_questions(data_folder: Path, name: str) -> None:
    data = load(path_of(data_folder, f"kola/{name}_sample.json"))
    assert (data.format, data.records, len(data.questions)) == ("kola", 5, 5)
    assert {q.level for q in data.questions} == {KOLA[name]}
    assert not any("\nA:" in q.question or q.question.startswith("Q:") for q in data.questions)


def test_simplified_hotpotqa_holds_7405_questions(data_folder: Path) -> None:
    data = load(path_of(data_folder, "hotpotqa/hotpot_dev_v1_simplified.json"))
    assert (data.format, data.records, len(data.questions), data.n_broken) == ("hotpotqa", 7405, 7405, 0)


def test_crud_s_generated_questions_are_800_records_of_which_760_are_whole_and_751_answerable(
    data_folder: Path,
) -> None:
    data = load(path_of(data_folder, "crud/QuestAnswer1Doc_quest_gt_save.json"))
    assert (data.format, data.records, data.n_broken) == ("crud-questions", 800, 0)
    assert data.skipped["documents of which not every question has an answer"] == 800 - 760
    assert len({q.meta["document"] for q in data.questions}) == 751
    assert len(data.questions) == 2149
