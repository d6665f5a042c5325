"""Every view of a report: a function from the results to a tidy frame, and where it is shown.

A view is a table of the page, sortable and downloadable, and a set of files (CSV, Markdown, LaTeX). A new diagnostic is
one function and one row here. An empty frame is shown nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from r_eval.analysis import compare, deployment, errors, matching, retrieval, robustness, scores, sweeps

if TYPE_CHECKING:
    import pandas

    from r_eval.analysis.results import Results

TABS = {"Deployment": "results", "Response types": "errors", "Causes": "errors"}
"""The tab of each section; all others are details."""


@dataclass(frozen=True, slots=True)
class View:
    """One table.

    Attributes:
        name: Of its files.
        title: Heading.
        function: Makes the frame; `attrs["notes"]` of it are sentences that are shown under the table.
        section: Its heading on the page; "" where it is no table of the page. Charts can be made from it all
            the same.
        note: What is counted, and how to read it.
        columns: Those that the page shows; all of them where none is named. Files have all.
        file: Whether it is written as files.
    """

    name: str
    title: str
    function: Callable[[Results], pandas.DataFrame]
    section: str = ""
    note: str = ""
    columns: tuple[str, ...] = ()
    file: bool = True

    @property
    def tab(self) -> str:
        """Of the page."""
        return TABS.get(self.section, "details")


VIEWS: tuple[View, ...] = (
    View("scores", "Scores", scores.scores_table),
    View("averages", "Average scores", scores.averages),
    View("task_scores", "Scores by task", scores.scores),
    View(
        *("deployment", "Score, latency, tokens and cost", deployment.deployment, "Deployment"),
        "Per question. Seconds are of the episode itself, without queueing and retries.",
        (
            *("condition", "system", "domain", "quality", "quality_low", "quality_high", "seconds_p50", "seconds_p95"),
            *("calls", "prompt_tokens", "completion_tokens", "cost_mean", "replayed"),
        ),
    ),
    View("latencies", "Seconds of each episode", deployment.latencies, file=False),
    View(
        *("responses", "Response types", errors.responses_table, "Response types"),
        "Shares of the recorded episodes, percent.",
    ),
    View("response_shares", "Response types", errors.responses, file=False),
    View("causes", "Causes", errors.causes, "Causes", "Shares of the recorded episodes."),
    View(
        *("pairs", "Pairwise comparison", compare.pairs, "Statistics"),
        "Differences on the same questions, in percentage points. Adjusted p-values (Holm) and intervals are of one "
        "family.",
    ),
    View(
        *("partners", "Best LLM per workflow, best workflow per LLM", matching.partners, "Statistics"),
        "The best partner of each workflow and each LLM, and whether it is significantly better than each rival.",
    ),
    View("repeats", "Repeated runs", robustness.repeats, "Statistics"),
    View(
        *("against_clean", "Conditions against clean", robustness.against_clean, "Robustness"),
        "The score under the condition less that of the same system under clean, paired by question. The systems of a "
        "condition are one family of comparisons.",
    ),
    View(
        *("faithful", "Read or remembered", robustness.faithful, "Robustness"),
        "Of the answers where the environment's values were replaced. Faithful: the new gold answer, which only the "
        "environment tells. Leaked: the old one, which only a memory tells. Other: neither, or both alike.",
    ),
    View(
        *("placeholder_scores", "Scores over samples", robustness.placeholder_scores, "Robustness"),
        "The score of a sample is the mean over its variants; all samples weigh the same, over all tasks too.",
    ),
    View(
        *("stability", "Stability over variants", robustness.stability, "Robustness"),
        "Of the samples all of whose variants are scored. Right of partly: of the variants of partly right ones.",
    ),
    View(
        *("retrieval", "Retrieval", retrieval.retrieval, "Retrieval"),
        "Of the scored episodes whose relevant documents or evidence are known, at a fixed k and of all that was "
        "found. Compare systems at a fixed k: how many documents a system looks up is its own choice.",
    ),
    View(
        *("question_types", "Retrieval and generation by question type", retrieval.question_types, "Retrieval"),
        "Total: their sum, up to 200 %.",
    ),
    View(
        *("recommendations", "Recommended settings", sweeps.recommend, "Sweeps"),
        "The best setting, or the base where it is not significantly worse. No choice: no setting is significantly "
        "better than another.",
    ),
    View("components", "Scores by setting", sweeps.components, "Sweeps"),
    View(
        *("setting_pairs", "Settings compared", sweeps.setting_pairs, "Sweeps"),
        "Paired by question; all pairs of a run and condition are one family of comparisons.",
    ),
    View("responses_by_level", "Response types by level", partial(errors.responses, by="level"), "Failures"),
    View("responses_by_domain", "Response types by domain", partial(errors.responses, by="domain"), "Failures"),
    View("failures", "Episodes that did not finish", scores.failures, "Failures"),
    View("metrics", "Other metrics", scores.further, "Metrics"),
)
"""In the order of the page."""


def frames(results: Results) -> Mapping[str, pandas.DataFrame]:
    """The frame of every view, by its name."""
    return {view.name: view.function(results) for view in VIEWS}
