"""The chemical elements, from the database that the package mendeleev carries.

It is read directly, since the package itself takes ten seconds for it. `gazetteer/elements.tsv` mends years of
discovery, and leaves out ("-") years, categories, and places in the periodic table (group and block) on which sources
differ. Discoverers come from the table of scientists.
"""

from __future__ import annotations

import importlib.util
import sqlite3
from contextlib import closing
from pathlib import Path

from .geography import GAZETTEER
from .world import Draft, World, cells, read_table

_CATEGORIES = {"Poor metals": "post-transition metals"}
_LAST_KNOWN_CHEMISTRY = 108
_LAST_STABLE = 83


def add_elements(world: World) -> None:
    """All 118; a symbol is a further name.

    Raises:
        ModuleNotFoundError: The package mendeleev is not installed.
    """
    found = importlib.util.find_spec("mendeleev")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'mendeleev'", name="mendeleev")
    sql = """
        SELECT elements.name, symbol, atomic_number, period, group_id, block, series.name, discovery_year,
            electronic_configuration,
            (SELECT max(melting_point) FROM phasetransitions AS phase
             WHERE phase.atomic_number = elements.atomic_number GROUP BY atomic_number
             HAVING count(*) = 1 AND NOT max(coalesce(is_sublimation_point, 0)))
        FROM elements LEFT JOIN series ON series.id = series_id ORDER BY atomic_number"""
    address = f"{(Path(found.origin).parent / 'elements.db').as_uri()}?mode=ro"
    own = {row["symbol"]: row for row in read_table(GAZETTEER / "elements.tsv")}
    with closing(sqlite3.connect(address, uri=True)) as database:
        for row in database.execute(sql):
            world.add(_draft(own.get(row[1], {}), *row))


def _draft(
    own: dict[str, str],
    name: str,
    symbol: str,
    number: int,
    period: int,
    group: int | None,
    block: str,
    category: str,
    year: int | None,
    configuration: str,
    melting_point: float | None,
) -> Draft:
    draft = Draft(name, "element", "element", aliases=[symbol, *cells(own, "aliases")])
    draft.add("symbol", symbol)
    draft.add("atomic_number", str(number))
    if not own.get("category") and number <= _LAST_KNOWN_CHEMISTRY:
        draft.add("category", _CATEGORIES.get(category, category.lower()))
    draft.add("period", str(period))
    if not own.get("place"):
        draft.add("group", str(group or ""))
        draft.add("block", block)
    discovered = own.get("discovery_year") or str(year or "")
    draft.add("discovery_year", discovered.removeprefix("-"))
    draft.add("electron_configuration", configuration)
    if melting_point and number <= _LAST_STABLE:
        draft.add("melting_point_k", f"{melting_point:.0f}")
    return draft
