"""Published component results: a folder with a components.csv."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.analysis.published_results import read_components
from r_eval.analysis.results import load
from r_eval.analysis.sweeps import recommend
from r_eval.errors import UserError
from r_eval.folder import RunFolder

HEAD = "table,component,setting,task,metric,value"


def write(folder: Path, *lines: str, head: str = HEAD) -> Path:
    (folder / "components.csv").write_text("\n".join([head, *lines, ""]), encoding="utf-8")
    return folder


def test_settings_stand_in_order_and_means_have_no_interval(tmp_path: Path) -> None:
    found = read_components(write(tmp_path, "3,chunk_size,128,t,bleu,23.69", "3,chunk_size,64,t,bleu,24.60"))
    assert found["setting"].to_list() == ["64", "128"]
    assert found["score"].to_list() == pytest.approx([0.246, 0.2369])
    assert found["score_low"].isna().all()
    assert found[["study", "condition", "table", "ordinal"]].iloc[0].to_list() == [tmp_path.name, "clean", "3", True]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("3,k,1,t,bleu,140", r"components.csv:2: value is '140'; expected a number from 0 to 100"),
        ("3,k,1,t,length,nan", r"components.csv:2: value is 'nan'; expected a number of 0 or more"),
        ("3,k,1,t,,1", r"components.csv:2: a value is missing"),
        ("3,k,1,t,bleu", r"components.csv:2: a value is missing"),
        ("3,k,1,t,bleu,1\n3,k,1,t,bleu,2", r"components.csv:3: a second value for k 1, t, bleu"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_components(write(tmp_path, line))


def test_of_published_means_there_is_a_best_setting_and_a_trend_and_no_choice(tmp_path: Path) -> None:
    write(tmp_path, "3,k,2,t,bleu,2", "3,k,1,t,bleu,1", "3,k,1,t,rouge_l,5", "3,k,2,t,rouge_l,4")
    found = recommend(load(RunFolder(tmp_path)))
    assert found[["metric", "best", "trend", "choice"]].to_numpy().tolist() == [
        ["bleu", "2", "rising", ""],
        ["rouge_l", "1", "falling", ""],
    ]
    assert not found["significant"].any()
