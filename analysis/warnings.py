"""What changes how the numbers of a run are read, a sentence each: printed when a run ends, and shown on its page.

Replies cut at max_tokens, replies that were replayed, `shots` that a task does not have, questions and settings that
were left out, systems that were stopped early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

    from r_eval.analysis.results import Results

MEASURE = "r-eval run GRID.yaml --no-cache --fresh"
"""The command that measures latency anew."""
NAMED = 3
"""LLMs and tasks that a sentence names."""


def run_warnings(results: Results) -> list[str]:
    """The sentences of some runs; those of a run's settings behind its name where there are several."""
    manifests = [manifest for manifest in results.manifests if not manifest.get("published")]
    names = [f"{manifest['name']}: " if len(manifests) > 1 else "" for manifest in manifests]
    found = [*_cut(results.episodes, manifests), *_replayed(results.episodes)]
    for manifest, name in zip(manifests, names, strict=True):
        parts = (_shots(manifest), _dropped(manifest), _stopped(manifest), _adapted(manifest))
        found += [f"{name}{text}" for part in parts for text in part]
    return found


def _cut(episodes: pandas.DataFrame, manifests: Sequence[dict[str, Any]]) -> Iterator[str]:
    entries = [
        entry for one in manifests for entry in (one.get("grid") or {}).get("llms", ()) if isinstance(entry, dict)
    ]
    limits = {str(entry.get("name") or entry.get("llm")): entry.get("max_tokens", 512) for entry in entries}
    counts = episodes.groupby("llm", observed=True)["truncated"].sum().sort_values(ascending=False, kind="stable")
    for llm, count in counts[counts > 0].items():
        limit = f" {limits[llm]}" if llm in limits else ""
        were = "reply was" if count == 1 else "replies were"
        yield f"{count:,} {were} cut at max_tokens{limit}: raise it ({llm})"


def _replayed(episodes: pandas.DataFrame) -> Iterator[str]:
    if count := int(episodes["replayed"].sum()):
        were = "reply was" if count == 1 else "replies were"
        yield f"{count:,} {were} replayed from earlier runs; latency is of the other episodes: {MEASURE} measures all"


def _shots(manifest: dict[str, Any]) -> Iterator[str]:
    shots = (manifest.get("grid") or {}).get("shots", 0)
    counts = {task["name"]: len(task.get("demonstrations", [0] * shots)) for task in manifest["tasks"]}
    fewer = [f"{name} ({count})" for name, count in counts.items() if count < shots]
    if fewer:
        more = f" and {len(fewer) - NAMED} more" if len(fewer) > NAMED else ""
        named = f"{', '.join(fewer[:NAMED])}{more}"
        yield f"shots is {shots}, but there are fewer demonstrations for {named}: set demonstrations: FILE.jsonl"


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
        yield "means, intervals and p-values cover the questions until a system was stopped, which favours the leader"


ADAPTED = {
    "tools": "tools described in the prompt, not sent natively",
    "system": "system messages sent as a part of the user's",
    "extra": "unknown keys of its own replies not sent back",
}
"""What is sent instead, where more than one parameter is concerned."""


def _adapted(manifest: dict[str, Any]) -> Iterator[str]:
    """What was sent otherwise than the grid says."""
    for llm, entry in (manifest.get("llms") or {}).items():
        for what, reason in (entry.get("adaptations") or {}).items():
            yield f"{llm}: {ADAPTED.get(what, f'{what} not sent as set')} ({reason})"


def counted(number: int, one: str, several: str = "") -> str:
    """A number with its noun: "1 reply", "2 replies"."""
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"
