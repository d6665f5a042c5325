r"""One table in three formats, whatever characters its names hold.

CSV: a text that a spreadsheet would take for a formula (it begins with = + - @, a tab or a carriage return) gets an
apostrophe in front, in the header too; numbers are left as they are. A carriage return becomes a line end. Markdown:
characters with a meaning are escaped, line ends become spaces. LaTeX: a fragment for `\input` that needs no package and
uses the rules of booktabs where the document loads it; letters beyond Latin need XeLaTeX or LuaLaTeX, and the file then
says so in its first lines.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from r_eval.analysis.tables.sheet import Sheet, View
from r_eval.folder import write_whole

NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
MANY = 8
"""Columns from which a LaTeX table has its headings in several lines and its columns close together."""
NARROW = 8
"""Characters from which a word of such a heading is broken."""
SIZES = ((90, r"\small"), (105, r"\footnotesize"), (120, r"\scriptsize"))
"""Characters in a line of a LaTeX table up to which it has a size; beyond it is tiny."""
PAGE = 45
"""Lines of a LaTeX table on a page; the rest goes on on the next."""

_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedblright{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "·": r"\textperiodcentered{}",
    "±": r"\ensuremath{\pm}",
    "≤": r"\ensuremath{\le}",
    "≥": r"\ensuremath{\ge}",
    "'": "{'}",  # in braces: no ligature with its neighbour
    "`": "{`}",
    "[": "{[}",  # not the optional argument of the row before
    "]": "{]}",
    "*": "{*}",
} | {char: f"\\{char}" for char in "&%$#_{}"}
_TEX_HEAD = r"""% Take it in with \input. It needs no package; with booktabs loaded its rules are used.
\providecommand{\toprule}{\hline}
\providecommand{\midrule}{\hline}
\providecommand{\bottomrule}{\hline}
"""
_TEX_BEYOND = "% It holds letters beyond Latin: compile with XeLaTeX or LuaLaTeX and a font that has them.\n"


def write_sheet(sheet: Sheet, folder: Path) -> list[Path]:
    """Write a table as CSV, Markdown and LaTeX; the paths, CSV first."""
    texts = {
        "csv": csv_text(sheet.header, sheet.lines),
        "md": markdown_text(sheet.shown()),
        "tex": latex_text(sheet.shown()),
    }
    for ending, text in texts.items():
        write_whole(folder / f"{sheet.name}.{ending}", text)
    return [folder / f"{sheet.name}.{ending}" for ending in texts]


def csv_text(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """The text of a CSV file.

    Example:
        >>> csv_text(["system", "score"], [["=1+1", -0.5], ["pal", None]])
        "system,score\\n'=1+1,-0.5\\npal,\\n"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_no_formula(name) for name in header])
    writer.writerows([_no_formula(value) for value in line] for line in lines)
    return text.getvalue()


def markdown_text(views: Sequence[View]) -> str:
    """The text of a Markdown file: a heading, a table and its notes, for each view."""
    parts = []
    for view in views:
        places = ["---"] * view.left + ["---:"] * (len(view.header) - view.left)
        rows = [
            [f"**{_md(text)}**" if (number, column) in view.bold else _md(text) for column, text in enumerate(line)]
            for number, line in enumerate(view.lines)
        ]
        table = [[_md(name) for name in view.header], places, *rows]
        lines = [f"## {_md(view.title)}", "", *(f"| {' | '.join(row)} |" for row in table)]
        lines += ["", *(f"- {_md_line(note)}" for note in view.notes)] if view.notes else []
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def latex_text(views: Sequence[View]) -> str:
    """The text of a LaTeX fragment: a table environment for each view."""
    tables = [r"\clearpage".join(f"{part}\n" for part in _latex_parts(view)) for view in views]
    texts = [text for view in views for text in (view.title, *view.header, *view.notes)]
    texts += [text for view in views for line in view.lines for text in line]
    beyond = any(char > "\u017f" and char not in _TEX for text in texts for char in text)
    return _TEX_HEAD + (_TEX_BEYOND if beyond else "") + "\n" + "\n".join(tables)


def tex(text: str) -> str:
    r"""A text as LaTeX sets it: no character keeps a meaning, line ends and control characters are spaces.

    Example:
        >>> print(tex("a_b & 50%"))
        a\_b \& 50\%
    """
    set_ = "".join(_TEX.get(char, char) for char in _one_line(text))
    return re.sub(r"-(?=-)", "-{}", set_)


def _latex_parts(view: View) -> Iterator[str]:
    """A table environment a page; the notes stand under the last one."""
    many = len(view.header) >= MANY
    lengths = [len(max(_broken(name), key=len)) if many else len(name) for name in view.header]
    for line in view.lines:
        lengths = [max(length, len(text)) for length, text in zip(lengths, line, strict=True)]
    letters = sum(lengths) + len(lengths)
    size = next((size for most, size in SIZES if letters <= most), r"\tiny")
    head = [_turned(name) if many and number >= view.left else tex(name) for number, name in enumerate(view.header)]
    rows = [
        [rf"\textbf{{{tex(text)}}}" if (number, column) in view.bold else tex(text) for column, text in enumerate(line)]
        for number, line in enumerate(view.lines)
    ]
    for start in range(0, max(1, len(rows)), PAGE):
        part = [
            r"\begin{table}[htbp]",
            r"\centering",
            rf"\caption{{{tex(view.title + (', continued' if start else ''))}}}",
            *([size, r"\setlength{\tabcolsep}{2pt}"] if many else [size]),
            rf"\begin{{tabular}}{{{'l' * view.left}{'r' * (len(view.header) - view.left)}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *(" & ".join(row) + r" \\" for row in rows[start : start + PAGE]),
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par {tex(note)}" for note in view.notes if start + PAGE >= len(rows)),
            r"\end{table}",
        ]
        yield "\n".join(part) + "\n"


def _broken(name: str) -> list[str]:
    """A long heading over a narrow column, in several lines: broken where its parts meet."""
    words = name.split()
    lines = [part for word in words for part in (re.split(r"(?<=[/_-])", word) if len(word) > NARROW else [word])]
    return lines or [""]


def _turned(name: str) -> str:
    lines = _broken(name)
    inner = r" \\ ".join(tex(line) for line in lines)
    return rf"\begin{{tabular}}[b]{{@{{}}r@{{}}}}{inner}\end{{tabular}}" if len(lines) > 1 else tex(name)


def _no_formula(value: Any) -> Any:
    if not isinstance(value, str):
        return "" if value is None else value
    formula = value[:1] in ("=", "+", "-", "@", "\t", "\r") and not NUMBER.fullmatch(value)
    text = value.replace("\r\n", "\n").replace("\r", "\n")  # the csv module leaves a lone one unquoted
    return f"'{text}" if formula else text


def _md(text: str) -> str:
    line = _one_line(text)
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|~$])", r"\\\1", line)


def _md_line(text: str) -> str:
    """A text at the beginning of a line, where it must begin neither a list nor a quotation."""
    return re.sub(r"^([+-])", r"\\\1", _md(text))


def _one_line(text: str) -> str:
    """Without line ends, tabs, control characters and lone surrogates."""
    shown = "".join(" " if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") else char for char in text)
    return " ".join(shown.split())
