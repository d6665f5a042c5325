"""Prints, for OpenAPI documents and MCP servers with quirks, what is offered, what is left out and why, and what a call
sends or a model reads: `python -m tests.environments.tables`.
"""

from __future__ import annotations

import logging
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from r_eval.errors import UserError
from tests.environments import test_mcp_servers, test_openapi_documents

WIDEST = 300


def rows(module: Any) -> list[str]:
    """A table in Markdown with a row for each case of a test module."""
    warnings: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("r_eval").addHandler(handler)
    lines = ["| case | offered | the warning | calls |", "| --- | --- | --- | --- |"]
    for case in module.CASES:
        warnings.clear()
        with tempfile.TemporaryDirectory() as folder:
            try:
                offered, results = module.outcomes(case, Path(folder))
            except UserError as refusal:
                offered, results = [], []
                warnings.append(f"refused: {str(refusal).rpartition(' cannot be opened: ')[2]}")
        calls = [
            f"`{api}({arguments})`: {found}" for (api, arguments, _), found in zip(case.calls, results, strict=False)
        ]
        messages = [re.sub(r"^.*?(api\.yaml|about\.json): ", "", warning) for warning in warnings]
        stubs = [f"`{stub.removesuffix(' -> Any:').rstrip(':')}`" for stub in offered]
        cells = [[case.name], stubs, messages, calls]
        lines.append(f"| {' | '.join('<br>'.join(_clipped(text) for text in cell) for cell in cells)} |")
    logging.getLogger("r_eval").removeHandler(handler)
    return lines


def _clipped(text: str) -> str:
    short = text if len(text) <= WIDEST else f"{text[:WIDEST]}…"
    return short.replace("|", "\\|").replace("\n", "\\n")


if __name__ == "__main__":
    for module in (test_openapi_documents, test_mcp_servers):
        sys.stdout.write("\n".join(["", *rows(module), ""]))
