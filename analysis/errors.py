"""The error analysis: who fails in which way, where, and what the questions that are failed have in common.

Plain data for tables and the page. Everything rests on the kept scores and the run's own questions; no episode is read.

- Distributions: the response types and the causes below them, by system, by system and task, by system and level.
- Separators: the share of right answers (EM and AM) by what is known about a question or an episode. A separator
  whose groups differ much says what makes questions hard; it does not say why, and groups overlap.
- Examples: episodes to read for each cause.

Infrastructure failures are counted in the distributions (ME) and left out of the shares. The interval of
a share goes by the distinct questions behind it, since several episodes of one question are no independent sample.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from r_eval.analysis.causes import CAUSES
from r_eval.analysis.estimate import interval
from r_eval.analysis.facts import Facts, bucket, facts_of, popularity_by_name
from r_eval.analysis.responses import TYPES
from r_eval.analysis.rows import Role, roles
from r_eval.analysis.scoring import ensure_scored
from r_eval.folder import Cell, RunFolder

EXAMPLES = 3
"""Examples of each cause, a system and condition."""
FEWEST = 10
"""Questions that a group needs to count for a separator's spread."""

_ORDER = {word: place for place, word in enumerate(CAUSES)}


@dataclass(slots=True)
class Distribution:
    """How the episodes of a system end, over a task or a level; "" for all of them.

    Attributes:
        episodes: Recorded, infrastructure failures among them.
        undecided: Those of which the supporting evidence could not be judged.
        types: Episodes of each response type, all six in their order.
        causes: Episodes of each cause that there is, in the order of `causes.CAUSES`; right answers have none.
    """

    system: str
    condition: str
    task: str = ""
    level: str = ""
    episodes: int = 0
    undecided: int = 0
    types: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TYPES, 0))
    causes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Group:
    """The episodes with one value of a separator.

    Attributes:
        episodes, questions: Scored episodes, and the distinct questions that they ask.
        right: Share of the episodes that are EM or AM.
        low, high: Ends of its 95 % interval, by the number of questions.
    """

    value: str
    episodes: int
    questions: int
    right: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Separator:
    """The share of right answers by one property; `system` is "" for all systems of the condition together.

    Attributes:
        name: A key of `SEPARATORS`.
        groups: By value, in order.
        unknown: Scored episodes of which the property is not known.
    """

    name: str
    system: str
    condition: str
    groups: list[Group]
    unknown: int

    @property
    def spread(self) -> float | None:
        """The difference between the best and the worst group; None unless two groups have enough questions."""
        shares = [group.right for group in self.groups if group.questions >= FEWEST]
        return max(shares) - min(shares) if len(shares) > 1 else None


@dataclass(frozen=True, slots=True)
class Example:
    """An episode to read."""

    why: str
    type: str
    system: str
    condition: str
    task: str
    question_id: str
    episode_id: str


@dataclass(frozen=True, slots=True)
class ErrorAnalysis:
    """The whole of it. Distributions go by the grid's order; the examples of a cause, by that of the questions."""

    by_system: list[Distribution]
    by_task: list[Distribution]
    by_level: list[Distribution]
    separators: list[Separator]
    examples: list[Example]


SEPARATORS: dict[str, str] = {
    "hops": "calls of the gold program",
    "kind": "kind of answer",
    "popularity": "popularity of the entity",
    "calls": "query API calls made",
}
"""What separators are called in tables."""


_Place = tuple[int, int, str]
"""Of an episode among the examples: its cell, its question, its id."""
_Found = dict[tuple[str, str, str], list[tuple[_Place, Example]]]
"""Examples by cause, system and condition."""


class _Share:
    """Collects the episodes of one group."""

    def __init__(self) -> None:
        self.episodes = self.right = 0
        self.questions: set[tuple[str, str]] = set()

    def add(self, question: tuple[str, str], right: bool) -> None:
        self.episodes += 1
        self.right += right
        self.questions.add(question)

    def merge(self, other: _Share) -> None:
        self.episodes += other.episodes
        self.right += other.right
        self.questions |= other.questions

    def group(self, value: str) -> Group:
        share, questions = self.right / self.episodes, len(self.questions)
        return Group(value, self.episodes, questions, share, *interval(share, questions))


_Shares = dict[tuple[str, str, str], dict[str, _Share]]
"""By property, system and condition: the groups by their values."""


