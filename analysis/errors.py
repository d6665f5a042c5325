"""The error analysis: response types, and the causes below them.

Shares are of the recorded episodes, infrastructure failures (ME) among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from r_eval.analysis.causes import CAUSES
from r_eval.analysis.frame import NUMBER, TEXT, WHOLE
from r_eval.analysis.response_types import TYPES
from r_eval.analysis.results import IDENTITY, Results, tidy

if TYPE_CHECKING:
    import pandas

Grouping = Literal["task", "level", "domain"]

COUNTS = {"episodes": WHOLE, "share": NUMBER}


def responses(results: Results, by: Grouping | None = None) -> pandas.DataFrame:
    """Episodes of each response type, all six of each system, and their share of the recorded ones."""
    keys = [*IDENTITY, *([by] if by else [])]
    counts = _types(results.episodes, keys)
    found = counts.reset_index().melt(keys, var_name="response_type", value_name="episodes", ignore_index=False)
    found["share"] = found["episodes"] / counts.sum(axis=1).to_numpy()[found.index]
    found = found.sort_index(kind="stable")
    return tidy(found, {**dict.fromkeys([*keys, "response_type"], TEXT), **COUNTS})


def responses_table(results: Results) -> pandas.DataFrame:
    """The shares of the response types, a row per system, with the counts that qualify them.

    `undecided` episodes have evidence that containment cannot judge, `unparsed` ones no answer that could be read.
    """
    counts = _types(results.episodes, [*IDENTITY])
    groups = results.episodes.groupby([*IDENTITY], observed=True)
    found = counts.div(counts.sum(axis=1), axis=0).join(groups[["undecided", "unparsed"]].sum())
    types = dict.fromkeys(IDENTITY, TEXT) | {str(name): NUMBER for name in TYPES}
    types |= dict.fromkeys(("undecided", "unparsed", "episodes"), WHOLE)
    return tidy(found.assign(episodes=counts.sum(axis=1)).reset_index(), types)


def _types(episodes: pandas.DataFrame, keys: Sequence[str]) -> pandas.DataFrame:
    """Episodes by what they are grouped by (rows) and response type (columns)."""
    counts = episodes.groupby([*keys, "response_type"], observed=True).size().unstack(fill_value=0)
    counts.columns = counts.columns.astype(str)
    return counts.reindex(columns=list(TYPES), fill_value=0).rename_axis(columns="response_type")


def causes(results: Results, by: Grouping | None = None) -> pandas.DataFrame:
    """Failed episodes of each cause, in the order of `CAUSES`, their share of the recorded ones, and one to read."""
    keys = [*IDENTITY, *([by] if by else [])]
    recorded = results.episodes.groupby(keys, observed=True).size().rename("recorded")
    failed = results.episodes[results.episodes["cause"] != ""]
    found = failed.groupby([*keys, "cause"], observed=True).agg(
        episodes=("score", "size"), example=("episode_id", "first")
    )
    found = found.join(recorded).reset_index()
    found["share"] = found["episodes"] / found["recorded"]
    order = {cause: place for place, cause in enumerate(CAUSES)}
    found["_place"] = [order.get(cause, len(order)) for cause in found["cause"]]
    types = {**dict.fromkeys([*keys, "cause"], TEXT), **COUNTS, "example": TEXT}
    return tidy(found.sort_values([*keys, "_place"]), types)
