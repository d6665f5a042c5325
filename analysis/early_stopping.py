"""Early stopping: which systems of a grid are certainly not among the best, from a part of its questions.

Every system meets the questions in the same seeded random order, a question of each task in turn. For a pair of
systems (a, b), let m be the mean over the tasks of the mean difference a - b over *all* questions of the grid. A bettor
bets against "m <= 0" on every question that both have answered: the stake on task k is proportional to the weight of
what is left of it, and the price c of a bet is what the hypothesis allows the questions that are left on average. As
log(1 + x) <= x and the questions of a round come from different tasks, independently, no bettor can expect to win if
the hypothesis holds: the capital is a supermartingale, and by Ville's inequality it exceeds 1/alpha with a probability
of at most alpha, however often one looks (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by
betting", JRSS B 86, 2024, sections 4 and 5, without replacement; their one task is extended to several). The capital is
spread over a few sizes of stakes and never taken out. docs/statistics.md has the reasons.

Nothing is assumed about the questions, the systems or their replies; only that the order is random.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from r_eval.analysis import metrics
from r_eval.errors import UserError
from r_eval.records import INFRASTRUCTURE_FAILURES, Episode

STAKES = np.array([0.06, 0.12, 0.24, 0.48, 0.95])
"""Shares of the capital that are put on a question, at most; it is spread evenly over them."""
LOOKS = 20
"""How often a run looks, at equal distances."""
BLOCK = 64
"""Questions of a task that are worked on at a time."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stop:
    """A system that is asked no further; `after` questions, all tasks together.

    Attributes:
        behind: The system that is ahead of it by most, of those that certainly are; None where it is one of the best.
        lead: Of that system, over the questions until then; from -1 to 1.
    """

    system: int
    after: int
    behind: int | None = None
    lead: float = 0.0


@dataclass(frozen=True)
class Rule:
    """When a system is asked no further.

    Attributes:
        alpha: The probability, at most, that one of the best `keep` is stopped.
        margin: By how much a stopped system may be better than `keep` others that went on, from 0 to 1.
        keep: How many of the best are to be found.
    """

    alpha: float = 0.05
    margin: float = 0.0
    keep: int = 1

    @property
    def words(self) -> str:
        """What is certain of a stopped system, before the name of another one."""
        return f"not better by {100 * self.margin:g} points than" if self.margin else "behind"

    def check(self, names: Sequence[str]) -> None:
        """See that answers can be scored by these metrics while the run goes on.

        Raises:
            UserError: A metric calls an LLM.
        """
        for name in names:
            if metrics.get(name).needs == "an LLM":
                raise UserError(
                    f"stop_early: the metric {name} calls an LLM for every answer, and a run cannot wait for that; "
                    "choose a metric that does not, or leave stop_early out"
                )

    def score(self, episodes: Sequence[Episode], metric: str) -> list[float | None]:
        """The scores of episodes of one task, from 0 to 1; None for those that have none."""
        answers, golds = [episode.answer for episode in episodes], [episode.golds for episode in episodes]
        values = metrics.get(metric).scores(answers, golds, [episode.question for episode in episodes])
        return [
            None if math.isnan(value) or episode.outcome.kind in INFRASTRUCTURE_FAILURES else value
            for episode, value in zip(episodes, values, strict=True)
        ]

    def looks(self, sizes: Sequence[int]) -> list[int]:
        """After how many questions of every task it is looked, of tasks with so many questions; all of them at last."""
        return [math.ceil(max(sizes) * look / LOOKS) for look in range(1, LOOKS + 1)]

    def decide(self, low: Floats, high: Floats, sizes: Sequence[int], looks: Sequence[int]) -> list[Stop]:
        """The systems that are stopped at some looks; where no more than `keep` are left, these are stopped as well.

        Depends on nothing but the scores that the systems have up to the last look; those that a system got after it
        was stopped are not read.

        Args:
            low: Scores by system, task and place in the task's order; 0 for an episode that has none.
            high: The same, but 1 for an episode that has none.
            sizes: Questions of each task in the whole grid.
            looks: As of `looks`, those that are reached.
        """
        return list(_race(self, low, high, np.asarray(sizes), looks))

    def level(self, systems: int) -> float:
        """The capital that makes a pair certain, as a logarithm: corrected so that `alpha` holds for the whole grid.

        Without a margin only a false word about one of the best counts. The j-th best is stopped where `keep` are said
        to be ahead, so that keep - j + 1 of the other n - j pairs with it are wrong. With a margin all pairs count.
        """
        tests = float(systems * (systems - 1))
        if not self.margin:
            tests = sum((systems - j) / (self.keep - j + 1) for j in range(1, self.keep + 1))
        return math.log(tests / self.alpha)


