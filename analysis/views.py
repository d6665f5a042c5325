"""Every view of a report: a function from the results to a tidy frame, and where it is shown.

A view is a table of the page, sortable and downloadable, and a set of files (CSV, Markdown, LaTeX). A new diagnostic is
one function and one row here. An empty frame is shown nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from r_eval.analysis import compare, deployment, errors, matching, repeats, retrieval, robustness, scores, sweeps
from r_eval.analysis import variants as samples

if TYPE_CHECKING:
    import pandas

    from r_eval.analysis.results import Results


@dataclass(frozen=True, slots=True)
class View:
    """One table.

    Attributes:
        name: Of its files.
        title: Heading.
        function: Makes the frame; `attrs["notes"]` of it are sentences that are shown under the table.
        section: What it stands under on the tab.
        note: What is counted, and how to read it.
        columns: Those that the page shows; all of them where none is named. Files have all.
        file: Whether it is written as files.
        page: Whether it is a table of the page; charts can be made from it all the same.
    """

    name: str
    title: str
    function: Callable[[Results], pandas.DataFrame]
    tab: Literal["results", "errors", "details"] = "details"
    section: str = ""
    note: str = ""
    columns: tuple[str, ...] = ()
    file: bool = True
    page: bool = True


def _details(section: str, *rows: tuple[str, str, Callable[[Results], pandas.DataFrame], str]) -> tuple[View, ...]:
    """Views of a section of the details: name, title, function and note of each."""
    return tuple(View(name, title, function, "details", section, note) for name, title, function, note in rows)


VIEWS: tuple[View, ...] = (
    View("scores", "Scores", scores.scores_table, "results", page=False),
    View("averages", "Average scores", scores.averages, "results", page=False),
    View("task_scores", "Scores by task", scores.scores, "results", page=False),
    View(
        *("deployment", "Score, latency, tokens and cost", deployment.deployment, "results", "Deployment"),
        "Per question. Seconds are of the episode itself, without queueing and retries.",
        (
            *("condition", "system", "domain", "quality", "quality_low", "quality_high", "seconds_p50", "seconds_p95"),
            *("calls", "prompt_tokens", "completion_tokens", "cost_mean", "replayed"),
        ),
    ),
    View("latencies", "Seconds of each episode", deployment.latencies, file=False, page=False),
    View(
        *("responses", "Response types", errors.responses_table, "errors", "Response types"),
        "Shares of the recorded episodes, percent.",
    ),
    View("response_shares", "Response types", errors.responses, file=False, page=False),
    View("causes", "Causes", errors.causes, "errors", "Causes", "Shares of the recorded episodes."),
    *_details(
        "Statistics",
        (
            *("pairs", "Pairwise comparison", compare.pairs),
            "Differences on the same questions, in percentage points. Adjusted p-values (Holm) and intervals are of "
            "one family.",
        ),
        (
            *("partners", "Best LLM per workflow, best workflow per LLM", matching.partners),
            "The best partner of each workflow and each LLM, and whether it is significantly better than each rival.",
        ),
        ("repeats", "Repeated runs", repeats.repeats, ""),
        ("upper_bound", "Upper bound: the best system for each question", matching.upper_bound, ""),
    ),
    *_details(
        "Robustness",
        (
            *("against_clean", "Conditions against clean", robustness.against_clean),
            "The score under the condition less that of the same system under clean, paired by question. The systems "
            "of a condition are one family of comparisons.",
        ),
        (
            *("faithful", "Read or remembered", robustness.faithful),
            "Of the answers where the environment's values were replaced. Faithful: the new gold answer, which only "
            "the environment tells. Leaked: the old one, which only a memory tells. Other: neither, or both alike.",
        ),
        (
            *("recovery", "Recovery from failed calls", robustness.recovery),
            "Of the calls that failed for the moment: retried (the same call again), another (another call after the "
            "next reply), answered, or stopped. Success: of the retries.",
        ),
        (
            *("closed_book", "What needs the domain", robustness.closed_book),
            "Each system paired with the workflow direct of its LLM. Needed: right, the LLM alone wrong. Knew: both "
            "right. Lost: only the LLM alone is right. AM: right without evidence.",
        ),
        (
            *("placeholder_scores", "Scores over samples", samples.placeholder_scores),
            "The score of a sample is the mean over its variants; all samples weigh the same, over all tasks too.",
        ),
        (
            *("stability", "Stability over variants", samples.stability),
            "Of the samples all of whose variants are scored. Right of partly: of the variants of partly right ones.",
        ),
    ),
    *_details(
        "Retrieval",
        (
            *("retrieval", "Retrieval", retrieval.retrieval),
            "Of the scored episodes whose relevant documents or evidence are known, at a fixed k and of all that was "
            "found. Compare systems at a fixed k: how many documents a system looks up is its own choice.",
        ),
        (
            *("question_types", "Retrieval and generation by question type", retrieval.question_types),
            "Total: their sum, up to 200 %.",
        ),
    ),
    *_details(
        "Sweeps",
        (
            *("recommendations", "Recommended settings", sweeps.recommend),
            "The cheapest of the settings that are not significantly worse than the best, or the base. No choice: no "
            "setting is significantly better or cheaper than another.",
        ),
        ("components", "Scores by setting", sweeps.components, ""),
        (
            *("setting_pairs", "Settings compared", sweeps.setting_pairs),
            "Paired by question; all pairs of a run and condition are one family of comparisons.",
        ),
    ),
    *_details(
        "Failures",
        ("responses_by_level", "Response types by level", partial(errors.responses, by="level"), ""),
        ("responses_by_domain", "Response types by domain", partial(errors.responses, by="domain"), ""),
        ("failures", "Episodes that did not finish", scores.failures, ""),
    ),
    *_details("Metrics", ("metrics", "Other metrics", scores.further, "")),
)
"""In the order of the page."""


def frames(results: Results) -> Mapping[str, pandas.DataFrame]:
    """The frame of every view, by its name."""
    return {view.name: view.function(results) for view in VIEWS}
