"""Any frame in every format: raw numbers for programs, few digits for people, and no character with a meaning."""

from __future__ import annotations

import csv
import html
import io
import re
from pathlib import Path

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from r_eval.analysis import tables

FRAME = pandas.DataFrame(
    {
        "condition": ["clean", "clean"],
        "system": ["react+a/b", "=cmd|' /C calc'!A0"],
        "workflow": ["react", "pal"],
        "score": [0.41666, float("nan")],
        "score_low": [0.3, float("nan")],
        "score_high": [0.5281, float("nan")],
        "seconds_mean": [12.3456, 1234.5],
        "p_adjusted": [0.00004, 0.5],
        "significant": [True, False],
        "rank": pandas.array([1, None], dtype="Int64"),
        "cause": ["program_syntax", ""],
    }
)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        *[("score", 0.41666, "41.7"), ("response_share", 1.0, "100.0"), ("difference_low", -0.0512, "-5.1")],
        *[("p", 0.00004, "< 0.001"), ("p_adjusted", 1.0, "1.000"), ("EM", 0.5, "50.0"), ("best", 3.0, "3")],
        *[("seconds_p95", 12.3456, "12.3"), ("seconds_p95", 0.000123, "0.000123"), ("cost_mean", 0.0, "0")],
        *[("prompt_tokens", 1234567.0, "1,234,567"), ("episodes", 12345, "12,345"), ("complete", True, "yes")],
        *[("score", float("nan"), "–"), ("rank", pandas.NA, "–"), ("cause", "", "–")],
    ],
)
def test_a_value_is_shown_by_its_columns_name(name: str, value: object, text: str) -> None:
    assert tables.number(name, value) == text


def test_people_read_intervals_in_one_column_and_no_column_that_says_nothing() -> None:
    shown = tables.readable(FRAME.assign(score_worst=FRAME["score"], score_best=FRAME["score"]))
    assert list(shown) == ["system", "score", "seconds_mean", "p_adjusted", "significant", "rank", "cause"]
    assert shown["score"].tolist() == ["41.7 [30.0, 52.8]", "–"]
    assert shown["cause"].tolist() == ["program syntax", "–"]
    assert shown.attrs["numeric"] == ["score", "seconds_mean", "p_adjusted", "rank"]


def test_a_program_reads_raw_numbers_and_no_formula(tmp_path: Path) -> None:
    paths = tables.write(FRAME, tmp_path, "found", "Found", ["A note."])
    assert [path.name for path in paths] == ["found.csv", "found.md", "found.tex"]
    with paths[0].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["score"], rows[1]["score"], rows[0]["rank"], rows[1]["rank"]) == ("0.41666", "", "1", "")
    assert rows[1]["system"] == "'=cmd|' /C calc'!A0"


@given(st.text(max_size=30))
def test_no_text_is_a_formula_or_breaks_a_row(text: str) -> None:
    made = tables.csv(pandas.DataFrame({"system": [text], "difference": [-0.5]}))
    header, row = csv.reader(io.StringIO(made, newline=""))
    assert (header, row[1]) == (["system", "difference"], "-0.5")
    assert row[0][:1] not in ("=", "+", "-", "@", "\t", "\r") or re.fullmatch(r"[+-]?\d+(\.\d+)?", row[0])


@given(st.text(max_size=30))
def test_no_text_has_a_meaning_in_markdown_latex_or_the_terminal(text: str) -> None:
    frame = pandas.DataFrame({"system": [text], "score": [0.5]})
    shown = tables.visible(text) or tables.ABSENT
    lines = tables.markdown(tables.readable(frame), text, [text]).splitlines()
    row = next(line for line in lines if line.endswith("| 50.0 |"))
    unescaped = html.unescape(re.sub(r"\\([\\`*_{}\[\]#|~$+-])", r"\1", row[2 : -len(" | 50.0 |")]))
    assert unescaped.strip() == shown.strip()
    assert not re.search(r"(?<!\\)[&%$#_](?!\w*\{)", tables.tex(text).replace("\\textbackslash{}", ""))
    console = Console(file=io.StringIO(), width=400, color_system=None)
    console.print(tables.text(frame, "A table"))
    assert "50.0" in console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        *[("a\nb\t c", "a b c"), ("x\u202ey", "x[U+202E]y"), ("nul\x00", "nul[U+0000]"), ("\ud800", "[U+D800]")],
        ("e\u0301", "e\u0301"),
    ],
)
def test_what_cannot_be_seen_is_named(text: str, seen: str) -> None:
    assert tables.visible(text) == seen


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (40, ["react+openai/gpt-4o-mini"]),
        (20, ["react+openai/gpt-4o-", "mini"]),
        (8, ["react+", "openai/", "gpt-4o-", "mini"]),
        (4, ["reac", "t+", "open", "ai/", "gpt-", "4o-", "mini"]),
    ],
)
def test_a_name_goes_on_in_the_next_line_behind_a_separator(width: int, lines: list[str]) -> None:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(tables.BrokenText("react+openai/gpt-4o-mini"))
    assert console.file.getvalue().split() == lines  # type: ignore[attr-defined]
