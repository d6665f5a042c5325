"""Component results: their columns, and those that somebody published, a folder with a `components.csv` and no
episodes.

Columns of the file: `table, component, setting, task, metric, value`; a mean a line, in percent (`length` in
characters), with the table where it is printed. Such a folder is accepted wherever a run is; `sweeps` has the results
of runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval.analysis.csv_lines import MOST, number_in, table_lines
from r_eval.analysis.frame import FLAG, NUMBER, TEXT
from r_eval.analysis.means import ends
from r_eval.analysis.results import CLEAN, tidy
from r_eval.errors import UserError

if TYPE_CHECKING:
    import pandas

FILE = "components.csv"
COLUMNS = ("table", "component", "setting", "task", "metric", "value")
"""The columns of the file."""
SHARE = "share"
"""The unit of a metric from 0 to 1, of which more is better. No setting is best by another unit."""
UNITS = {"length": "characters", "seconds": "seconds", "prompt_tokens": "tokens", "completion_tokens": "tokens"}
"""Measures that are no share."""
COMPONENTS: dict[str, str] = {
    **dict.fromkeys(("study", "condition", "component", "setting"), TEXT),
    **dict.fromkeys(("base", "ordinal"), FLAG),
    **dict.fromkeys(("moved", "table", "task", "metric"), TEXT),
    "main": FLAG,
    **dict.fromkeys(ends("score", "number"), NUMBER),
    "unit": TEXT,
    **dict.fromkeys(("episodes", "incomplete", "questions", "clusters"), "Int64"),
}
"""The columns of `sweeps.components`."""


def read_components(folder: Path) -> pandas.DataFrame:
    """The results of a folder's components.csv with the columns COMPONENTS, settings in order, means as shares.

    Raises:
        UserError: The file is not there, lacks a column, or has a line that cannot be read or is there twice.
    """
    path = folder / FILE
    found: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    settings: dict[str, dict[str, None]] = {}
    metrics: dict[tuple[str, str], dict[str, None]] = {}
    for number, line in table_lines(path, COLUMNS):
        component, task, metric, setting = (line[name] for name in ("component", "task", "metric", "setting"))
        key = component, task, metric, setting
        if key in found:
            named = f"{component} {setting}, {task}, {metric}"
            raise UserError(f"{path}:{number}: a second value for {named}; give each mean once")
        unit = UNITS.get(metric, SHARE)
        value = number_in(path, number, line, "value", 100.0 if unit == SHARE else MOST)
        mean = {"score": value / 100} if unit == SHARE else {"number": value}
        found[key] = {**line, **mean, "unit": unit, "study": folder.name, "condition": CLEAN, "moved": ""}
        settings.setdefault(component, {})[setting] = None
        metrics.setdefault((component, task), {})[metric] = None
    rows = []
    for (component, task), names in metrics.items():
        values, ordinal = ordered(list(settings[component]))
        rows += [
            {**found[key], "base": False, "ordinal": ordinal, "main": metric == next(iter(names))}
            for metric in names
            for value in values
            if (key := (component, task, metric, value)) in found
        ]
    return tidy(rows, COMPONENTS)


def label(value: Any) -> str:
    """A setting's value as people read it.

    >>> label(64), label("10%"), label(None), label(["a", "b"])
    ('64', '10%', 'none', '["a", "b"]')
    """
    if isinstance(value, str):
        return value
    return "none" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def ordered(values: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """The values in order, and whether they are numbers: these ascend, as per cents do; else as they come.

    A 0 without a sign goes with per cents as well as with plain numbers.

    >>> ordered(["128", "8", "64"]), ordered(["0", "70%", "10%"]), ordered(["dense", "bm25"])
    ((('8', '64', '128'), True), (('0', '10%', '70%'), True), (('dense', 'bm25'), False))
    """
    numbers = [_number(value) for value in values]
    signs = {value.strip().endswith("%") for value, number in zip(values, numbers, strict=True) if number}
    if not values or len(signs) > 1 or None in numbers:
        return tuple(values), False
    return tuple(value for _, value in sorted(zip(numbers, values, strict=True), key=lambda pair: pair[0] or 0.0)), True


def _number(text: str) -> float | None:
    try:
        number = float(text.strip().removesuffix("%"))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
