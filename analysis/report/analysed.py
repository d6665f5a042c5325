"""What several parts of a report are made from, computed once: systems with their columns, matching, comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from r_eval.analysis.beyond import Beyond, beyond
from r_eval.analysis.claims import Checked, check, read_claims
from r_eval.analysis.columns import Shared
from r_eval.analysis.components import Study
from r_eval.analysis.matching import Suited, suited
from r_eval.analysis.published import is_published
from r_eval.analysis.published_components import read_components, studies
from r_eval.analysis.recommend import Recommendation, recommendations
from r_eval.analysis.report.comparisons import Compared, comparisons, reworded
from r_eval.analysis.retrieval_summary import Retrieved, retrieved
from r_eval.analysis.rows import Aggregates
from r_eval.analysis.systems import System, clusters_of, systems
from r_eval.analysis.upper_bound import UpperBound, upper_bounds
from r_eval.folder import RunFolder


@dataclass(frozen=True, slots=True)
class Analysed:
    """The runs of a report that have episodes, and what was found in them.

    Attributes:
        systems: With their columns; none where all results are published ones.
        shared: By task and question, what a question shares with others.
        workflows, llms: For each workflow the LLM that suits it best, and the reverse; from means alone where there
            are no episodes.
        bounds: The best of all systems by question.
        reworded: Questions (task, id) that several runs ask in other words; they are not compared.
        compared: The comparisons of each condition.
        retrieved: How well the searches of each system did, where that is known.
        studies: The component results of the runs that vary settings, and of published ones.
        advice: Which value of each component to take.
        claims: What published folders say of components, held against the figures.
        beyond: What the scores do not say.
    """

    runs: Sequence[RunFolder]
    systems: Sequence[System]
    shared: Shared
    workflows: Sequence[Suited]
    llms: Sequence[Suited]
    bounds: Sequence[UpperBound]
    reworded: frozenset[tuple[str, str]]
    compared: Sequence[Compared]
    retrieved: Sequence[Retrieved] = ()
    studies: Sequence[Study] = ()
    advice: Sequence[Recommendation] = ()
    claims: Sequence[Checked] = ()
    beyond: Beyond = field(default_factory=Beyond)


def analysed(aggregates: Aggregates, runs: Sequence[RunFolder]) -> Analysed:
    """Analyse the runs of a report; folders of published results among them are left to the aggregates."""
    own = [run for run in runs if not is_published(run.path)]
    found = systems(*own)
    shared = clusters_of(own)
    changed = reworded(own)
    varied = studies(*runs)
    return Analysed(
        own,
        found,
        shared,
        suited(aggregates, "workflow", found, shared),
        suited(aggregates, "llm", found, shared),
        upper_bounds(found),
        changed,
        comparisons(aggregates, found, shared, changed),
        retrieved(found, shared),
        varied,
        recommendations(varied),
        claims_of(runs),
        beyond(own, found, shared, changed),
    )


def claims_of(runs: Sequence[RunFolder]) -> list[Checked]:
    """The claims that folders of published component results bring along, each against that folder's figures."""
    with_claims = [(run.path, claims) for run in runs if is_published(run.path) and (claims := read_claims(run.path))]
    return [one for path, claims in with_claims for one in check(claims, read_components(path))]
