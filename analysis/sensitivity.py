"""What the response types would be under other match thresholds, from the kept scores alone.

The threshold only moves answers between matched and not: EM and GE share the supported ones, AM and the rest the
others. Which answers were supported, and which could not be judged (`undecided`), is the same at every threshold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from r_eval.analysis.responses import TYPES, ResponseType, type_of
from r_eval.analysis.scoring import ensure_scored
from r_eval.folder import RunFolder

if TYPE_CHECKING:
    from rich.table import Table

MATCH_THRESHOLDS = (0.05, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)


@dataclass(slots=True)
class Sensitivity:
    """The response types of one system under one condition at several thresholds.

    Attributes:
        taxonomy, threshold: As the kept scores have them.
        episodes: Episodes recorded.
        undecided: Those of them whose evidence containment could not judge.
        types: By threshold, the episodes of each type.
    """

    system: str
    condition: str
    taxonomy: str
    threshold: float
    episodes: int = 0
    undecided: int = 0
    types: dict[float, Counter[ResponseType]] = field(default_factory=dict)

    def shares(self, threshold: float) -> dict[ResponseType, float]:
        """The share of each type at a threshold, from 0 to 1; they add up to 1."""
        counts = self.types[threshold]
        return {type_: counts[type_] / self.episodes if self.episodes else 0.0 for type_ in TYPES}

    def as_json(self) -> dict[str, Any]:
        """As plain data, with a list of thresholds."""
        return {
            "system": self.system,
            "condition": self.condition,
            "episodes": self.episodes,
            "undecided": self.undecided,
            "thresholds": [{"threshold": at, "shares": self.shares(at)} for at in self.types],
        }


def sensitivity(run: RunFolder) -> list[Sensitivity]:
    """The types of every system and condition of a run, in the grid's order, at MATCH_THRESHOLDS and at the kept one.

    Raises:
        UserError: The folder is not a run, or a record cannot be read.
    """
    ensure_scored(run)
    found: dict[tuple[str, str], Sensitivity] = {}
    for cell in run.cells():
        for record in run.scores(cell).values():
            key = (cell.system, cell.condition)
            if key not in found:
                found[key] = Sensitivity(*key, record["taxonomy"], record["threshold"])
                found[key].types = {at: Counter() for at in sorted({*MATCH_THRESHOLDS, record["threshold"]})}
            _count(found[key], record)
    return list(found.values())


def _count(one: Sensitivity, record: dict[str, Any]) -> None:
    one.episodes += 1
    one.undecided += record["undecided"]
    supported, reward = record["supported"], record["reward"]
    if reward is None:  # the metric failed, and would at any threshold
        for counts in one.types.values():
            counts["ME"] += 1
        return
    matched = type_of(one.taxonomy, record["outcome"], record["outcome_cause"], True, supported)
    not_matched = type_of(one.taxonomy, record["outcome"], record["outcome_cause"], False, supported)
    for at, counts in one.types.items():
        counts[matched if reward >= at else not_matched] += 1


def sensitivity_table(found: Sequence[Sensitivity]) -> Table:
    """The shares in percent, for the terminal; bold is the threshold of the kept scores."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    several = len({one.condition for one in found}) > 1
    table = Table(
        title="Response types by match threshold, percent", title_justify="left", title_style="bold", box=SIMPLE_HEAD
    )
    table.add_column("system", overflow="fold")
    for heading in ("threshold", *TYPES, "undecided", "n"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in found:
        name = escape(f"{one.system} ({one.condition})" if several else one.system)
        counts = (str(one.undecided), str(one.episodes))
        for at in one.types:
            shares = [f"{100 * share:.1f}" for share in one.shares(at).values()]
            table.add_row(name, f"{at:g}", *shares, *counts, style="bold" if at == one.threshold else None)
            name, counts = "", ("", "")
        table.add_section()
    return table
