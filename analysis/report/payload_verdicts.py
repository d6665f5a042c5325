"""What the page says first, in the words of the terminal: baselines that no system beats, and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from r_eval.analysis.deployment import MEASURE
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.run_summary import unbeaten_baseline
from r_eval.analysis.warnings import run_warnings
from r_eval.folder import RunFolder


def verdicts_payload(aggregates: Aggregates, runs: Sequence[RunFolder]) -> dict[str, Any]:
    """The parts `unbeaten` (a sentence by condition, "" for none), `warnings` and `measure` of the page's data.

    Args:
        runs: Those that have episodes.
    """
    unbeaten = {condition: unbeaten_baseline(aggregates.under(condition)) for condition in aggregates.conditions}
    return {
        "unbeaten": {condition: text[:1].upper() + text[1:] for condition, text in unbeaten.items()},
        "warnings": [text for run in runs for text in run_warnings(run)],
        "measure": MEASURE,
    }
