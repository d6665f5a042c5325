"""Profiles, and which LLM suits which workflow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from r_eval.analysis.matching import Suited, profile, suited
from r_eval.analysis.published import load, read_published
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.statistics.board import board
from r_eval.analysis.statistics.paired import compare, holm
from r_eval.analysis.systems import clusters_of, systems
from r_eval.folder import RunFolder

PAPER = Path(__file__).parents[2] / "examples" / "paper"


def published(folder: Path, *lines: str) -> Aggregates:
    (folder / "scores.csv").write_text("\n".join(["workflow,llm,task,score", *lines, ""]), encoding="utf-8")
    return read_published(folder)


# profiles


@pytest.fixture(scope="module")
def paper() -> Aggregates:
    return read_published(PAPER)


def test_the_axes_are_domain_and_level(paper: Aggregates) -> None:
    found = profile(paper)
    assert found.axes == ("wiki_KS", "wiki_KU", "wiki_KA", "aminer_KS", "aminer_KU", "aminer_KA")
    assert (len(found.systems), len(found.values)) == (21, 21)


def test_or_the_tasks(paper: Aggregates) -> None:
    assert len(profile(paper, "task").axes) == 12


def test_over_the_best_each_axis_has_a_1_and_nothing_above(paper: Aggregates) -> None:
    found = profile(paper, base="best")
    assert [max(value for value in axis if value is not None) for axis in zip(*found.values, strict=True)] == [1.0] * 6


def test_over_a_system_that_system_is_1_everywhere(paper: Aggregates) -> None:
    found = profile(paper, base="pal+gpt-4-1106")
    assert found.values[found.systems.index("pal+gpt-4-1106")] == (1.0,) * 6


def test_a_base_of_0_gives_none_and_breaks_nothing(paper: Aggregates) -> None:
    found = profile(paper, "task", base="dfsdt+toolllama2-7b")
    axis = found.axes.index("aminer/profiling")
    assert {line[axis] for line in found.values} == {None}


def test_an_axis_where_all_are_0_is_none_for_all(tmp_path: Path) -> None:
    found = profile(published(tmp_path, "pal,a,1-1,0", "pal,b,1-1,0"), "task", base="best")
    assert found.values == ((None,), (None,))


def test_a_level_of_which_a_task_is_missing_has_no_value(tmp_path: Path) -> None:
    found = profile(published(tmp_path, "pal,a,1-1,10", "pal,a,1-2,20", "pal,b,1-1,30"))
    assert found.values == ((pytest.approx(0.15),), (None,))


def test_an_unknown_base_is_named(paper: Aggregates) -> None:
    with pytest.raises(ValueError, match="no system 'nobody'"):
        profile(paper, base="nobody")


def test_bounds_are_not_the_best_that_others_are_divided_by(run: RunFolder) -> None:
    found = profile(load(run), base="best")
    oracle = found.values[found.systems.index("oracle+none")]
    assert all(value is not None and value > 1 for value in oracle)


# who suits whom


def best(found: Sequence[Suited]) -> dict[tuple[str, str], tuple[str, ...]]:
    return {(one.fixed, one.axis): one.best for one in found}


def test_the_papers_best_llm_of_each_workflow_and_cell(paper: Aggregates) -> None:
    gpt3, gpt4, llama = "gpt-3.5-turbo", "gpt-4-1106", "llama2-13b"
    axes = profile(paper).axes
    expected = {
        "react": [gpt4] * 6,
        "pal": [llama, gpt3, llama, gpt3, gpt4, gpt3],
        "dfsdt": [gpt4, gpt4, gpt4, gpt3, gpt4, gpt3],
        "fc": [gpt4, gpt3, gpt4, gpt4, gpt4, gpt3],
    }
    found = best(suited(paper))
    assert {workflow: [found[workflow, axis] for axis in axes] for workflow in expected} == {
        workflow: [(llm,) for llm in llms] for workflow, llms in expected.items()
    }


def test_or_the_best_workflow_of_each_llm(paper: Aggregates) -> None:
    assert best(suited(paper, "llm"))["gpt-4-1106", "all"] == ("react",)


def test_without_episodes_nothing_is_told_apart(paper: Aggregates) -> None:
    found = suited(paper)
    assert {rival.p for one in found for rival in one.rivals} == {None}
    assert not any(one.told_apart for one in found)


def test_equal_means_are_all_the_best(tmp_path: Path) -> None:
    found = suited(published(tmp_path, "pal,a,1-1,10", "pal,b,1-1,10", "pal,c,1-1,5"))
    assert best(found)["pal", "all"] == ("a", "b")


def test_who_lacks_a_task_of_the_axis_is_no_candidate(tmp_path: Path) -> None:
    found = suited(published(tmp_path, "pal,a,1-1,10", "pal,b,1-1,5", "pal,c,1-2,99"))
    assert best(found) == {}


@pytest.fixture(scope="module")
def tested(run: RunFolder) -> dict[tuple[str, str], Suited]:
    found = suited(load(run), systems=systems(run))
    return {(one.fixed, one.axis): one for one in found}


def test_a_clear_lead_is_told_apart(tested: dict[tuple[str, str], Suited]) -> None:
    one = tested["pal", "all"]
    assert (one.best, one.told_apart) == (("openai/gpt-4o-mini",), True)


def test_a_small_lead_is_not(tested: dict[tuple[str, str], Suited]) -> None:
    one = tested["fc", "wiki_KA"]
    assert (one.best, one.told_apart) == (("gguf/smollm2-135m",), False)


def test_the_comparison_rests_on_the_common_questions_of_the_axis(tested: dict[tuple[str, str], Suited]) -> None:
    rival = tested["pal", "wiki"].rivals[0]
    assert 30 <= rival.questions <= 40
    assert rival.lead == pytest.approx(rival.behind, abs=0.1)


def test_p_is_that_of_the_paired_comparison(run: RunFolder, tested: dict[tuple[str, str], Suited]) -> None:
    scores = {one.name: {task: cell.by_question() for task, cell in one.cells.items()} for one in systems(run)}
    found = compare(board(scores, clusters_of([run])), "pal+openai/gpt-4o-mini", "pal+gguf/smollm2-135m")
    rival = tested["pal", "all"].rivals[0]
    assert (rival.questions, rival.lead) == (found.questions, pytest.approx(found.difference))
    assert rival.p == pytest.approx(found.p, abs=0.002)


def test_several_rivals_are_corrected_for(run: RunFolder) -> None:
    one = next(one for one in suited(load(run), "llm", systems(run)) if one.axis == "all")
    scores = {each.name: {task: cell.by_question() for task, cell in each.cells.items()} for each in systems(run)}
    everything = board(scores, clusters_of([run]))
    first = f"{one.best[0]}+{one.fixed}"
    alone = [compare(everything, first, f"{rival.name}+{one.fixed}").p for rival in one.rivals]
    assert [rival.p for rival in one.rivals] == [pytest.approx(p, abs=0.01) for p in holm(alone)]
    assert len(alone) == 4
