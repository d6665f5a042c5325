r"""Tidy frames as tables: CSV for programs; Markdown, LaTeX, terminal and notebook for people.

A program reads raw numbers. A person reads `score` with its interval in one column ("41.2 [30.1, 52.8]"), percent where
the column's name is that of a share (`is_percent`), and few digits. What a name or a cause holds is text in every
format: a spreadsheet takes nothing for a formula, and no character has a meaning in Markdown, LaTeX, HTML or rich
markup.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval.folder import write_whole

if TYPE_CHECKING:
    import pandas
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

ABSENT = "–"
"""Shown for a missing number."""
IDENTITY = ("workflow", "llm", "role")
"""Columns that say more about `system`; people read them only where there is no `system`."""
SHARES = frozenset(
    ("score", "share", "rate", "difference", "recall", "precision", "quality", "ndcg", "mrr", "mde", "gap", "coverage")
)
"""Words that begin or end the names of columns of shares, which people read as percent."""
TYPES = frozenset(("EM", "AM", "GE", "RE", "ME", "TE"))
"""Columns with the shares of the response types."""
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
_JOINERS = "\u200c\u200d"
_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "[": "{[}"}
_TEX |= {char: rf"\{char}" for char in "&%$#_{}"}
TEX_HEAD = "% Include with \\input; needs booktabs and longtable. Letters beyond Latin need XeLaTeX or LuaLaTeX.\n"


def write(frame: pandas.DataFrame, folder: Path, name: str, title: str = "", notes: Sequence[str] = ()) -> list[Path]:
    """Write a frame as `name`.csv, .md and .tex.

    Args:
        title: Heading of the Markdown and caption of the LaTeX file; by default the name.
        notes: Sentences below the table.

    Returns:
        The paths, CSV first.
    """
    title, cells = title or name, readable(frame)
    texts = {"csv": csv(frame), "md": markdown(cells, title, notes), "tex": latex(cells, title, notes)}
    for ending, text_ in texts.items():
        write_whole(folder / f"{name}.{ending}", text_)
    return [folder / f"{name}.{ending}" for ending in texts]


def readable(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The frame as texts: intervals merged, shares as percent, few digits, no character that cannot be seen.

    `x_low` and `x_high` go into `x`; `x_worst` and `x_best` are left out where they say no more than `x`; a condition
    is left out where there is only one. `attrs["numeric"]` names the columns of numbers.
    """
    import pandas

    columns: dict[str, list[str]] = {}
    numeric: list[str] = []
    names = [str(name) for name in frame.columns]
    for name in names:
        base, _, end = name.rpartition("_")
        values = frame[name]
        if base in names and (end in ("low", "high") or (end in ("worst", "best") and _says_nothing(frame, base))):
            continue
        if name in IDENTITY and "system" in names:
            continue
        if name == "condition" and values.nunique() < 2:
            continue
        if is_number(values):
            numeric.append(name)
        ends = [f"{name}_low", f"{name}_high"]
        texts = [number(name, value) for value in values]
        if name in ("cause", "outcome", "outcome_cause"):
            texts = [one.replace("_", " ") for one in texts]
        if all(one in names for one in ends):
            low, high = ([number(name, value) for value in frame[end]] for end in ends)
            merged = zip(texts, low, high, strict=True)
            texts = [mean if ABSENT in (mean, a, b) else f"{mean} [{a}, {b}]" for mean, a, b in merged]
        columns[name] = texts
    found = pandas.DataFrame(columns, columns=list(columns), index=frame.index, dtype="str")
    found.attrs["numeric"] = numeric
    return found


def is_number(values: pandas.Series[Any]) -> bool:
    """Whether a column holds numbers."""
    import pandas

    return pandas.api.types.is_numeric_dtype(values) and not pandas.api.types.is_bool_dtype(values)


def is_percent(name: str) -> bool:
    """Whether a column holds shares (0 to 1), by its name: score, score_a, response_share, difference, ..."""
    words = name.split("_")
    return words[0] in SHARES or words[-1] in SHARES or name in TYPES


def number(name: str, value: Any) -> str:
    """One value of a column as people read it.

    Example:
        >>> number("score", 0.4166), number("p", 0.00004), number("seconds", 12.3456), number("cost", None)
        ('41.7', '< 0.001', '12.3', '–')
    """
    import pandas

    if isinstance(value, str):
        return visible(value) or ABSENT
    if value is None or value is pandas.NA or value != value:
        return ABSENT
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return "yes" if value else "no"
    if isinstance(value, int) or (hasattr(value, "dtype") and value.dtype.kind in "iu"):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if is_percent(name):
        return f"{100 * value:.1f}"
    if name == "p" or name.startswith("p_"):
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    return _digits(float(value))


def _digits(value: float) -> str:
    """Three significant digits, never in exponent form."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.0f}"
    return f"{float(f'{value:.3g}'):.10f}".rstrip("0").rstrip(".")


def _says_nothing(frame: pandas.DataFrame, base: str) -> bool:
    """Whether the bounds for missing episodes are nowhere wider than the value itself."""
    ends = [frame[f"{base}_{end}"] for end in ("worst", "best") if f"{base}_{end}" in frame]
    return not any(((end - frame[base]).abs() >= 1e-9).fillna(False).any() for end in ends)


def rows_of(frame: pandas.DataFrame) -> Iterator[Any]:
    """The rows as named tuples; a value has the type of its column."""
    return iter(frame.itertuples(index=False))


def heading(column: object) -> str:
    """A column's heading: "seconds_p95" is "seconds p95", a share has its unit."""
    name = str(column)
    return f"{visible(name).replace('_', ' ')}{' %' if is_percent(name) else ''}"


