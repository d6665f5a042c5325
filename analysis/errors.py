"""The error analysis: response types, the causes below them, and what the questions that are failed have in common.

Everything rests on the scored episodes and the runs' own questions. Shares of types and causes are of the recorded
episodes, infrastructure failures (ME) among them; the shares of right answers (EM and AM) by a separator are of the
scored ones. A separator whose groups differ much says what makes questions hard; it does not say why, and groups
overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from r_eval.analysis.causes import CAUSES
from r_eval.analysis.estimates import mean_by
from r_eval.analysis.facts import bucket, facts_of, popularity_by_name
from r_eval.analysis.frame import NUMBER, TEXT, WHOLE
from r_eval.analysis.response_types import TYPES
from r_eval.analysis.results import IDENTITY, Results, tidy

if TYPE_CHECKING:
    import pandas

By = Literal["task", "level", "domain"]

SEPARATORS: dict[str, str] = {
    "hops": "calls of the gold program",
    "kind": "kind of answer",
    "popularity": "popularity of the entity",
    "calls": "query API calls made",
}
"""What the share of right answers is separated by, with its name in tables."""
ALL_SYSTEMS = "all systems"
"""All tool-using systems together; baselines and references fail, and succeed, for other reasons."""
FEWEST = 10
"""Questions that a group needs to count for a separator's spread."""
COUNTS = {"episodes": WHOLE, "share": NUMBER}
MATRIX: dict[str, str] = {
    **dict.fromkeys((*IDENTITY, "task", "question_id"), TEXT),
    "epoch": WHOLE,
    **dict.fromkeys(("episode_id", "response_type", "cause"), TEXT),
    "score": NUMBER,
}
SEPARATED: dict[str, str] = {
    **dict.fromkeys(("condition", "system", "property", "value"), TEXT),
    **dict.fromkeys(("episodes", "questions"), WHOLE),
    **dict.fromkeys(("share", "share_low", "share_high", "spread"), NUMBER),
}


def responses(results: Results, by: By | None = None) -> pandas.DataFrame:
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


def causes(results: Results, by: By | None = None) -> pandas.DataFrame:
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


def matrix(results: Results) -> pandas.DataFrame:
    """How each system did on each question."""
    return tidy(results.episodes[list(MATRIX)], MATRIX)


def separators(results: Results) -> pandas.DataFrame:
    """The share of right answers by what is known of a question or an episode, of all systems together and of each.

    Each question counts once. `spread` is the difference between the best and the worst value with at least FEWEST
    questions; missing where there are no two.
    """
    import pandas

    own = _with_facts(results)
    together = own[own["role"] == "system"].assign(system=ALL_SYSTEMS)
    parts = [_separated(frame, name) for name in SEPARATORS for frame in (together, own)]
    return tidy(pandas.concat([part for part in parts if len(part)] or parts[:1]), SEPARATED)


def _with_facts(results: Results) -> pandas.DataFrame:
    """The scored episodes with what is known of their questions."""
    import pandas

    keys = ["task", "question_id"]
    columns = ["condition", "system", "role", *keys, "cluster", "response_type", "api_calls"]
    own = results.episodes.loc[results.episodes["score"].notna(), columns].astype(dict.fromkeys(keys, TEXT))
    known = {
        (task["name"], question): (facts.hops, facts.kind, facts.popularity)
        for run in reversed(results.runs)
        for task in run.manifest()["tasks"]
        for question, facts in facts_of(task["name"], run.questions(task["name"])).items()
    }
    lines = [
        known.get(key) or ("", "", popularity_by_name(key[0])) for key in zip(*(own[k] for k in keys), strict=True)
    ]
    facts = pandas.DataFrame(lines, columns=["hops", "kind", "popularity"], index=own.index)
    calls = [bucket(None if count != count else int(count)) for count in own["api_calls"].tolist()]
    return own.join(facts).assign(calls=calls, share=own["response_type"].isin(["EM", "AM"]))


def _separated(own: pandas.DataFrame, name: str) -> pandas.DataFrame:
    """The shares by the values of one property, smaller numbers first, then words."""
    keys = ["condition", "system", name]
    known = own[own[name] != ""]
    found = mean_by(known, keys, "share")
    episodes = known.groupby(keys, observed=True).size().rename("episodes").reset_index()
    found = found.merge(episodes, on=keys).rename(columns={name: "value"})
    found["_place"] = [_place(value) for value in found["value"]]
    enough = found["share"].where(found["questions"] >= FEWEST)
    groups = enough.groupby([found["condition"], found["system"]], observed=True)
    found["spread"] = (groups.transform("max") - groups.transform("min")).where(groups.transform("count") > 1)
    return found.sort_values(["condition", "system", "_place", "value"]).assign(property=name)


def _place(value: str) -> int:
    """Where a value stands: numbers by their size, then words."""
    return int(value.split()[0]) if value[:1].isdigit() else 10**9
