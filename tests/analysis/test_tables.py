"""The table files and the terminal's tables."""

from __future__ import annotations

import csv
from pathlib import Path

from rich.console import Console

from r_eval.analysis.aggregate import aggregate
from r_eval.analysis.summary import response_table, score_tables, short_names
from r_eval.analysis.tables import write_tables
from r_eval.folder import RunFolder


def lines(run: RunFolder, folder: Path, name: str) -> list[dict[str, str]]:
    write_tables(aggregate(run), folder)
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_there_are_four_tables(run: RunFolder, tmp_path: Path) -> None:
    names = [path.name for path in write_tables(aggregate(run), tmp_path)]
    assert names == ["scores.csv", "responses.csv", "deployment.csv", "failures.csv"]


def test_scores_has_the_columns_of_the_interface_first(run: RunFolder, tmp_path: Path) -> None:
    assert list(lines(run, tmp_path, "scores")[0])[:19] == [
        *("system", "workflow", "llm", "wiki/high-freq", "wiki/hotpotqa", "aminer/soay-easy", "aminer/soay-hard"),
        *("average_wiki", "average_aminer", "average_all", "rank_wiki_KS", "rank_wiki_KA", "rank_aminer_KS"),
        *("rank_aminer_KA", "rank_wiki", "rank_aminer", "rank_all", "episodes", "incomplete"),
    ]


def test_scores_are_percent(run: RunFolder, tmp_path: Path) -> None:
    oracle = next(line for line in lines(run, tmp_path, "scores") if line["workflow"] == "oracle")
    assert oracle["average_all"] == "100.00"


def test_bounds_are_not_ranked(run: RunFolder, tmp_path: Path) -> None:
    ranked = {line["workflow"] for line in lines(run, tmp_path, "scores") if line["rank_all"]}
    assert ranked.isdisjoint({"direct", "oracle"})


def test_episodes_and_incomplete_add_up_to_the_grid(run: RunFolder, tmp_path: Path) -> None:
    assert {int(line["episodes"]) + int(line["incomplete"]) for line in lines(run, tmp_path, "scores")} == {80}


def test_shares_add_up_to_100(run: RunFolder, tmp_path: Path) -> None:
    sums = [
        sum(float(line[key]) for key in ("EM", "AM", "GE", "RE", "ME", "TE"))
        for line in lines(run, tmp_path, "responses")
    ]
    assert all(abs(total - 100) < 0.04 for total in sums)


def test_an_unknown_price_is_an_empty_field(run: RunFolder, tmp_path: Path) -> None:
    costs = {line["cost"] for line in lines(run, tmp_path, "deployment") if line["llm"].startswith("gguf")}
    assert costs == {""}


def test_failures_say_whether_they_count_as_answered(run: RunFolder, tmp_path: Path) -> None:
    counted = {line["outcome"]: line["counts_as"] for line in lines(run, tmp_path, "failures")}
    assert (counted["tool_misuse"], counted["llm_failure"]) == ("answered", "incomplete")


def test_the_terminal_tables_fit_100_columns(run: RunFolder) -> None:
    console = Console(width=100, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(*score_tables(aggregate(run)), response_table(aggregate(run)))
    text = captured.get()
    assert "…" not in text
    assert "dfsdt+openai/gpt-4o-mini" in text


def test_short_names_keep_the_domain_where_they_would_be_the_same() -> None:
    assert short_names(["wiki/easy", "aminer/easy", "wiki/hard"]) == ["wiki/easy", "aminer/easy", "hard"]
