"""`r-eval score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from r_eval.analysis.metrics import summaries
from r_eval.analysis.response_types import THRESHOLDS
from r_eval.analysis.scoring import DEFAULT_METRIC, score_run
from r_eval.cli.options import Json, RunPath, line_width, open_run, print_json, print_lines, print_tables

if TYPE_CHECKING:
    import pandas


def score(
    run: RunPath,
    metric: Annotated[list[str] | None, Option(metavar="NAME", help="A further metric; repeat for several.")] = None,
    taxonomy: Annotated[str, Option(metavar="|".join(THRESHOLDS), help="The rule of the response types.")] = "strict",
    match_threshold: Annotated[
        float | None, Option(metavar="X", min=0, max=1, help="The lowest score that counts as a match.")
    ] = None,
    json: Json = False,
) -> None:
    """Score the episodes of a run again.

    No LLM is called except by metrics that are one, such as judge@LLM.
    """
    folder = open_run(run)
    score_run(folder, metric or [], taxonomy, match_threshold)
    own = [task.get("metric") or DEFAULT_METRIC for task in folder.manifest()["tasks"]]
    notes = summaries(dict.fromkeys([*own, *(metric or [])]))
    from r_eval.analysis.results import load
    from r_eval.analysis.scores import further
    from r_eval.analysis.summary import summary_tables
    from r_eval.analysis.tables import text

    results = load(folder)
    if json:
        print_json({"run": str(run), "taxonomy": taxonomy, **_counts(results.episodes), "notes": notes})
        return
    further_tables = [text(further(results), "Further metrics")] if metric else []
    print_tables([*summary_tables(results, line_width()), *further_tables])
    print_lines(notes)


def _counts(episodes: pandas.DataFrame) -> dict[str, Any]:
    """How many episodes there are with and without a score, their mean (not over tasks), and their types."""
    scores = episodes["score"].dropna()
    return {
        "threshold": None if episodes.empty else float(episodes["threshold"].iloc[0]),
        "episodes": len(episodes),
        "scored": len(scores),
        "mean": float(scores.mean()) if len(scores) else None,
        **{name: int(episodes[name].sum()) for name in ("undecided", "unparsed")},
        "types": episodes["response_type"].astype(str).value_counts().to_dict(),
    }