def visible(text_: str) -> str:
    """A text on one line in which what cannot be seen, or turns the direction of writing, is named by its number."""
    if text_.isprintable():
        return text_
    spaces = "".join(" " if char in "\n\r\t\x0b\x0c\x85\u2028\u2029" else char for char in text_)
    hidden = (unicodedata.category(char) in _HIDDEN and char not in _JOINERS for char in spaces)
    seen = (f"[U+{ord(char):04X}]" if is_hidden else char for char, is_hidden in zip(spaces, hidden, strict=True))
    return " ".join("".join(seen).split())


# ---- formats


def csv(frame: pandas.DataFrame) -> str:
    """The text of a CSV file; a text that a spreadsheet would take for a formula gets an apostrophe in front."""
    safe = frame.rename(columns=lambda name: _no_formula(str(name)))
    texts = safe.columns[[not is_number(frame.iloc[:, place]) for place in range(len(frame.columns))]]
    safe[texts] = safe[texts].astype(object).map(_no_formula)
    text_ = io.StringIO()
    safe.to_csv(text_, index=False, lineterminator="\n", float_format="%.10g")
    return text_.getvalue()


def _no_formula(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    formula = value[:1] in ("=", "+", "-", "@", "\t", "\r") and not re.fullmatch(r"[+-]?\d+(\.\d+)?", value)
    text_ = value.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode("utf-8")
    return f"'{text_}" if formula else text_


def markdown(cells: pandas.DataFrame, title: str, notes: Sequence[str] = ()) -> str:
    """A heading, a table and its notes; `cells` is a frame of texts (`readable`)."""
    numeric = cells.attrs.get("numeric", ())
    rows = [[_md(heading(name)) for name in cells], ["---:" if name in numeric else "---" for name in cells]]
    rows += [[_md(cell) for cell in row] for row in cells.itertuples(index=False)]
    lines = [f"## {_md(title)}", "", *(f"| {' | '.join(row)} |" for row in rows), ""]
    return "\n".join([*lines, *(f"- {_md(note)}" for note in notes), ""]).rstrip("\n") + "\n"


def _md(text_: str) -> str:
    """No character keeps a meaning, at the beginning of a line neither."""
    escaped = re.sub(r"([\\`*_{}\[\]#|~$])", r"\\\1", visible(text_))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"^([+-])(?=\s|$)", r"\\\1", escaped)


def latex(cells: pandas.DataFrame, title: str, notes: Sequence[str] = ()) -> str:
    r"""A fragment for `\input`: a table that may go over several pages, and its notes."""
    numeric = cells.attrs.get("numeric", ())
    columns = "".join("r" if name in numeric else "l" for name in cells)
    texts = cells.map(tex).rename(columns=lambda name: tex(heading(name)))
    made = texts.to_latex(index=False, escape=False, longtable=True, caption=tex(title), column_format=columns)
    return TEX_HEAD + made + "".join(f"\\par {tex(note)}\n" for note in notes)


def tex(text_: str) -> str:
    r"""A text as LaTeX sets it.

    Example:
        >>> print(tex("a_b & 50%"))
        a\_b \& 50\%
    """
    return "".join(_TEX.get(char, char) for char in visible(text_))


def text(frame: pandas.DataFrame, title: str = "", notes: Sequence[str] = ()) -> Table:
    """The frame as a table for a rich console."""
    from rich.text import Text

    cells, table = readable(frame), rich_table(title)
    if notes:
        table.caption = Text("\n".join(map(visible, notes)), "dim")
    for name in cells:
        right = name in cells.attrs["numeric"]
        table.add_column(Text(heading(name)), justify="right" if right else "left", no_wrap=right, overflow="fold")
    for row in cells.itertuples(index=False):
        table.add_row(*map(BrokenText, row))
    return table


class BrokenText:
    """A text in the terminal that goes on behind a sign between words, such as the "/" in a name, where a line ends."""

    def __init__(self, text_: str, style: str = "") -> None:
        self.pieces, self.style = re.findall(r"[^\s/+:_-]*[\s/+:_-]*", text_), style

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.cells import cell_len
        from rich.measure import Measurement

        widths = [cell_len(piece) for piece in self.pieces]
        return Measurement(max(widths), sum(widths))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.cells import cell_len
        from rich.text import Text

        lines = [""]
        for piece in self.pieces:
            if lines[-1] and cell_len(lines[-1] + piece.rstrip()) > options.max_width:
                lines.append("")
            lines[-1] += piece
        yield Text("\n".join(map(str.rstrip, lines)), self.style, overflow="fold")


def rich_table(title: str) -> Table:
    """A table without columns, in the style of all."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title, "bold") if title else None, title_justify="left", caption_justify="left")
    table.box, table.pad_edge, table.collapse_padding = SIMPLE_HEAD, False, True
    return table
