"""Early stopping in a run: episodes are handed out look by look, and each look decides who is asked further.

The rule is a plain one of `r_eval.analysis.early_stopping`, which the caller hands in. All systems have the questions
of a task in the same order, which the grid's seed shuffles. A look is taken once every episode up to it has been
tried, with one more try after an infrastructure failure; so it depends on a prefix of the records alone, whatever was
finished first, and a resumed run takes the same ones again before it opens any LLM. Each condition has a race of its
own. References are in none and go as far as the best; a system that lacks one of the tasks is not ranked, and is asked
everything.
"""

from __future__ import annotations

import asyncio
import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from r_eval.folder import Cell
from r_eval.manifest import StoppedPart
from r_eval.records import Episode, Question
from r_eval.runner.plan import Plan, PlannedCell
from r_eval.runner.store import Store
from r_eval.tasks.questions import place_in_order

if TYPE_CHECKING:
    from r_eval.analysis.early_stopping import Rule, Stop

BATCH = 512
"""Recorded episodes in memory at a time."""


class Looks:
    """Which episodes are wanted now: those up to the next look, which is taken once they were tried."""

    def __init__(self, plan: Plan, store: Store, rule: Rule) -> None:
        self._plan, self._store = plan, store
        cells: dict[str, list[PlannedCell]] = {}
        for cell in plan.cells:
            cells.setdefault(cell.cell.condition, []).append(cell)
        self._races = {condition: _Race(own, plan, rule) for condition, own in cells.items()}
        self._count = max(race.looks for race in self._races.values())
        self._look = 0
        self._unscored: dict[Cell, list[Episode]] = {}

    @property
    def is_over(self) -> bool:
        """Whether the last look was taken."""
        return self._look >= self._count

    async def resume(self) -> None:
        """Take the looks for which everything is recorded already."""
        await asyncio.to_thread(self._load)
        while not self.is_over and not self.lacks_any():
            await self.take()

    def _load(self) -> None:
        for cell in self._plan.cells:
            episodes = self._store.folder.cell_episodes(cell.cell)
            while batch := list(itertools.islice(episodes, BATCH)):
                self._races[cell.cell.condition].add(cell, batch)

    def wanted(self, cell: PlannedCell) -> Iterator[tuple[Question, int]]:
        """The missing episodes of a cell up to the next look, found as they are taken."""
        look_of = self._races[cell.cell.condition].look_of
        return (one for one in self._store.ledger(cell).missing() if look_of(cell.cell.task, one[0].id) == self._look)

    def lacks_any(self) -> bool:
        """Whether an episode up to the next look is missing."""
        return any(next(self.wanted(cell), None) is not None for cell in self._plan.cells)

    def add(self, cell: PlannedCell, episode: Episode) -> None:
        """An episode was recorded."""
        slim = episode.model_copy(update={"messages": [], "steps": []})
        self._unscored.setdefault(cell.cell, []).append(slim)

    async def take(self) -> None:
        """Take a look: stop those who are certainly not among the best."""
        cells = {cell.cell: cell for cell in self._plan.cells}
        fresh, self._unscored = self._unscored, {}
        stops = await asyncio.to_thread(self._decide, [(cells[cell], episodes) for cell, episodes in fresh.items()])
        for race, stop in stops:
            for part in race.stop(stop, self._look):
                own = [cell for cell in race.cells if cell.cell.system == part.system]
                for cell in own:
                    self._store.ledger(cell).skip(race.until(self._look, cell))
                    await self._store.complete(cell)
                if any(self._store.ledger(cell).skipped() for cell in own):
                    self._store.stopped.append(part)
        self._look += 1

    def _decide(self, fresh: Iterable[tuple[PlannedCell, list[Episode]]]) -> list[tuple[_Race, Stop]]:
        for cell, episodes in fresh:
            self._races[cell.cell.condition].add(cell, episodes)
        return [(race, stop) for race in self._races.values() for stop in race.decide(self._look)]


