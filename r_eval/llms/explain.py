"""Why a run's calls were not found in the cache: what was different from the nearest reply that was there before."""

from __future__ import annotations

import collections
import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from r_eval.llms.replies import ReplyStore

MOST_EXPLAINED = 1000
MOST_COMPARED = 50


@dataclasses.dataclass(frozen=True)
class Miss:
    """Calls that were not found for the same reason.

    Attributes:
        calls: How many.
        differences: What differed from the nearest kept reply, as sentences; empty where nothing like it was kept.
    """

    calls: int
    differences: tuple[str, ...]


def explain(store: ReplyStore, run: str) -> list[Miss]:
    """Why the calls that a run made were not found, the most frequent reason first.

    Only so many calls are looked at, spread over the run.
    """
    rows = store.rows("SELECT likeness, parts FROM kept WHERE owner = ? ORDER BY made", (run,))
    (first,) = store.rows("SELECT min(made) FROM kept WHERE owner = ?", (run,))[0]
    found: collections.Counter[tuple[str, ...]] = collections.Counter()
    for like, text in rows[:: max(1, len(rows) // MOST_EXPLAINED)]:
        parts = json.loads(text)
        found[_nearest(store, parts, like, first)] += 1
    return [Miss(count, differences) for differences, count in found.most_common()]


def _nearest(store: ReplyStore, parts: dict[str, Any], like: str, before: float) -> tuple[str, ...]:
    best: tuple[str, ...] | None = None
    for other in _candidates(store, like, before):
        differences = tuple(_differences(other, parts))
        if best is None or len(differences) < len(best):
            best = differences
    return best or ()


def _candidates(store: ReplyStore, like: str, before: float) -> Iterator[dict[str, Any]]:
    """Older entries that are alike, the newest first; where there is none, the newest of all."""
    rows = store.rows(
        "SELECT parts FROM kept WHERE likeness = ? AND made < ? ORDER BY made DESC LIMIT ?",
        (like, before, MOST_COMPARED),
    ) or store.rows("SELECT parts FROM kept WHERE made < ? ORDER BY made DESC LIMIT ?", (before, MOST_COMPARED))
    for (text,) in rows:
        yield json.loads(text)


def _differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for key in sorted(old.keys() | new.keys()):
        was, now = old.get(key), new.get(key)
        if was == now:
            continue
        if key == "messages":
            yield _of_messages(was or [], now or [])
        elif key == "tools":
            yield "tools: other tools are offered, or described in other words"
        else:
            yield f"{key}: {json.dumps(was, ensure_ascii=False)} before, {json.dumps(now, ensure_ascii=False)} now"


def _of_messages(old: list[str], new: list[str]) -> str:
    same = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    length = f"{len(old)} before, {len(new)} now" if len(old) != len(new) else f"{len(new)}"
    return f"messages: the first that differs is number {same + 1} (of {length})"
