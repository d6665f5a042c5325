"""What the figures share: a colour for each LLM and a marker for each workflow, the same ones as on the page."""

from __future__ import annotations

import io
import math
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval.analysis.figures.fonts import OWN, families
from r_eval.analysis.rows import Aggregates, Row
from r_eval.analysis.summary import short_names
from r_eval.errors import MissingExtra
from r_eval.folder import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b6529a", "#b07900", "#3d9fd6", "#6b6b6b", "#7a5195")
DASHES = ("-", "--", ":", "-.")
"""An LLM beyond the colours takes the first colour again, with the next dash."""
MARKERS = ("o", "s", "D", "^", "P", "*", "p", "h", "v", "X")
LONGEST = 36
"""Characters of a name in a figure."""
INK, DIM, FAINT = "#1c2126", "#5b646d", "#c9ced4"
NO_LLM, GREY = "none", "#8a949e"
"""The name that stands where a workflow asks no LLM, and its colour; no colour of the LLMs is spent on it."""
FORMATS: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""Formats, with what is left out of them so that the same data give the same bytes."""
DPI = 150


@dataclass(frozen=True, slots=True)
class Style:
    """By name: the colour and dash of LLMs, the marker of workflows, and the name that an LLM is shown by."""

    colours: dict[str, str]
    dashes: dict[str, str]
    markers: dict[str, str]
    short: dict[str, str]

    @classmethod
    def of(cls, aggregates: Aggregates) -> Style:
        """In the order in which the names are met, which is the page's too."""
        every = list(dict.fromkeys(row.llm for row in aggregates.rows))
        llms = [llm for llm in every if llm != NO_LLM]
        workflows = list(dict.fromkeys(row.workflow for row in aggregates.rows))
        return cls(
            {llm: COLOURS[number % len(COLOURS)] for number, llm in enumerate(llms)} | {NO_LLM: GREY},
            {llm: DASHES[number // len(COLOURS) % len(DASHES)] for number, llm in enumerate(llms)} | {NO_LLM: "-"},
            {workflow: MARKERS[number % len(MARKERS)] for number, workflow in enumerate(workflows)},
            {llm: shown(short) for llm, short in zip(every, short_names(every), strict=True)},
        )

    def name(self, row: Row, between: str = " · ") -> str:
        """A system's name as the page has it."""
        workflow = shown(row.workflow)
        return workflow if row.llm == NO_LLM else f"{workflow}{between}{self.short[row.llm]}"

    def llm_handles(self, llms: Sequence[str], lines: bool = True) -> list[Line2D]:
        """Legend entries for LLMs: a line, or a patch of their colour."""
        from matplotlib.lines import Line2D

        how = {"marker": "o", "linestyle": ""} if not lines else {"linewidth": 2.2}
        return [
            Line2D([], [], color=self.colours[llm], label=self.short[llm], **{"linestyle": self.dashes[llm], **how})  # type: ignore[arg-type]
            for llm in llms
        ]

    def workflow_handles(self, workflows: Sequence[str]) -> list[Line2D]:
        """Legend entries for workflows: their markers, in grey."""
        from matplotlib.lines import Line2D

        return [
            Line2D([], [], color=INK, marker=self.markers[w], linestyle="", markerfacecolor="none", label=shown(w))
            for w in workflows
        ]


@contextmanager
def styled(names: Sequence[str] = ()) -> Iterator[set[str]]:
    """Settings of matplotlib for the figures, put back afterwards. No text of a name is read as a formula.

    A character that no font here has becomes a box, without a word from matplotlib for each.

    Args:
        names: What will be written; fonts that have its characters are looked for among those that are installed.

    Returns:
        The characters that no font has.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra("matplotlib", "report", "Drawing figures") from None
    fonts, lacking = families([shown(name, len(name) + 1) for name in names])
    ours: dict[Any, Any] = {
        "text.parse_math": False,
        "text.usetex": False,
        "font.family": [*(fonts if len(fonts) > 1 else ()), "sans-serif"],  # each of them is asked for every text
        "font.sans-serif": [OWN, *(name for name in matplotlib.rcParams["font.sans-serif"] if name != OWN)],
        **{f"font.{kind}": [] for kind in ("serif", "cursive", "fantasy", "monospace")},  # of no use here
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.edgecolor": FAINT,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": FAINT,
        "grid.linewidth": 0.6,
        "text.color": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "legend.frameon": False,
        "svg.hashsalt": "r-eval",
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
        "hatch.linewidth": 0.6,
        "hatch.color": FAINT,
    }
    with matplotlib.rc_context(ours), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield lacking


def placed_figure(width: float, height: float, gap: float = 0.1) -> Figure:
    """An empty figure, in inches, whose parts matplotlib places so that none covers another.

    That takes long with many texts: those that stand within something else are better left out of the layout.

    Args:
        gap: Inches at the left and right of each part.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("constrained", w_pad=gap, h_pad=0.08)
    return figure


def legend_columns(width: float, labels: Sequence[str]) -> int:
    """How many columns of a legend a figure of this width, in inches, holds."""
    longest = max((len(label) for label in labels), default=1)
    return max(1, min(len(labels), int(width * 12 / (longest + 7))))


def legend_of(groups: Sequence[Sequence[Line2D]], width: float) -> tuple[list[Line2D], int]:
    """Handles of several kinds and the number of columns: each kind begins a column of its own.

    Columns that are not full are filled with handles that show nothing, since matplotlib goes on in the next place.

    Args:
        width: Of the figure, in inches.
    """
    from matplotlib.lines import Line2D

    groups = [group for group in groups if group]
    labels = [str(handle.get_label()) for group in groups for handle in group]
    most = max(legend_columns(width, labels), len(groups))
    high = next(high for high in range(1, len(labels) + 1) if sum(-(-len(group) // high) for group in groups) <= most)
    filled = []
    for group in groups:
        filled += [*group, *(Line2D([], [], linestyle="", label="") for _ in range(-len(group) % high))]
    return filled, len(filled) // high


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure in each of the formats, whole files without a date."""
    paths = []
    settle(figure)
    for ending, metadata in FORMATS.items():
        written = io.BytesIO()
        figure.savefig(written, format=ending, dpi=DPI, metadata=metadata)
        paths.append(folder / f"{name}.{ending}")
        write_whole(paths[-1], [written.getvalue()])
    return paths


def whole(share: float) -> str:
    """A share in whole percent, halves up as the page has them."""
    return str(math.floor(100 * share + 0.5 + 1e-9))


def settle(figure: Figure) -> None:
    """Have matplotlib find the places of a figure's parts, once and not for each format."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine("none")


def shown(name: str, longest: int = LONGEST) -> str:
    """A name in one line, cut where it is long; what cannot be seen or turns the direction of text is left out."""
    seen = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in name)
    line = " ".join(seen.split()) or "?"
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
