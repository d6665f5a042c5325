"""The form of run.json, as far as its readers rely on it: a damaged or foreign one is refused in words by `complaint`.

More keys than these are let through, and keys that a run of an earlier version lacks may be missing.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class _Cell(_Part):
    workflow: str
    llm: str
    condition: str
    task: str
    episodes: int = Field(ge=0)
    fingerprint: str = ""
    parts: dict[str, Any] = {}


class _System(_Part):
    name: str
    workflow: str
    llm: str
    bound: bool = False


class _Task(_Part):
    name: str
    id: str | None = None
    title: str | None = None
    domain: str | None = None
    level: str | None = None
    metric: str | None = None
    questions: int | None = None
    data: dict[str, Any] | None = None


class _Reached(_Part):
    text: str


class _LLM(_Part):
    connections: int | None = None
    adaptations: dict[str, str] = {}


class _Grid(_Part):
    tasks: list[dict[str, Any]] = []
    llms: list[dict[str, Any]] = []


class _Vary(_Part):
    workflows: dict[str, dict[str, Any]] = {}
    base: str = ""


class _Manifest(_Part):
    name: str
    id: str = ""
    state: str
    cells: list[_Cell]
    tasks: list[_Task]
    created: str = ""
    updated: str = ""
    seed: int | None = None
    versions: dict[str, str] = {}
    grid: _Grid = _Grid()
    vary: _Vary | None = None
    systems: list[_System] = []
    llms: dict[str, _LLM] = {}
    conditions: list[str] = []
    budget: list[_Reached] = []
    spent: dict[str, dict[str, float | int | None]] = {}
    seconds: float = 0.0
    left_out: list[_Cell] = []


def complaint(manifest: Any) -> str | None:
    """The first thing about a run's record that is not of its form; None where all of it is."""
    try:
        _Manifest.model_validate(manifest)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        return ": ".join(filter(None, [".".join(str(part) for part in first["loc"]), first["msg"]]))
    asked = {task["name"] for task in manifest["tasks"]}
    strange = next((cell["task"] for cell in manifest["cells"] if cell["task"] not in asked), None)
    return None if strange is None else f"cells: the task {strange!r} is not among its tasks"
