"""What a system's retrieval pipeline was, as far as its run says: retriever, embedding model, how many passages.

A setting that a grid leaves to its default is not in the run, and so not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KEYS = ("retriever", "embedding", "top_k")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Empty or None where the run does not say."""

    retriever: str = ""
    embedding: str = ""
    top_k: int | None = None


def pipeline(manifest: Mapping[str, Any], workflow: str, tasks: Sequence[str]) -> Pipeline:
    """The pipeline of a run's workflow over some of its tasks.

    What a sweep varies counts before the workflow's own settings, and these before those of the tasks' environments.
    """
    grid = manifest.get("grid", {})
    entries = [entry for entry in grid.get("workflows", ()) if isinstance(entry, dict)]
    varied = manifest.get("vary", {}).get("workflows", {}).get(workflow, {})
    base = workflow.partition("@")[0] if varied else workflow
    own: Mapping[str, Any] = next((e for e in entries if base in (e.get("name"), e.get("workflow"))), {})
    over = [
        entry["environment"]
        for entry in grid.get("tasks", ())
        if isinstance(entry, dict) and entry.get("task") in tasks and isinstance(entry.get("environment"), dict)
    ]
    found: dict[str, Any] = {}
    for settings in (varied, own, own.get("environment") or {}, *over):
        for key in KEYS:
            if isinstance(value := settings.get(key), str | int) and not isinstance(value, bool):
                found.setdefault(key, value)
    retriever, embedding, top_k = (found.get(key, "") for key in KEYS)
    return Pipeline(str(retriever), str(embedding), top_k if isinstance(top_k, int) else None)
