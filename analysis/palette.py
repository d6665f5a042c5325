"""What a chart looks like: the colour of an LLM and of a response type, the symbol of a workflow, names that fit.

The palette is Okabe and Ito's, which the common kinds of colour blindness leave distinct.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from r_eval.analysis.frame import short_names
from r_eval.analysis.tables import visible

if TYPE_CHECKING:
    from r_eval.analysis.results import Results

Entry = tuple[str, str, str]
"""Of a legend: label, colour, and symbol ("" is a square of the colour)."""
INK = "#1c2126"
GREY = "#8a949e"
"""Colour of systems that use no LLM."""
LLM_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b6529a", "#b07900", "#3d9fd6", "#6b6b6b", "#7a5195")
TYPE_COLOURS = {"EM": "#0b4f8a", "AM": "#79b4e2", "GE": "#f2cf5b", "RE": "#e58a2b", "ME": "#a9afb5", "TE": "#8c2d04"}
CAUSE_COLOURS = ("#332288", "#88ccee", "#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677", "#882255")
"""Tol's muted palette, for causes: none of its colours is that of a response type or an LLM."""
_DARK_LLMS = ("#56b4e9", "#f58545", "#2fc79a", "#dd8fc4", "#eab541", "#9ad4f5", "#b5b5b5", "#b79bd6")
DARK = {
    **dict(zip(LLM_COLOURS, _DARK_LLMS, strict=True)),
    **{"#0b4f8a": "#3f8fd2", "#79b4e2": "#9fcdf0", "#f2cf5b": "#e8c547", "#e58a2b": "#d97b1f", "#a9afb5": "#7f8891"},
    **{"#8c2d04": "#c4512d", "#332288": "#7b6fd6", "#117733": "#3fa35f", "#882255": "#c4588f", INK: "#e6e8ea"},
}
"""What a colour becomes on dark paper; others stay."""
SYMBOLS = {
    **{"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "cross": "P", "star": "*", "pentagon": "p"},
    **{"hexagon": "h", "triangle-down": "v", "x": "X"},
}
"""Symbols by plotly's name, with matplotlib's."""
DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
NO_LLM = "none"
LONGEST = 34
"""Characters of a name in a chart."""


@dataclass(frozen=True, slots=True)
class Style:
    """By name: the colour, dash and short name of LLMs, the symbol of workflows, the label of systems."""

    colours: Mapping[str, str]
    dashes: Mapping[str, str]
    symbols: Mapping[str, str]
    short: Mapping[str, str]
    labels: Mapping[str, str]

    @classmethod
    def of(cls, results: Results) -> Style:
        """In the order of the grid."""
        own = results.cells[["system", "workflow", "llm"]].astype(str).drop_duplicates()
        llms, workflows = own["llm"].drop_duplicates().tolist(), own["workflow"].drop_duplicates().tolist()
        short = dict(zip(llms, map(clipped, short_names(llms)), strict=True))
        colours, dashes = {}, dict.fromkeys(llms, "solid")
        for place, llm in enumerate(llm for llm in llms if llm != NO_LLM):
            colours[llm] = LLM_COLOURS[place % len(LLM_COLOURS)]
            dashes[llm] = list(DASHES)[place // len(LLM_COLOURS) % len(DASHES)]
        labels = {
            system: clipped(workflow) if llm == NO_LLM else f"{clipped(workflow)} · {short[llm]}"
            for system, workflow, llm in own.itertuples(index=False)
        }
        symbols = {name: list(SYMBOLS)[place % len(SYMBOLS)] for place, name in enumerate(workflows)}
        return cls({**colours, NO_LLM: GREY}, dashes, symbols, short, labels)

    def llm_legend(self, llms: Sequence[str]) -> list[Entry]:
        """Legend entries of the LLMs that use their colour."""
        return [(self.short[llm], self.colours[llm], "circle") for llm in self.colours if llm in set(llms) - {NO_LLM}]

    def workflow_legend(self, workflows: Sequence[str]) -> list[Entry]:
        """Legend entries of workflows, in the colour of the text."""
        return [(clipped(one), INK, self.symbols[one]) for one in self.symbols if one in set(workflows)]


def clipped(name: str, longest: int = LONGEST) -> str:
    """A name on one line, cut where it is long."""
    line = visible(name) or "?"
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