def _race(rule: Rule, low: Floats, high: Floats, sizes: NDArray[Any], looks: Sequence[int]) -> Iterator[Stop]:
    systems, level = len(low), rule.level(len(low))
    margins = np.array([0.0, rule.margin] if rule.margin else [0.0])
    capital = np.zeros((len(margins), systems, systems, len(STAKES)))
    known = np.zeros((systems, systems))
    going, in_debt = np.arange(systems), np.zeros(systems, bool)
    start = 0
    for end in looks:
        if len(going) <= rule.keep or end >= sizes.max():
            return
        pairs, after = np.ix_(going, going), int(np.minimum(sizes, end).sum())
        while start < end:
            block = slice(start, min(end, start + BLOCK))
            gain, total = _bets(low[going, :, block], high[going, :, block], known[pairs], sizes, start, margins)
            every_stake: tuple[Any, ...] = (slice(None), *pairs)
            capital[every_stake] += gain
            known[pairs] = total
            start = block.stop
        wealth = np.logaddexp.reduce(capital, axis=3) - math.log(len(STAKES))
        certain = wealth >= level
        leads = _mean_leads(low, sizes, end)
        for system in going[np.argsort([np.max(leads[going, one]) for one in going], kind="stable")[::-1]]:
            ahead = _ahead(certain, going, system, bool(in_debt[system]), rule.keep)
            if not len(ahead):
                continue
            ahead = ahead[np.argsort(-leads[ahead, system], kind="stable")][: rule.keep]
            if in_debt[system] or not certain[0, ahead, system].all():
                in_debt[ahead] = True
            going, behind = going[going != system], ahead[0]
            yield Stop(int(system), after, int(behind), float(leads[behind, system]))
        if len(going) <= rule.keep:
            yield from (Stop(int(system), after) for system in going)


def _ahead(certain: NDArray[np.bool_], going: NDArray[Any], system: int, in_debt: bool, keep: int) -> NDArray[Any]:
    """The systems on whose account another one is stopped; none where it goes on.

    Only systems that go on count, so that never fewer than `keep` are left. One that another was stopped for within the
    margin (it is in debt) must be certainly behind itself, or the margins would add up.
    """
    for within in certain[:1] if in_debt else certain:
        ahead = going[within[going, system] & (going != system)]
        if len(ahead) >= keep:
            return np.asarray(ahead)
    return going[:0]


def _bets(
    low: Floats, high: Floats, known: Floats, sizes: NDArray[Any], start: int, margins: Floats
) -> tuple[Floats, Floats]:
    """What bettors gain over some rounds, as logarithms by margin, pair and stake; and the part of m that is known.

    Args:
        known: The part of each pair's m that earlier rounds have settled.
    """
    rounds = start + np.arange(low.shape[2])
    there = rounds < sizes[:, None]
    left = np.where(there, (sizes[:, None] - rounds) / (sizes[:, None] * len(sizes)), 0.0)
    difference = np.where(there, low[:, None] - high[None], 0.0)
    settled = (difference / (sizes[:, None] * len(sizes))).sum(axis=2)
    before = known[:, :, None] + np.cumsum(settled, axis=2) - settled
    price = (-margins[:, None, None, None] - before) / left.sum(axis=0)
    sure = (price < -1 - 1e-9).any(axis=3)
    price = np.maximum(price, -1.0)[..., None, :]
    shares = left / left.max(axis=0)
    gain = np.empty((*sure.shape, len(STAKES)))
    for place, stake in enumerate(STAKES):
        staked = np.minimum(stake, STAKES[-1] / (1 + np.maximum(price, 0.0))) * shares
        gain[..., place] = np.log1p(staked * (difference[None] - price)).sum(axis=(3, 4))
    gain[sure] = np.inf
    return gain, known + settled.sum(axis=2)


def _mean_leads(low: Floats, sizes: NDArray[Any], end: int) -> Floats:
    """By how much the first of two systems is ahead, as the mean over tasks, until a look."""
    there = np.arange(end) < sizes[:, None]
    means = (np.where(there, low[:, :, :end], 0.0).sum(axis=2) / np.minimum(sizes, end)).mean(axis=1)
    return np.asarray(means[:, None] - means[None])
