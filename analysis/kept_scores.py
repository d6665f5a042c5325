"""Whether the kept scores of a cell are as `scoring` writes them; what is damaged or foreign is computed anew.

A file is read through once a process, as long as it does not change.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from r_eval.analysis.responses import ResponseType
from r_eval.folder import whole_lines

Number = Annotated[float, Field(ge=-1e15, le=1e15)] | None
Whole = Annotated[int, Field(ge=0, le=10**15)]


class ScoreRecord(BaseModel):
    """A line of `scores/`. Keys that earlier versions of the scorer lack have a default."""

    model_config = ConfigDict(extra="ignore", strict=True)

    episode_id: str
    question_id: str
    task: str
    level: str
    workflow: str
    llm: str
    condition: str
    epoch: Annotated[int, Field(ge=0, le=10**9)]
    score: Number
    metric: str
    metrics: dict[str, Number]
    response_type: ResponseType
    cause: str = ""
    reward: Number = None
    supported: bool | None = None
    undecided: bool
    retrieval: dict[str, Number] | None = None
    unparsed: bool
    taxonomy: str
    threshold: float
    seconds: Number
    queue: Number = None
    retry: Number = None
    calls: Whole
    api_calls: Number = None
    api_found: Number = None
    prompt_tokens: Whole
    completion_tokens: Whole
    cached_tokens: Whole = 0
    cost: Number = None
    llm_seconds: Number = None
    environment_seconds: Number = None
    replayed: Whole = 0
    truncated: Whole = 0
    steps: Whole = 0
    characters: Number = None
    outcome: str
    outcome_cause: str = ""
    scorer_version: int = 0


def sound(path: Path) -> bool:
    """Whether every line of a file of scores is a score record."""
    found = path.stat()
    return _sound(path, found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=100_000)
def _sound(path: Path, changed: int, size: int) -> bool:
    length = 0
    try:
        for _, line in whole_lines(path):
            ScoreRecord.model_validate_json(line)
            length += len(line)
    except ValidationError:
        return False
    return length == size
