"""Results in a few sentences: the best system and whether its lead is significant, the commonest cause of failure, what
is missing, what it cost, and what changes how the numbers are read. Printed by `run` and `report`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from r_eval.analysis.causes import CAUSES
from r_eval.analysis.compare import ALL, mirrored, pairs
from r_eval.analysis.published_results import UNTESTED
from r_eval.analysis.results import Results, ranked, records
from r_eval.analysis.scores import averages, scores
from r_eval.analysis.sweeps import advice
from r_eval.analysis.warnings import counted, run_warnings

if TYPE_CHECKING:
    import pandas

NAMED = 2
"""Conditions, and other systems, that are named; the page has all."""
STATES = {
    "running": "the run is still going",
    "crashed": "the run ended unexpectedly",
    "interrupted": "the run was interrupted",
    "budget": "the run reached its budget",
    "incomplete": "the run is incomplete",
}


def summary_lines(results: Results) -> list[str]:
    """The sentences, each behind a word that says what it is about."""
    lines = [("Best", text) for text in _best(results)]
    if results.runs:
        lines += [("Failures", text) for text in _failures(results.episodes)]
        if text := advice(results):
            lines.append(("Advice", f"{text}; see the page for all"))
        lines += [("Missing", text) for text in _missing(results)]
        lines.append(("Cost", _cost([run.manifest()["spent"] for run in results.runs])))
        lines += [("Saved", text) for run in results.runs if (text := saved(run.manifest()))]
        lines += [("Warning", text) for text in run_warnings(results)]
    return [f"{word:<9} {text}" for word, text in lines]


def leaders(results: Results, condition: str) -> list[str]:
    """The best system and whether its lead is significant; first that no tool system beats the baseline, if so."""
    frame = ranked(averages(results))
    every = frame[(frame["group"] == ALL) & (frame["condition"] == condition)]
    rows = every[every["rank"].notna()]
    rows = rows.assign(score=rows["score"].round(12)).sort_values("score", ascending=False, kind="stable")
    if not len(every):
        return ["no system: the run has references only"]
    if not len(rows):
        return ["no system has a score on every task yet"]
    first, *rest = records(rows)
    if not first["score"]:
        return ["no system answered any question"]
    found = []
    best = {role: own.iloc[0] for role, own in rows.groupby("role")}
    if len(best) == 2 and best["baseline"]["score"] >= best["system"]["score"]:
        baseline, system = best["baseline"], best["system"]
        rest_text = f"the best of them is {system['system']} ({_percent(system)} %)"
        found = [f"no tool-using system beats the baseline {baseline['system']} ({_percent(baseline)} %); {rest_text}"]
    so_far = "so far " if (every["incomplete"] > 0).any() else ""
    lacking = len(every) - len(rows)
    aside = f"; {counted(lacking, 'system')} without a score on every task" if lacking else ""
    lead = _lead(results, first, rest) if rest else ""
    if not rest and first["score_low"] == first["score_low"]:
        lead = f" (95 % interval {100 * first['score_low']:.1f} to {100 * first['score_high']:.1f})"
    return [*found, f"{so_far}{first['system']}, {_percent(first)} %{lead}{aside}"]


def _lead(results: Results, first: Mapping[str, Any], rest: Sequence[Mapping[str, Any]]) -> str:
    """Whether a lead is significant; p is adjusted for all pairs."""
    frame = mirrored(pairs(results))
    own = frame[(frame["condition"] == first["condition"]) & (frame["system_a"] == first["system"])]
    tests = {row["system_b"]: row for row in records(own)}
    second = rest[0]
    if any(row["system"] not in tests for row in rest):
        return f", ahead of {second['system']} ({_percent(second)}); {UNTESTED}"
    level = [row for row in rest if not tests[row["system"]]["significant"]]
    if level:
        names = ", ".join(f"{row['system']} ({_percent(row)})" for row in level[:NAMED])
        more = f" and {len(level) - NAMED} more" if len(level) > NAMED else ""
        questions = counted(tests[level[0]["system"]]["questions"], "question")
        return f"; not significantly better than {names}{more} on {questions}"
    p = max(tests[row["system"]]["p_adjusted"] for row in rest)
    p_text = f"{p:.1g}" if p < 0.001 else f"{p:.3f}"
    others = "" if len(rest) == 1 else f" and {len(rest) - 1} more"
    ahead = f"by {100 * abs(tests[second['system']]['difference']):.1f} points"
    return f"; significantly better than {second['system']} ({ahead}){others} (p = {p_text})"


def _best(results: Results) -> Iterator[str]:
    conditions = results.conditions
    for condition in conditions[:NAMED]:
        head = f"{condition}: " if len(conditions) > 1 else ""
        yield from (head + text for text in leaders(results, condition))
    if len(conditions) > NAMED:
        yield f"and {len(conditions) - NAMED} more conditions; see the page"


def _failures(episodes: pandas.DataFrame) -> Iterator[str]:
    """How many scored episodes of tool-using systems failed, and the commonest cause."""
    own = episodes[(episodes["role"] == "system") & episodes["score"].notna()]
    failed = own.loc[own["cause"] != "", "cause"].astype(str).value_counts()
    if len(own) and not len(failed):
        yield f"none in {counted(len(own), 'episode')} of tool-using systems"
    elif len(own):
        cause, count = failed.index[0], int(failed.iloc[0])
        text = CAUSES.get(cause, cause).rstrip(".")
        share = f"{failed.sum():,} of {counted(len(own), 'episode')} of tool-using systems"
        yield f"{share}; most common cause: {text} ({cause}, {count:,})"


def _missing(results: Results) -> Iterator[str]:
    """How many episodes have no score, and why."""
    missing = int(scores(results)["incomplete"].sum())
    if not missing:
        return
    own = results.cells[results.cells["score"].isna()]
    expected = int(own["expected"].sum())
    to_run = max(0, expected - int(own["episodes"].sum()))
    parts = [f"{to_run:,} not run yet"] if to_run else []
    parts += [f"{missing - to_run:,} failed because of infrastructure errors"] if missing > to_run else []
    states = [STATES[state] for state in dict.fromkeys(run.state() for run in results.runs) if state in STATES]
    reason = f"; {', '.join(states)}" if states else ""
    yield f"{missing:,} of {counted(expected, 'episode')} ({', '.join(parts)}){reason}"


def _cost(spent: Sequence[dict[str, dict[str, Any]]]) -> str:
    """What the runs cost in all their sessions; never 0 where a price is not known."""
    entries = [(llm, entry) for run in spent for llm, entry in run.items()]
    made, cached = (sum(entry[key] for _, entry in entries) for key in ("calls", "cached"))
    unknown = list(dict.fromkeys(llm for llm, entry in entries if entry["calls"] and entry["cost"] is None))
    known = [entry for llm, entry in entries if entry["calls"] and llm not in unknown]
    if not made:
        return f"none: all {cached:,} replies are from earlier runs" if cached else "none: no LLM was called"
    amount = f"{_usd(sum(entry['cost'] for entry in known))} USD" if known else "unknown"
    priced = f"{sum(entry['calls'] for entry in known):,} of " if known and unknown else ""
    more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
    without = f"; no price for {', '.join(unknown[:NAMED])}{more}" if unknown else ""
    reused = f"; {cached:,} more from earlier runs" if cached else ""
    return f"{amount} for {priced}{counted(made, 'reply', 'replies')}{without}{reused}"


def saved(manifest: Mapping[str, Any]) -> str:
    """What early stopping saved of a run, money by what an episode of the same LLM cost; "" if it stopped no system."""
    episodes, skipped = Counter[str](), Counter[str]()
    for cell in manifest["cells"]:
        episodes[cell["llm"]] += cell["episodes"]
        skipped[cell["llm"]] += cell.get("skipped", 0)
    if not skipped.total():
        return ""
    spent = {llm: (manifest.get("spent") or {}).get(llm, {}).get("cost") for llm in skipped}
    money = sum((cost or 0.0) * skipped[llm] / max(1, episodes[llm]) for llm, cost in spent.items())
    share = f"{100 * skipped.total() / (episodes + skipped).total():.0f} %"
    text = f"{skipped.total():,} of {counted((episodes + skipped).total(), 'episode')} ({share}) were not needed"
    return f"{text}, about {_usd(money)} USD" if money else text


def _percent(row: Any) -> str:
    return f"{100 * row['score']:.1f}"


def _usd(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 1 or amount == 0 else f"{amount:.2g}"