class _Race:
    """The systems of a condition; those that are ranked compete on the questions that all of them have."""

    def __init__(self, cells: list[PlannedCell], plan: Plan, rule: Rule) -> None:
        import numpy as np

        self.cells, self._rule = cells, rule
        by_system: dict[str, dict[str, PlannedCell]] = {}
        for cell in cells:
            by_system.setdefault(cell.cell.system, {})[cell.cell.task] = cell
        tasks = dict.fromkeys(cell.cell.task for cell in cells)
        self._references = list(dict.fromkeys(cell.cell.system for cell in cells if cell.workflow.uses_gold))
        self._systems = [name for name, own in by_system.items() if own.keys() == tasks.keys()]
        self._systems = [name for name in self._systems if name not in self._references]
        self._places = {task: _places(task, [by_system[name][task] for name in self._systems], plan) for task in tasks}
        self._sizes = [len(places) for places in self._places.values()]
        self._is_over = len(self._systems) <= rule.keep or not all(self._sizes)
        self._rounds = [0] if self._is_over else rule.looks(self._sizes)
        self._stopped: set[int] = set()
        shape = (len(self._systems), len(tasks), max(self._sizes), plan.grid.epochs)
        self._scores = np.full((0, 0, 0, 0) if self._is_over else shape, np.nan)

    @property
    def looks(self) -> int:
        """How many there are."""
        return len(self._rounds)

    def look_of(self, task: str, question_id: str) -> int:
        """The look before which a question is asked; the last one for those that not all systems have."""
        place = self._places[task].get(question_id)
        return self.looks - 1 if place is None else min(bisect.bisect_right(self._rounds, place), self.looks - 1)

    def until(self, look: int, cell: PlannedCell) -> set[str]:
        """The questions of a cell that are asked before a look is taken."""
        return {question.id for question in cell.planned.questions if self.look_of(cell.cell.task, question.id) <= look}

    def add(self, cell: PlannedCell, episodes: list[Episode]) -> None:
        """Score recorded episodes."""
        if self._is_over or cell.cell.system not in self._systems:
            return
        task, places = cell.cell.task, self._places[cell.cell.task]
        own = self._scores[self._systems.index(cell.cell.system), list(self._places).index(task)]
        there = [one for one in episodes if one.question_id in places and 0 <= one.epoch < own.shape[1]]
        values = self._rule.score(there, cell.planned.task.metric)
        for episode, value in zip(there, values, strict=True):
            own[places[episode.question_id], episode.epoch] = math.nan if value is None else value

    def decide(self, look: int) -> list[Stop]:
        """The systems that are stopped at a look, and were not before."""
        import numpy as np

        if self._is_over:
            return []
        lacking = np.isnan(self._scores)
        low, high = (np.where(lacking, bound, self._scores).mean(axis=3) for bound in (0.0, 1.0))
        found = self._rule.decide(low, high, self._sizes, self._rounds[: look + 1])
        return [stop for stop in found if stop.system not in self._stopped]

    def stop(self, stop: Stop, look: int) -> Iterator[StoppedPart]:
        """Write a decision down; references stop together with the best."""
        self._stopped.add(stop.system)
        name = self._systems[stop.system]
        if stop.behind is not None:
            behind = self._systems[stop.behind]
            yield self._part(name, look, f"certainly {self._rule.words} {behind}", behind)
            return
        yield self._part(name, look, "one of the best, which are known" if self._rule.keep > 1 else "the best is known")
        for reference in self._references if not self._is_over else ():
            yield self._part(reference, look, "references stop with the best system")
        self._is_over = True

    def _part(self, system: str, look: int, why: str, behind: str = "") -> StoppedPart:
        own = [cell for cell in self.cells if cell.cell.system == system]
        after, of = sum(len(self.until(look, cell)) for cell in own), sum(len(cell.planned.questions) for cell in own)
        text = f"{system} stopped after {after:,} of {of:,} questions: {why}"
        condition = own[0].cell.condition
        return StoppedPart(system=system, condition=condition, after=after, of=of, behind=behind, text=text)


def _places(task: str, cells: Iterable[PlannedCell], plan: Plan) -> Mapping[str, int]:
    """The places of the questions that all these cells have, in an order of the task's own."""
    ids = [{question.id for question in cell.planned.questions} for cell in cells]
    common = set.intersection(*ids) if ids else set()
    order = sorted(common, key=lambda id: (place_in_order(f"{task}\0{id}", plan.grid.seed), id))
    return {id: place for place, id in enumerate(order)}
