"""What the run's own process and its workers on other machines tell each other: plain data, small, sent as it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

from r_eval.folder import Cell
from r_eval.grid import Grid
from r_eval.llms.replay import LLMUsage
from r_eval.records import Episode
from r_eval.workflows.base import Demonstration


@dataclasses.dataclass(frozen=True)
class Order:
    """What a worker is for. It finds everything else itself, as the run's own process did.

    Attributes:
        llm: By its name in the grid.
        places: Episodes under way at once.
        sharing: Among how many workers the LLM's limits a minute are divided.
        cells: The cells of this LLM with the parts of their fingerprints, for comparing.
        demonstrations: By the name of their task.
        run: The run's id, under which replies are kept for its resume.
        cache, cache_all: Whether replies of other runs are taken, and whether for every LLM.
        folder: Where the command was typed; relative paths start there.
        variables: Environment variables that R-Eval reads.
    """

    grid: Grid
    limit: int | None
    llm: str
    places: int
    sharing: int
    cells: Mapping[Cell, Mapping[str, str]]
    demonstrations: Mapping[str, tuple[Demonstration, ...]]
    run: str
    cache: bool
    cache_all: bool
    folder: str
    variables: Mapping[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Readiness:
    """What came of a worker's first minute.

    Attributes:
        trouble: Why it is not ready: "" where it is; "llm" where its LLM cannot be opened, "user" where the grid cannot
            be resolved there, or becomes something else there.
        cause: Of an `LLMError`.
    """

    trouble: Literal["", "llm", "user"] = ""
    cause: str = ""
    text: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """An episode, over.

    Attributes:
        usage: What its worker asked of the LLM since the last report.
    """

    episode: Episode
    usage: LLMUsage
