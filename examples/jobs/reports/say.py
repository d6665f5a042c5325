"""Prints why answers of a run fail, and what its systems cost: python say.py runs/reports"""

import sys

from r_eval import load_run

TYPES = ("EM", "AM", "GE", "RE", "TE", "ME")


def lines(folder: str) -> list[str]:
    """A line per system: response types, most common cause of failure, score, seconds and US cents per question."""
    rows = []
    for system, own in load_run(folder).to_pandas().groupby("system"):
        counts = " ".join(f"{kind} {(own['response_type'] == kind).sum()}" for kind in TYPES)
        causes = own["cause"].replace("", None).value_counts()
        why = causes.index[0] if len(causes) else "-"
        mean, seconds, cost = (own[column].mean() for column in ("score", "seconds", "cost"))
        rows.append(f"{system:16} {counts}  {why:16} {100 * mean:5.1f} % {seconds:6.1f} s {100 * cost:.4f} cents")
    return rows


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(sys.argv[1])) + "\n")
