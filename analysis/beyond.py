"""What a score does not say of some runs: read or remembered, what needs the domain, how steady, under failures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from r_eval.analysis.against_clean import AgainstClean, against_clean
from r_eval.analysis.closed_book import DIRECT, ClosedBook, closed_book, open_books
from r_eval.analysis.columns import Shared
from r_eval.analysis.faithful import Faithful, faithful
from r_eval.analysis.placeholder_scores import Scored, placeholder_scores, variants_of
from r_eval.analysis.recovery import Recovery, recovery
from r_eval.analysis.stability import Stability, stability
from r_eval.analysis.systems import CLEAN, System
from r_eval.folder import RunFolder


@dataclass(frozen=True, slots=True)
class Beyond:
    """The findings; each list is empty where the runs have nothing for it."""

    faithful: Sequence[Faithful] = ()
    closed_book: Sequence[ClosedBook] = ()
    scored: Sequence[Scored] = ()
    stability: Sequence[Stability] = ()
    recovery: Sequence[Recovery] = ()
    against_clean: Sequence[AgainstClean] = ()

    def __bool__(self) -> bool:
        return any((self.faithful, self.closed_book, self.stability, self.recovery, self.against_clean))


def beyond(
    runs: Sequence[RunFolder],
    systems: Sequence[System],
    shared: Shared,
    left_out: Collection[tuple[str, str]] = (),
) -> Beyond:
    """Everything that there is of some runs; episodes are read only where there is another condition than `clean`.

    Args:
        shared: By task and question, what a question shares with others.
        left_out: Questions (task, id) that take no part in comparisons, such as those that the runs ask in other words.

    Raises:
        UserError: A record cannot be read.
    """
    variants = variants_of(runs)
    changed = any(one.condition != CLEAN for one in systems)
    return Beyond(
        faithful(*runs) if changed else (),
        closed_book(systems, shared, open_books(runs)) if any(one.workflow == DIRECT for one in systems) else (),
        placeholder_scores(systems, variants) if variants else (),
        stability(systems, variants) if variants else (),
        recovery(runs, systems, shared, left_out) if changed else (),
        against_clean(systems, shared, left_out) if changed else (),
    )
