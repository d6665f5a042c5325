"""Options and arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Out = Annotated[Path | None, typer.Option("--out", help="The run's folder; runs/<grid name> by default.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Keep the first N questions of every task.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Cache = Annotated[
    bool | None,
    typer.Option("--cache/--no-cache", help="Use kept replies of earlier runs; by default where the temperature is 0."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]
RunPaths = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")]
