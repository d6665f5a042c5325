"""Who leads: the entries of each system over the last n versions, in one line.

A system's numbers are means over those of the last n versions that it has, each with the same weight; two pipelines
that different runs call by one name stand apart. A system is *actual* where the newest of all versions is among its
own. Ranks go by the total where retrieval is known of any contender, else by generation; ties share the lower number.
References stand in the table without a rank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from r_eval.analysis.estimate import Estimate, average
from r_eval.analysis.leaderboard.entries import Entry, OfType
from r_eval.analysis.leaderboard.pipeline import Pipeline
from r_eval.analysis.leaderboard.versions import ordered
from r_eval.tasks.seasons.version import Version


@dataclass(frozen=True, slots=True)
class Standing:
    """One line of the board.

    Attributes:
        versions: Those that its numbers are of, the oldest first.
        actual: Whether the newest version is among them.
        questions, missing: Over these versions; a missing one counts 0.
        updated: When the newest of its runs was last written.
        rank: 1 is best; None for a reference, and where there is nothing to rank by.
    """

    condition: str
    system: str
    workflow: str
    llm: str
    reference: bool
    pipeline: Pipeline
    versions: tuple[Version | None, ...]
    actual: bool
    retrieval: Estimate
    generation: Estimate
    types: Mapping[str, OfType]
    questions: int
    missing: int
    updated: str
    rank: int | None = None

    @property
    def total(self) -> float | None:
        """Retrieval and generation together, up to 2; None where one of them is not known."""
        if self.retrieval.mean is None or self.generation.mean is None:
            return None
        return self.retrieval.mean + self.generation.mean


def standings(entries: Sequence[Entry], last: int, actual: bool = False) -> list[Standing]:
    """The lines of a board by condition and rank, over the last so many versions.

    Args:
        last: How many of the newest versions count; more than there are is all.
        actual: Leave out systems that have no entry on the newest version.
    """
    versions = ordered([entry.version for entry in entries])
    taken, newest = versions[-max(1, last) :], versions[-1:]
    by_system: dict[tuple[str, str, Pipeline], list[Entry]] = {}
    for entry in entries:
        if entry.version in taken:
            by_system.setdefault((entry.condition, entry.system, entry.pipeline), []).append(entry)
    lines = [_standing(own, newest) for own in by_system.values()]
    conditions = dict.fromkeys(entry.condition for entry in entries)
    kept = [line for line in lines if line.actual or not actual]
    return [line for condition in conditions for line in _ranked([one for one in kept if one.condition == condition])]


def _standing(own: Sequence[Entry], newest: Sequence[Version | None]) -> Standing:
    versions = tuple(ordered([entry.version for entry in own]))
    last = own[-1]
    return Standing(
        *(last.condition, last.system, last.workflow, last.llm, last.reference, last.pipeline),
        versions=versions,
        actual=versions[-1] in newest,
        retrieval=average([entry.retrieval for entry in own], len(own)),
        generation=average([entry.generation for entry in own], len(own)),
        types=_types(own),
        questions=sum(entry.questions for entry in own),
        missing=sum(entry.missing for entry in own),
        updated=max(entry.updated for entry in own),
    )


def _types(own: Sequence[Entry]) -> dict[str, OfType]:
    names = sorted({name for entry in own for name in entry.types})
    found = {}
    for name in names:
        of = [entry.types[name] for entry in own if name in entry.types]
        means = (_mean([one.retrieval for one in of]), _mean([one.generation for one in of]))
        found[name] = OfType(sum(one.questions for one in of), *means)
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _ranked(lines: Sequence[Standing]) -> list[Standing]:
    contenders = [line for line in lines if not line.reference]
    by_total = any(line.total is not None for line in contenders)

    def value(line: Standing) -> float | None:
        found = line.total if by_total else line.generation.mean
        return None if found is None else round(found, 12)

    values = [found for line in contenders if (found := value(line)) is not None]
    placed = [
        replace(line, rank=1 + sum(other > own for other in values))
        if not line.reference and (own := value(line)) is not None
        else line
        for line in lines
    ]
    return sorted(placed, key=lambda line: (line.rank is None, line.rank or 0, -(line.generation.mean or 0.0)))
