"""The figures of a report as PNG, SVG and PDF: radars, heat map, response types, deployment, difficulty of questions.

matplotlib is imported when a figure is drawn, without pyplot: no window, no state that others see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from r_eval.analysis.deployment import Deployed
from r_eval.analysis.figures.bars import response_bars
from r_eval.analysis.figures.difficulty import difficulty
from r_eval.analysis.figures.heatmap import heat_map
from r_eval.analysis.figures.radar import radars
from r_eval.analysis.figures.rings import response_rings
from r_eval.analysis.figures.scatter import deployment_scatter
from r_eval.analysis.figures.style import Style, save, shown, styled
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.systems import System
from r_eval.folder import file_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figures", "names_written", "write_figures"]

NAMED = 3
"""Names of which it is said that no font has them."""


def write_figures(
    aggregates: Aggregates,
    folder: Path,
    deployed: Sequence[Deployed] = (),
    found: Sequence[System] = (),
    told: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write every figure that there are numbers for; the paths, the formats of a figure one after the other.

    Args:
        deployed: What the systems took, from `deployment`; without it there is no figure of it.
        found: The systems with their columns, from `systems`; without them there is no figure of the questions.
        told: Given a sentence where no installed font has the characters of a name.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    paths: list[Path] = []
    with styled(names_written(aggregates)) as lacking:
        for name, figure in figures(aggregates, deployed, found):
            paths += save(figure, folder, name)
    if paths and lacking and told is not None:
        told(_boxes(aggregates, lacking))
    return paths


def names_written(aggregates: Aggregates) -> list[str]:
    """What the figures write that is not theirs."""
    systems = [name for row in aggregates.rows for name in (row.workflow, row.llm)]
    return [*systems, *(task.name for task in aggregates.tasks), *aggregates.groups]


def _boxes(aggregates: Aggregates, lacking: set[str]) -> str:
    """Which names have boxes in the figures, and what to do about it."""
    names = [shown(name) for name in dict.fromkeys(names_written(aggregates)) if lacking & set(name)]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return (
        f"figures: no font here has all characters of {', '.join(names[:NAMED])}{more}; boxes stand for them."
        " Install a font that has them (for Chinese: Noto Sans CJK) and make the report again"
    )


def figures(
    aggregates: Aggregates, deployed: Sequence[Deployed] = (), found: Sequence[System] = ()
) -> Iterator[tuple[str, Figure]]:
    """The figures with the names of their files, drawn one at a time; to be asked for within `styled`."""
    style = Style.of(aggregates)
    for condition in aggregates.conditions:
        ending = f"-{file_name(condition)}" if len(aggregates.conditions) > 1 else ""
        for name, figure in _figures(aggregates, condition, style, deployed, found):
            if figure is not None:
                yield f"{file_name(name)}{ending}", figure


def _figures(
    aggregates: Aggregates, condition: str, style: Style, deployed: Sequence[Deployed], found: Sequence[System]
) -> Iterator[tuple[str, Figure | None]]:
    """The figures of a condition; None for those without numbers."""
    yield from radars(aggregates, condition, style)
    yield "heat-map", heat_map(aggregates, condition, style)
    if aggregates.has_episodes:
        yield "responses", response_bars(aggregates, condition, style)
        yield "response-rings", response_rings(aggregates, condition, style)
        yield "deployment", deployment_scatter([one for one in deployed if one.condition == condition], style)
        yield "difficulty", difficulty(aggregates, [one for one in found if one.condition == condition])
