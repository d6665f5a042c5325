"""An episode as the page's transcript view gets it: what was recorded, where its evidence was found, and its tree.

Fields that are empty are left out. Places are in UTF-16 units, as JavaScript counts them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from r_eval.analysis.metrics.literals import gold_values
from r_eval.analysis.places import Places, Span
from r_eval.analysis.responses import Observed, evidence_text
from r_eval.analysis.tree import Branch, tree
from r_eval.records import Episode, Step

MOST_MARKS = 200
"""Places of one text that are marked in one observation."""


def transcript(episode: Episode, record: dict[str, Any]) -> dict[str, Any]:
    """The data of one episode.

    Keys besides those of the record: `wanted`, the texts that were looked for, each {text, chance, steps}: whether
    containment cannot judge it, and the numbers of the steps that hold it; `retrieved`, the share of the right
    documents that were found, None where they are not known; `tree`, see `_tree`; `path`, the numbers of the replies
    that led to the answer.

    Args:
        record: The score record.
    """
    wanted = _wanted(episode)
    steps = [_step(step) for step in episode.steps]
    for number, (step, data) in enumerate(zip(episode.steps, steps, strict=True)):
        _mark(number, step, data, wanted, named=bool(episode.evidence))
    usage, seconds = episode.usage, episode.seconds
    branches = tree(episode.steps)
    data = {
        "answer": episode.answer,
        "golds": episode.golds,
        "outcome": episode.outcome.model_dump(exclude_defaults=True),
        "usage": usage.model_dump(exclude_defaults=True),
        "seconds": {key: float(f"{value:.4g}") for key, value in seconds.model_dump(exclude_defaults=True).items()},
        "metric": record["metric"],
        "threshold": record["threshold"],
        "taxonomy": record["taxonomy"],
        "supported": record["supported"],
        "undecided": record["undecided"],
        "named": bool(episode.evidence),
        "retrieved": _retrieved(record),
        "wanted": wanted,
        "steps": steps,
    }
    return data | ({"tree": _tree(branches, episode.steps), "path": _path(branches, episode)} if branches else {})


def _retrieved(record: dict[str, Any]) -> float | None:
    """The share of the right documents that were found; only where they are known by their ids there are ranks."""
    found = record.get("retrieval") or {}
    return None if found.get("mrr") is None else found["recall"]


def _wanted(episode: Episode) -> list[dict[str, Any]]:
    """What an observation should hold: the named evidence, or the values of the golds."""
    if episode.evidence:
        return [{"text": text, "chance": False, "steps": []} for text in dict.fromkeys(episode.evidence)]
    nothing = Observed([])
    values = dict.fromkeys(value for gold in episode.golds for value in gold_values(gold))
    return [{"text": value, "chance": nothing.holds_gold(value) is None, "steps": []} for value in values]


def _step(step: Step) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": step.kind}
    for key in ("text", "api", "arguments", "observation", "error", "reasoning", "depth"):
        value = getattr(step, key)
        if value not in (None, ""):
            data[key] = value
    if step.seconds:
        data["seconds"] = float(f"{step.seconds:.4g}")
    if step.tokens is not None:
        data["tokens"] = [step.tokens.prompt, step.tokens.completion, step.tokens.cached]
    return data


def _mark(number: int, step: Step, data: dict[str, Any], wanted: list[dict[str, Any]], named: bool) -> None:
    """Say what a step holds: `marks` are [start, end, which], `holds` those of which no place is known."""
    text = evidence_text(step)
    if not text:
        return
    observed, places = Observed([text]), Places(step.observation or "")
    marks: list[tuple[int, int, int]] = []
    for which, entry in enumerate(wanted):
        if not (observed.holds(entry["text"]) if named else observed.holds_gold(entry["text"])):
            continue
        entry["steps"].append(number)
        found = places.of(entry["text"])[:MOST_MARKS]
        marks.extend((*span, which) for span in _utf16(step.observation or "", found))
        if not found:
            data.setdefault("holds", []).append(which)
    if marks:
        data["marks"] = sorted(marks)


def _utf16(text: str, spans: Sequence[Span]) -> list[Span]:
    """Places in characters as places in UTF-16 units."""
    if not spans or text.isascii() or max(text) <= "\uffff":
        return list(spans)
    wide = [place for place, char in enumerate(text) if char > "\uffff"]
    found, before = [], 0
    for start, end in spans:
        while before < len(wide) and wide[before] < start:
            before += 1
        inside = sum(char > "\uffff" for char in text[start:end])
        found.append((start + before, end + before + inside))
    return found


def _tree(branches: Sequence[Branch], steps: Sequence[Step]) -> list[list[Any]]:
    """The replies of a search in its order, each [number, number of the reply it goes on from or -1, what followed]."""
    number = {id(step): place for place, step in enumerate(steps)}
    return [
        [branch.number, parent, [number[id(step)] for step in branch.after]] for branch, parent in _walk(branches, -1)
    ]


def _walk(branches: Sequence[Branch], parent: int) -> Iterator[tuple[Branch, int]]:
    """All branches in pre-order; without recursion, since a chain can be deeper than Python's stack."""
    waiting = [(branch, parent) for branch in reversed(branches)]
    while waiting:
        branch, above = waiting.pop()
        yield branch, above
        waiting.extend((child, branch.number) for child in reversed(branch.children))


def _path(branches: Sequence[Branch], episode: Episode) -> list[int]:
    """The replies from the root to the one that gave the answer; empty where none did.

    A search that finds an answer ends with it. One that takes its best give-up took it from an earlier reply: the last
    that has the answer's words.
    """
    answers = [step for step in episode.steps if step.kind == "answer" and step.error is None]
    if not answers or not episode.answer:
        return []
    walked = list(_walk(branches, -1))
    parents = {branch.number: parent for branch, parent in walked}
    leaves = [branch for branch, _ in walked]
    if answers[-1].observation == "give_up":
        words = (episode.answer, json.dumps(episode.answer)[1:-1], json.dumps(episode.answer, ensure_ascii=False)[1:-1])
        leaves = [branch for branch in leaves if any(said in branch.step.text for said in words)]
    number, path = (leaves[-1].number if leaves else -1), []
    while number >= 0:
        path.append(number)
        number = parents[number]
    return path[::-1]
