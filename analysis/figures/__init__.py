"""The figures of a report as PNG and SVG: radars, deployment, response types.

matplotlib is imported when a figure is drawn, without pyplot: no window, no state that others see.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from r_eval.analysis.deployment import Deployed
from r_eval.analysis.figures.bars import response_bars
from r_eval.analysis.figures.radar import radars
from r_eval.analysis.figures.scatter import deployment_scatter
from r_eval.analysis.figures.style import Style, save, styled
from r_eval.analysis.rows import Aggregates
from r_eval.folder import file_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["write_figures"]


def write_figures(aggregates: Aggregates, folder: Path, deployed: Sequence[Deployed] = ()) -> list[Path]:
    """Write every figure that there are numbers for; the paths, PNG before SVG.

    Args:
        deployed: What the systems took, from `deployment`; without it there is no figure of it.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    paths: list[Path] = []
    style = Style.of(aggregates)
    with styled():
        for condition in aggregates.conditions:
            ending = f"-{file_name(condition)}" if len(aggregates.conditions) > 1 else ""
            figures: dict[str, Figure | None] = dict(radars(aggregates, condition, style))
            if aggregates.has_episodes:
                figures["responses"] = response_bars(aggregates, condition)
                figures["deployment"] = deployment_scatter([d for d in deployed if d.condition == condition], style)
            for name, figure in figures.items():
                if figure is not None:
                    paths += save(figure, folder, f"{file_name(name)}{ending}")
    return paths
