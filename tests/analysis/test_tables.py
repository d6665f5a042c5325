"""The table files and the terminal's tables."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from r_eval.analysis.aggregate import aggregate
from r_eval.analysis.published import read_published
from r_eval.analysis.summary import response_table, score_tables, short_names
from r_eval.analysis.systems import systems
from r_eval.analysis.tables import Sheet, View, episode_sheets, write_sheet, write_tables
from r_eval.analysis.tables.formats import csv_text, latex_text, markdown_text, tex
from r_eval.analysis.tables.scores import scores
from r_eval.analysis.tables.sheet import ABSENT
from r_eval.folder import RunFolder

PAPER = Path(__file__).parents[2] / "examples" / "paper"


def lines(run: RunFolder, folder: Path, name: str) -> list[dict[str, str]]:
    write_tables(aggregate(run), folder, episode_sheets([run], systems(run)))
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_there_are_five_tables_in_three_formats(run: RunFolder, tmp_path: Path) -> None:
    names = [path.name for path in write_tables(aggregate(run), tmp_path, episode_sheets([run], systems(run)))]
    tables = ("scores", "responses", "failures", "causes", "deployment")
    assert names == [f"{table}.{ending}" for table in tables for ending in ("csv", "md", "tex")]


def test_scores_has_the_columns_of_the_interface_first(run: RunFolder, tmp_path: Path) -> None:
    assert list(lines(run, tmp_path, "scores")[0])[:19] == [
        *("system", "workflow", "llm", "wiki/high-freq", "wiki/hotpotqa", "aminer/soay-easy", "aminer/soay-hard"),
        *("average_wiki", "average_aminer", "average_all", "rank_wiki_KS", "rank_wiki_KA", "rank_aminer_KS"),
        *("rank_aminer_KA", "rank_wiki", "rank_aminer", "rank_all", "episodes", "incomplete"),
    ]


def test_scores_are_percent(run: RunFolder, tmp_path: Path) -> None:
    oracle = next(line for line in lines(run, tmp_path, "scores") if line["workflow"] == "oracle")
    assert oracle["average_all"] == "100.00"


def test_references_alone_are_not_ranked(run: RunFolder, tmp_path: Path) -> None:
    ranked = {line["workflow"] for line in lines(run, tmp_path, "scores") if line["rank_all"]}
    assert "direct" in ranked
    assert "oracle" not in ranked


def test_episodes_and_incomplete_add_up_to_the_grid(run: RunFolder, tmp_path: Path) -> None:
    assert {int(line["episodes"]) + int(line["incomplete"]) for line in lines(run, tmp_path, "scores")} == {80}


def test_shares_add_up_to_100(run: RunFolder, tmp_path: Path) -> None:
    sums = [
        sum(float(line[key]) for key in ("EM", "AM", "GE", "RE", "ME", "TE"))
        for line in lines(run, tmp_path, "responses")
    ]
    assert all(abs(total - 100) < 0.04 for total in sums)


def test_an_unknown_price_is_an_empty_field(run: RunFolder, tmp_path: Path) -> None:
    costs = {line["cost_mean"] for line in lines(run, tmp_path, "deployment") if line["llm"].startswith("gguf")}
    assert costs == {""}


def test_failures_say_whether_they_count_as_answered(run: RunFolder, tmp_path: Path) -> None:
    counted = {line["outcome"]: line["counts_as"] for line in lines(run, tmp_path, "failures")}
    assert (counted["tool_misuse"], counted["llm_failure"]) == ("answered", "incomplete")


def test_percentiles_and_fronts_come_with_what_the_systems_took(run: RunFolder, tmp_path: Path) -> None:
    found = {line["system"]: line for line in lines(run, tmp_path, "deployment") if line["domain"] == "all"}
    best, unpriced = found["fc+openai/gpt-4o-mini"], found["fc+gguf/smollm2-135m"]
    assert float(best["seconds_p50"]) <= float(best["seconds_p90"]) <= float(best["seconds_p99"])
    assert (best["front_cost"], unpriced["front_cost"], unpriced["cost_p95"]) == ("yes", "", "")


def test_every_task_says_how_many_episodes_stand_behind_it(run: RunFolder, tmp_path: Path) -> None:
    for line in lines(run, tmp_path, "scores"):
        counts = [int(line[name]) for name in line if name.startswith("episodes_")]
        assert sum(counts) == int(line["episodes"])


# the score table as people read it


def views(folder: Path, *written: str) -> list[View]:
    (folder / "scores.csv").write_text("\n".join(["workflow,llm,task,score", *written, ""]), encoding="utf-8")
    return scores(read_published(folder)).views


def test_the_paper_has_a_table_a_domain_and_the_averages_in_the_last() -> None:
    wiki, aminer = scores(read_published(PAPER)).views
    assert [sum(name[:1].isdigit() for name in view.header) for view in (wiki, aminer)] == [9, 3]
    assert wiki.header[4] == "KS rank"
    assert aminer.header[-6:] == [
        "wiki average",
        "wiki rank",
        "aminer average",
        "aminer rank",
        "all average",
        "all rank",
    ]


def test_systems_stand_in_the_order_of_their_rank() -> None:
    _, aminer = scores(read_published(PAPER)).views
    assert [int(line[-1]) for line in aminer.lines] == list(range(1, 22))


def test_averages_of_many_tasks_have_a_table_of_their_own(tmp_path: Path) -> None:
    found = views(tmp_path, *(f"pal,a,wiki/t{number},4" for number in range(20)))
    assert found[-1].header == ["workflow", "llm", "all average", "all rank"]


def test_ties_are_all_in_bold_and_share_the_rank(tmp_path: Path) -> None:
    (view,) = views(tmp_path, "pal,a,1-1,10", "pal,b,1-1,10", "pal,c,1-1,5")
    assert {(line, 2) for line in (0, 1)} <= view.bold
    assert (2, 2) not in view.bold
    assert [line[-1] for line in view.lines] == ["1", "1", "3"]


def test_a_column_of_zeros_has_no_best(tmp_path: Path) -> None:
    (view,) = views(tmp_path, "pal,a,1-1,0", "pal,b,1-1,0")
    assert view.bold == frozenset()


def test_a_missing_task_is_named_and_the_system_not_ranked(tmp_path: Path) -> None:
    (view,) = views(tmp_path, "pal,a,1-1,10", "pal,a,1-2,20", "pal,b,1-1,30")
    assert [line[:2] for line in view.lines] == [["pal", "a"], ["pal", "b"]]
    assert view.lines[1][3] == ABSENT
    assert "No score for 1-2 low-freq: pal+b." in view.notes
    assert "A system that lacks a task behind an average is not ranked by it." in view.notes


def test_an_average_over_fewer_tasks_says_so(tmp_path: Path) -> None:
    (folder := tmp_path / "p").mkdir()
    (folder / "scores.csv").write_text(
        "workflow,llm,task,score,episodes\npal,a,1-1,10,50\npal,a,1-2,20,50\npal,b,1-1,30,50\n", encoding="utf-8"
    )
    (view,) = scores(read_published(folder)).views
    assert view.lines[1][-2] == "30.0 (n=50, 1/2 tasks)"


def test_numbers_with_fewer_episodes_than_the_column_say_so(run: RunFolder) -> None:
    wiki = scores(aggregate(run)).views[0]
    assert wiki.header[2] == "1-1 high-freq (n=20)"
    assert any("(n=18)" in line[2] for line in wiki.lines)
    assert any(
        note.startswith("Episodes that are missing, and count neither way: fc+openai/gpt-4o-mini 2,")
        for note in wiki.notes
    )


def test_references_stand_last_and_are_never_bold(run: RunFolder) -> None:
    wiki = scores(aggregate(run)).views[0]
    assert ["oracle" in line for line in wiki.lines] == [False] * 10 + [True]
    assert all(line < 10 for line, _ in wiki.bold)


def test_published_means_say_that_their_episodes_are_not_known() -> None:
    assert (
        "How many episodes stand behind the published means is not known."
        in scores(read_published(PAPER)).views[0].notes
    )


# formats

HOSTILE = "a|b & 50% of $x_1$ \\input{f} #1 ~^ <b>`c` [d] {e} *f*\nnext\tline -- \"g\" 'h' \x00\u2028end"


def hostile(folder: Path, name: str = HOSTILE) -> dict[str, str]:
    header = ["system", name, "score"]
    sheet = Sheet(
        "t",
        name,
        header,
        [[name, name, "1.5"]],
        [View(name, header, [[name, name, "1.5"]], frozenset({(0, 1)}), [name])],
    )
    return {path.suffix: path.read_text(encoding="utf-8") for path in write_sheet(sheet, folder)}


def test_hostile_names_stay_in_their_csv_field(tmp_path: Path) -> None:
    hostile(tmp_path)
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["system", HOSTILE, "score"], [HOSTILE, HOSTILE, "1.5"]]


@pytest.mark.parametrize("text", ["=cmd()", "+1+1", "-1+1", "@sum", "\tx"])
def test_what_a_spreadsheet_would_compute_gets_an_apostrophe(text: str) -> None:
    found = list(csv.reader(io.StringIO(csv_text([text], [[text]]), newline="")))
    assert found == [[f"'{text}"], [f"'{text}"]]


def test_a_carriage_return_ends_no_row() -> None:
    assert list(csv.reader(io.StringIO(csv_text(["a\r\nb"], [["\rx"]]), newline=""))) == [["a\nb"], ["'\nx"]]


@pytest.mark.parametrize("value", ["-1.5", "+2", -0.25, "a=b", ""])
def test_numbers_and_other_texts_stay_as_they_are(value: object) -> None:
    assert next(csv.reader([csv_text([], [[value, "x"]]).splitlines()[1]])) == [str(value), "x"]


def test_hostile_names_stay_in_their_markdown_cell(tmp_path: Path) -> None:
    text = hostile(tmp_path)[".md"]
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in table] == [4, 4, 4]
    assert "<b>" not in text
    assert not re.search(r"(?<!\\)[`\[\]$#~](?!# )", text.replace("## ", ""))


def test_a_note_begins_no_list(tmp_path: Path) -> None:
    assert "\n- \\+ x" in hostile(tmp_path, "+ x")[".md"]


def test_hostile_names_keep_no_meaning_in_latex(tmp_path: Path) -> None:
    body = hostile(tmp_path)[".tex"].split("\\begin{table}[htbp]")[1]
    assert "\\textbackslash{}input\\{f\\}" in body
    assert not re.search(r"(?<!\\)[$#%_^~]", body)
    assert body.count("{") - body.count("\\{") == body.count("}") - body.count("\\}")
    rows = [line for line in body.splitlines() if line.endswith(r" \\")]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [2, 2]


@given(st.text(max_size=60))
def test_any_name_leaves_the_latex_table_its_shape(name: str) -> None:
    text = tex(name)
    assert "\n" not in text
    assert "--" not in text
    depth = 0
    for token in re.findall(r"\\.|[{}&%$#_^~]", text):
        depth += {"{": 1, "}": -1}.get(token, 0)
        assert depth >= 0
        assert token in "{}" or token[0] == "\\"
    assert depth == 0


@given(st.text(max_size=60))
def test_any_name_leaves_the_markdown_table_its_shape(name: str) -> None:
    (line,) = markdown_text([View("t", ["a"], [[name]])]).splitlines()[4:]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 2


def test_letters_beyond_latin_name_the_engine_that_they_need(tmp_path: Path) -> None:
    assert "XeLaTeX" in hostile(tmp_path, "回答")[".tex"]
    assert "XeLaTeX" not in hostile(tmp_path, "réponse – ok")[".tex"]


def test_a_long_latex_table_goes_on_on_the_next_page() -> None:
    text = latex_text([View("t", ["a", "b"], [[str(number), "x"] for number in range(100)], notes=["n"])])
    assert (text.count(r"\begin{table}"), text.count(r"\clearpage"), text.count(r"\par n")) == (3, 2, 1)
    assert text.count("continued") == 2


def test_wide_latex_tables_are_set_small() -> None:
    wide, narrow = (latex_text([View("t", ["a"] * columns, [["12345"] * columns])]) for columns in (30, 3))
    assert (r"\tiny" in wide, r"\small" in narrow) == (True, True)


@pytest.mark.parametrize("package", ["", r"\usepackage{booktabs}"])
def test_the_latex_tables_compile(run: RunFolder, tmp_path: Path, package: str) -> None:
    latex = shutil.which("pdflatex")
    if latex is None:
        pytest.skip("pdflatex is not installed; the other tests check escapes and structure")
    found = [path.name for path in write_tables(aggregate(run), tmp_path, episode_sheets([run], systems(run)))]
    hostile(tmp_path)
    if package and subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False).returncode:
        pytest.skip("booktabs is not installed")
    inputs = "\n".join(rf"\input{{{name}}}" for name in [*found, "t.tex"] if name.endswith(".tex"))
    document = f"\\documentclass{{article}}\n{package}\n\\begin{{document}}\n{inputs}\n\\end{{document}}\n"
    (tmp_path / "all.tex").write_text(document, encoding="utf-8")
    command = [latex, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size > 10_000


# the terminal


def test_the_terminal_tables_fit_100_columns(run: RunFolder) -> None:
    console = Console(width=100, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(*score_tables(aggregate(run)), response_table(aggregate(run)))
    text = captured.get()
    assert "…" not in text
    assert "dfsdt+openai/gpt-4o-mini" in text


def test_short_names_keep_the_domain_where_they_would_be_the_same() -> None:
    assert short_names(["wiki/easy", "aminer/easy", "wiki/hard"]) == ["wiki/easy", "aminer/easy", "hard"]
