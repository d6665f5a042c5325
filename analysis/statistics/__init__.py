"""Statistics: how sure a mean is, and whether two systems differ. Arrays in, plain values out.

`means` has means over clustered questions with Wilson's interval, `comparisons` paired differences in families, with
p-values, intervals and minimum detectable effects that cannot contradict each other, and rank intervals.
`benchmarks/coverage.py` simulates what both promise.
"""

from r_eval.analysis.statistics.comparisons import Comparisons, ScorePairs, compare, holm, rank_intervals
from r_eval.analysis.statistics.means import ALPHA, FEW, MATCH, Mean, mean, mean_of_groups, wilson

__all__ = [
    "ALPHA",
    "FEW",
    "MATCH",
    "Comparisons",
    "Mean",
    "ScorePairs",
    "compare",
    "holm",
    "mean",
    "mean_of_groups",
    "rank_intervals",
    "wilson",
]
