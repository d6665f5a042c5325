"""Tram lines of a town and their stops."""

import json
from pathlib import Path

from r_eval.environments import NotFound, query_api

LINES: dict[str, list[str]] = json.loads(Path(__file__).with_name("trams.json").read_text(encoding="utf-8"))


@query_api
def stops(line: str) -> list[str]:
    """List the stops of a tram line, in order.

    Args:
        line: The name of the line, such as "Red".
    """
    if line not in LINES:
        raise NotFound(f"There is no line {line}. Lines: {', '.join(LINES)}")
    return LINES[line]


@query_api
def lines_at(stop: str) -> list[str]:
    """List the tram lines that serve a stop.

    Args:
        stop: The exact name of the stop, such as "Town Hall".
    """
    lines = [line for line, stops in LINES.items() if stop in stops]
    if not lines:
        raise NotFound(f"There is no stop {stop}. stops(line) lists those of a line.")
    return lines


def records(kind: str) -> list[dict[str, object]]:
    """The records that fill the templates: each `line` with its stops, each `stop` with its lines."""
    if kind == "line":
        return [{"name": line, "stops": stops} for line, stops in LINES.items()]
    if kind == "stop":
        names = sorted({stop for stops in LINES.values() for stop in stops})
        return [{"name": name, "lines": [line for line in LINES if name in LINES[line]]} for name in names]
    raise KeyError(kind)
