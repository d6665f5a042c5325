"""Prints why answers of a run fail, and what its systems cost: python say.py runs/reports"""

import collections
import sys

from r_eval import load_run

TYPES = ("EM", "AM", "GE", "RE", "TE", "ME")


def lines(folder: str) -> list[str]:
    """A line per system: response types, most common cause of failure, score, seconds and US cents per question."""
    scores = collections.defaultdict(list)
    for cell in load_run(folder).folder.cells():
        scores[cell.system] += load_run(folder).folder.scores(cell).values()
    rows = []
    for system, episodes in sorted(scores.items()):
        types = collections.Counter(score["response_type"] for score in episodes)
        causes = collections.Counter(score["cause"] for score in episodes if score["cause"]).most_common(1)
        seconds, cents = (sum(score[key] or 0 for score in episodes) / len(episodes) for key in ("seconds", "cost"))
        mean = 100 * sum(score["score"] or 0 for score in episodes) / len(episodes)
        counts = " ".join(f"{kind} {types[kind]}" for kind in TYPES)
        why = causes[0][0] if causes else "-"
        rows.append(f"{system:16} {counts}  {why:16} {mean:5.1f} % {seconds:6.1f} s {100 * cents:.4f} cents")
    return rows


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(sys.argv[1])) + "\n")