def analyse_errors(run: RunFolder, examples: int = EXAMPLES) -> ErrorAnalysis:
    """The error analysis of a run; what is missing or out of date is scored first.

    Args:
        examples: Of each cause, at most so many of a system under a condition.

    Raises:
        UserError: The folder is not a run, or a record cannot be read.
    """
    ensure_scored(run)
    known = {entry["name"]: facts_of(entry["name"], run.questions(entry["name"])) for entry in run.manifest()["tasks"]}
    systems, tasks, levels = _Distributions(), _Distributions(), _Distributions()
    shares: _Shares = defaultdict(lambda: defaultdict(_Share))
    found: _Found = {}
    for number, cell in enumerate(run.cells()):
        unknown = Facts(place=sys.maxsize, popularity=popularity_by_name(cell.task))
        for record in run.scores(cell).values():
            facts = known.get(cell.task, {}).get(record["question_id"], unknown)
            systems.add(Distribution(cell.system, cell.condition), record)
            tasks.add(Distribution(cell.system, cell.condition, task=cell.task), record)
            levels.add(Distribution(cell.system, cell.condition, level=record["level"]), record)
            if record["score"] is not None:
                _separate(shares, cell, record, facts)
            if record["cause"]:
                _keep(found, cell, record, (number, facts.place, record["episode_id"]), examples)
    by_cause = sorted(found, key=lambda key: _ORDER[key[0]])  # stable: systems in the grid's order
    return ErrorAnalysis(
        systems.made(),
        tasks.made(),
        levels.made(),
        list(_separators(shares, roles(run.manifest()))),
        [example for key in by_cause for _, example in found[key]],
    )


class _Distributions:
    """Distributions by what they are of, in the order in which they are met."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, ...], Distribution] = {}

    def add(self, of: Distribution, record: dict[str, Any]) -> None:
        one = self._made.setdefault((of.system, of.condition, of.task, of.level), of)
        one.episodes += 1
        one.undecided += record["undecided"]
        one.types[record["response_type"]] += 1
        if record["cause"]:
            one.causes[record["cause"]] = one.causes.get(record["cause"], 0) + 1

    def made(self) -> list[Distribution]:
        for one in self._made.values():
            one.causes = dict(sorted(one.causes.items(), key=lambda item: _ORDER[item[0]]))
        return list(self._made.values())


def _separate(shares: _Shares, cell: Cell, record: dict[str, Any], facts: Facts) -> None:
    """Count a scored episode in its groups."""
    question, right = (cell.task, record["question_id"]), record["response_type"] in ("EM", "AM")
    values = (facts.hops, facts.kind, facts.popularity, bucket(record["api_calls"]))
    for name, value in zip(SEPARATORS, values, strict=True):
        shares[name, cell.system, cell.condition][value].add(question, right)


def _separators(shares: _Shares, role: Mapping[str, Role]) -> Iterator[Separator]:
    """Those with anything known, by property; all systems of a condition together come before each of them.

    Baselines and references are no part of "all systems": they fail, and succeed, for other reasons.
    """
    together: _Shares = defaultdict(lambda: defaultdict(_Share))
    for (name, system, condition), groups in shares.items():
        for value, share in groups.items():
            if role[system] == "system":
                together[name, "", condition][value].merge(share)
    order = list(SEPARATORS)
    found = sorted([*together.items(), *shares.items()], key=lambda item: order.index(item[0][0]))
    for (name, system, condition), groups in found:
        known = {value: groups[value] for value in sorted(groups, key=_in_order) if value}
        if known:
            made = [share.group(value) for value, share in known.items()]
            yield Separator(name, system, condition, made, groups[""].episodes if "" in groups else 0)


def _keep(found: _Found, cell: Cell, record: dict[str, Any], place: _Place, examples: int) -> None:
    """Keep an episode as an example of its cause if it is among the first."""
    kept = found.setdefault((record["cause"], cell.system, cell.condition), [])
    if len(kept) >= examples and (not kept or place > kept[-1][0]):
        return
    episode = (cell.task, record["question_id"], record["episode_id"])
    kept.append((place, Example(record["cause"], record["response_type"], cell.system, cell.condition, *episode)))
    kept.sort(key=lambda item: item[0])
    del kept[examples:]


def _in_order(value: str) -> tuple[int, str]:
    """Numbers by their size, then words."""
    return (int(value.split()[0]), "") if value[:1].isdigit() else (-1, value)
