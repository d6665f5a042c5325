"""Tidy frames of a run: response types, causes and deployment, one line per system and what it is counted by.

Each is a function from the frame of the episodes (`frame`), or from the systems, to a frame. Shares and quality are
from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from r_eval.analysis.aggregate import domain_of
from r_eval.analysis.causes import CAUSES
from r_eval.analysis.deployment import Percentiles
from r_eval.analysis.deployment import deployment as deployed
from r_eval.analysis.frame import NUMBER, TEXT, WHOLE, frame
from r_eval.analysis.responses import TYPES
from r_eval.analysis.rows import ALL
from r_eval.analysis.systems import System, suffixes
from r_eval.folder import RunFolder

if TYPE_CHECKING:
    import pandas

SYSTEM = ("system", "workflow", "llm", "role", "condition")
PERCENTILES: dict[str, tuple[str, ...]] = {
    "seconds": ("mean", "p50", "p90", "p95", "p99"),
    "queue": ("mean", "p95"),
    "retry": ("mean", "p95"),
    "calls": ("mean",),
    "prompt_tokens": ("mean",),
    "completion_tokens": ("mean",),
    "cost": ("mean", "p95"),
}
"""What `deployment` says of each number; a mean without further percentiles is named by the number alone."""
DEPLOYMENT: dict[str, str] = {
    **dict.fromkeys((*SYSTEM, "domain"), TEXT),
    "quality": NUMBER,
    **dict.fromkeys(("episodes", "incomplete", "replayed"), WHOLE),
    **{f"{name}_{of}" if len(ends) > 1 else name: NUMBER for name, ends in PERCENTILES.items() for of in ends},
    "connections": "Int64",
    "parameters": NUMBER,
    **dict.fromkeys(("front_seconds", "front_cost"), "boolean"),
}
"""The columns of `deployment` and their types."""


def episodes_of(runs: Sequence[RunFolder]) -> pandas.DataFrame:
    """The episodes of some runs without their answers; no two runs share a system, which are named as in the tables."""
    import pandas

    parts = [frame(run, answers=False) for run in runs]
    for part, suffix in zip(parts, suffixes(runs), strict=True):
        part[["system", "llm"]] += suffix
    return pandas.concat(parts, ignore_index=True) if parts else frame()


def responses(episodes: pandas.DataFrame) -> pandas.DataFrame:
    """Episodes by system, condition and response type, all six of each system, and their share of the recorded ones."""
    return _counts(episodes, "response_type", TYPES, whole=True)


def causes(episodes: pandas.DataFrame) -> pandas.DataFrame:
    """Failed episodes by system, condition and cause, and their share of the recorded ones."""
    return _counts(episodes, "cause", tuple(CAUSES), whole=False)


def _counts(episodes: pandas.DataFrame, name: str, order: Sequence[str], whole: bool) -> pandas.DataFrame:
    """How many episodes of each system have each value, systems in their order and values in the order given.

    Args:
        whole: Also the values that no episode of a system has.
    """
    import pandas

    lines: list[dict[str, Any]] = []
    for key, own in episodes.groupby(list(SYSTEM), sort=False):
        counts = own[name].value_counts()
        lines += [
            {**dict(zip(SYSTEM, key, strict=True)), name: value, "episodes": count, "share": count / len(own)}
            for value in order
            if (count := int(counts.get(value, 0))) or whole
        ]
    types = {**dict.fromkeys((*SYSTEM, name), TEXT), "episodes": WHOLE, "share": NUMBER}
    return pandas.DataFrame(lines, columns=list(types)).astype(types)


def deployment(systems: Sequence[System]) -> pandas.DataFrame:
    """What each system reaches and takes per episode, over everything and, where there are several, by domain.

    `episodes` are those with a score, `incomplete` the others of the grid. `replayed` of the former have replayed
    replies and are left out of seconds, queue and retry. The Pareto fronts (`front_seconds`, `front_cost`) are those of
    the domain, among the ranked systems.
    """
    import pandas

    lines = [line for domain, own in by_domain(systems) for line in _lines(domain, own)]
    order = {(system.condition, system.name): place for place, system in enumerate(systems)}
    lines.sort(key=lambda line: order[line["condition"], line["system"]])  # stable: a system's domains in their order
    return pandas.DataFrame(lines, columns=list(DEPLOYMENT)).astype(DEPLOYMENT)


def by_domain(systems: Sequence[System]) -> Iterator[tuple[str, list[System]]]:
    """The systems under "all", then with the tasks of each domain alone where there are several."""
    yield ALL, list(systems)
    domains = list(dict.fromkeys(domain_of(task) for system in systems for task in system.cells))
    for domain in domains if len(domains) > 1 else ():
        own = [
            replace(system, cells={task: cell for task, cell in system.cells.items() if domain_of(task) == domain})
            for system in systems
        ]
        yield domain, [system for system in own if system.cells]


def _lines(domain: str, systems: Sequence[System]) -> Iterator[dict[str, Any]]:
    expected = {
        (system.condition, system.name): sum(cell.expected for cell in system.cells.values()) for system in systems
    }
    for one in deployed(systems):
        line = {name: getattr(one, name) for name in DEPLOYMENT if hasattr(one, name)}
        line |= {"domain": domain, "incomplete": max(0, expected[one.condition, one.system] - one.episodes)}
        for name, ends in PERCENTILES.items():
            found: Percentiles | None = getattr(one, name)
            for of in ends:
                line[f"{name}_{of}" if len(ends) > 1 else name] = None if found is None else getattr(found, of)
        yield line
