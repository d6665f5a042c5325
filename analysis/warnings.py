"""What changes how the numbers of a run are read, a sentence each: printed when a run ends, and shown on its page.

Replies cut at max_tokens, replies that were replayed, `shots` that a task does not have, questions and settings that
were left out, systems that were stopped early.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from r_eval.analysis.deployment import MEASURE
from r_eval.analysis.scoring import ensure_scored
from r_eval.folder import RunFolder

NAMED = 3
"""LLMs and tasks that a sentence names."""


def run_warnings(run: RunFolder) -> list[str]:
    """The sentences of a run; missing scores are computed first.

    Raises:
        UserError: The folder is not a run.
    """
    ensure_scored(run)
    manifest = run.manifest()
    cut, replayed = Counter[str](), Counter[str]()
    for cell in run.cells():
        for record in run.scores(cell).values():
            cut[cell.llm] += record["truncated"]
            replayed[cell.llm] += record["replayed"]
    return [
        *_cut(cut, manifest),
        *_replayed(replayed),
        *_shots(manifest),
        *_dropped(manifest),
        *_stopped(manifest),
        *_adapted(manifest),
    ]


def _cut(cut: Counter[str], manifest: dict[str, Any]) -> Iterator[str]:
    limits = {_name(entry): entry.get("max_tokens", 512) for entry in _entries(manifest)}
    for llm, count in cut.most_common():
        if count:
            limit = f" {limits[llm]}" if llm in limits else ""
            were = "reply was" if count == 1 else "replies were"
            yield f"{count:,} {were} cut at max_tokens{limit}: raise it ({llm})"


def _replayed(replayed: Counter[str]) -> Iterator[str]:
    if count := replayed.total():
        were = "reply was" if count == 1 else "replies were"
        yield f"{count:,} {were} replayed from earlier runs; latency is of the other episodes: {MEASURE} measures all"


def _shots(manifest: dict[str, Any]) -> Iterator[str]:
    shots = (manifest.get("grid") or {}).get("shots", 0)
    lacking = [task for task in manifest["tasks"] if len(task.get("demonstrations", [0] * shots)) < shots]
    without = [task["name"] for task in lacking if not task["demonstrations"]]
    fewer = [f"{task['name']} ({len(task['demonstrations'])})" for task in lacking if task["demonstrations"]]
    if without:
        yield f"shots is {shots}, but {_named(without)} ran without demonstrations: set demonstrations: FILE.jsonl"
    if fewer:
        yield f"shots is {shots}, but there are fewer demonstrations for {_named(fewer)}"


def _dropped(manifest: dict[str, Any]) -> Iterator[str]:
    for drop in manifest.get("dropped", ()):
        yield (
            f"{drop['dropped']} of {counted(drop['questions'], 'question')} of {drop['task']} left out under the "
            f"condition '{drop['condition']}'"
        )


def _stopped(manifest: dict[str, Any]) -> Iterator[str]:
    """Which systems early stopping asked no further, together where that was at the same look for the same reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for entry in manifest.get("stopped", ()):
        why = entry["text"].removeprefix(entry["system"]).strip()
        groups.setdefault((entry["condition"], why), []).append(entry["system"])
    several = len({condition for condition, _ in groups}) > 1
    for (condition, why), systems in groups.items():
        yield f"{f'{condition}: ' if several else ''}{', '.join(systems)} {why}"
    if groups:
        yield "means, intervals and p are of the questions asked until a system was stopped, which flatters the leader"


def _adapted(manifest: dict[str, Any]) -> Iterator[str]:
    """What was sent otherwise than the grid says."""
    for llm, entry in (manifest.get("llms") or {}).items():
        for what, reason in (entry.get("adaptations") or {}).items():
            sent = "tools described in the prompt, not sent natively" if what == "tools" else f"{what} not sent as set"
            yield f"{llm}: {sent} ({reason})"


def counted(number: int, one: str, several: str = "") -> str:
    """A number with its noun: "1 reply", "2 replies"."""
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def _entries(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in (manifest.get("grid") or {}).get("llms", ()) if isinstance(entry, dict)]


def _name(entry: dict[str, Any]) -> str:
    return str(entry.get("name") or entry.get("llm"))


def _named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
