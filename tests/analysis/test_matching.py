"""Which LLM suits which workflow, and what choosing a system for each question could reach."""

from __future__ import annotations

from pathlib import Path

from r_eval.analysis.compare import mirrored, pairs
from r_eval.analysis.matching import partners
from r_eval.analysis.results import Results, load
from r_eval.folder import RunFolder
from tests.analysis.answers import KS
from tests.analysis.test_results import PAPER, published

AXES = ("wiki_KS", "wiki_KU", "wiki_KA", "aminer_KS", "aminer_KU", "aminer_KA")


def best(results: Results) -> dict[tuple[str, str], str]:
    found = partners(results)
    return dict(zip(zip(found["name"], found["group"], strict=True), found["best"], strict=True))


def test_the_papers_best_llm_of_each_workflow_and_the_best_workflow_of_an_llm() -> None:
    gpt3, gpt4, llama = "gpt-3.5-turbo", "gpt-4-1106", "llama2-13b"
    expected = {
        "react": [gpt4] * 6,
        "pal": [llama, gpt3, llama, gpt3, gpt4, gpt3],
        "dfsdt": [gpt4, gpt4, gpt4, gpt3, gpt4, gpt3],
        "fc": [gpt4, gpt3, gpt4, gpt4, gpt4, gpt3],
    }
    found = best(load(RunFolder(PAPER)))
    assert {workflow: [found[workflow, axis] for axis in AXES] for workflow in expected} == expected
    assert found["gpt-4-1106", "all"] == "react"


def test_equal_means_are_all_the_best_and_who_lacks_a_task_is_no_candidate(tmp_path: Path) -> None:
    folder = published(tmp_path, "pal,a,1-1,10", "pal,b,1-1,10", "pal,c,1-1,5", "pal,d,1-2,99", "fc,a,1-1,3")
    results = load(folder).of([KS])
    found = partners(results)
    own = found[(found["name"] == "pal") & (found["group"] == "all")]
    assert own[["best", "rival"]].to_numpy().tolist() == [["a, b", "c"]]
    tied = partners(load(published(tmp_path / "tied", "pal,a,1-1,0", "pal,b,1-1,0")))
    assert tied.loc[tied["group"] == "all", ["best", "rival"]].to_numpy().tolist() == [["a, b", ""]]


def test_a_lead_has_the_p_and_the_interval_of_the_pair(results: Results) -> None:
    found, tests = partners(results), mirrored(pairs(results)).set_index(["system_a", "system_b"])
    row = found[(found["name"] == "pal") & (found["group"] == "all")].iloc[0]
    pair = tests.loc[(f"pal+{row['best']}", f"pal+{row['rival']}")]
    assert (row["best"], row["rival"]) == ("openai/gpt-4o-mini", "gguf/smollm2-135m")
    for name in ("questions", "difference", "difference_low", "difference_high", "p_adjusted", "significant"):
        assert row[name] == pair[name]
