"""What can be measured of a drawn figure: where its texts stand, and whether one covers another."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

SLACK = 0.5
"""Pixels that texts may touch by."""


def texts(figure: Figure) -> list[Text]:
    """The texts that can be seen."""
    from matplotlib.text import Text

    return [text for text in _all(figure) if isinstance(text, Text) and text.get_visible() and text.get_text().strip()]


def words(figure: Figure) -> list[str]:
    """What they say."""
    return [text.get_text() for text in texts(figure)]


def _all(artist: Any) -> Iterator[Any]:
    """An artist and those in it that are drawn; ticks beyond an axis' ends are not."""
    from matplotlib.axis import Axis, Tick

    yield artist
    for child in artist.get_children():
        off = isinstance(child, Axis) and not getattr(artist, "axison", True)
        if isinstance(child, Tick) and isinstance(artist, Axis):
            low, high = sorted(artist.get_view_interval())
            off = not low - 1e-9 <= child.get_loc() <= high + 1e-9
        if child.get_visible() and not off:
            yield from _all(child)


def drawn(figure: Figure) -> Any:
    """Place the parts of a figure as `save` does, without a picture; returns what measures its texts."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from r_eval.analysis.figures.style import settle

    canvas: Any = FigureCanvasAgg(figure)
    settle(figure)
    figure.draw_without_rendering()
    return canvas.get_renderer()


def covering(figure: Figure, renderer: Any) -> list[tuple[str, str]]:
    """Pairs of texts of which one covers the other; turned texts are compared by their own corners."""
    placed = [(text.get_text(), _corners(text, renderer)) for text in texts(figure)]
    placed.sort(key=lambda one: min(one[1]))
    found = []
    for place, (a, one) in enumerate(placed):
        right = max(x for x, _ in one)
        near = itertools.takewhile(lambda other: min(other[1])[0] < right, placed[place + 1 :])  # noqa: B023
        found += [(a, b) for b, two in near if _overlap(one, two)]
    return found


def outside(figure: Figure, renderer: Any) -> list[str]:
    """Texts that are not whole on the paper."""
    width, height = figure.get_size_inches() * figure.dpi
    found = []
    for text in texts(figure):
        box = text.get_window_extent(renderer)
        if box.x0 < -SLACK or box.y0 < -SLACK or box.x1 > width + SLACK or box.y1 > height + SLACK:
            found.append(text.get_text())
    return found


Corners = list[tuple[float, float]]


def _corners(text: Text, renderer: Any) -> Corners:
    """The corners of a text as it stands on the paper, its turning included."""
    angle = text.get_rotation()
    if not angle:
        box = text.get_window_extent(renderer)
        return [(box.x0, box.y0), (box.x1, box.y0), (box.x1, box.y1), (box.x0, box.y1)]
    from matplotlib.transforms import Affine2D

    anchor = text.get_transform().transform(text.get_unitless_position())
    text.set_rotation(0)
    box = text.get_window_extent(renderer)
    text.set_rotation(angle)
    turned = Affine2D().rotate_deg_around(float(anchor[0]), float(anchor[1]), angle)
    flat = [(box.x0, box.y0), (box.x1, box.y0), (box.x1, box.y1), (box.x0, box.y1)]
    return [(float(x), float(y)) for x, y in turned.transform(flat)]


def _overlap(one: Corners, two: Corners) -> bool:
    """Whether two rectangles overlap by more than SLACK: none of their sides separates them."""
    for corners in (one, two):
        for (x0, y0), (x1, y1) in ((corners[0], corners[1]), (corners[1], corners[2])):
            length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 or 1.0
            along = ((x1 - x0) / length, (y1 - y0) / length)
            spans = [[x * along[0] + y * along[1] for x, y in each] for each in (one, two)]
            if min(max(span) for span in spans) - max(min(span) for span in spans) <= SLACK:
                return False
    return True
