"""Holds PRGB's published tables against the aggregation over samples.

python examples/prgb-paper/check.py
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

from r_eval.analysis.placeholder_scores import attainable, weighted

HERE = Path(__file__).parent
TASKS = ("filtering", "combination", "reasoning")
TOLERANCE = 0.011
"""Between an overall score and the mean of its parts; all are printed with two decimals."""
VARIANTS = 3
"""Variants a sample in the published runs."""


def lines(name: str) -> list[dict[str, str]]:
    """The lines of one of the files beside this one."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def sizes() -> dict[tuple[str, str], int]:
    """Samples by language and place: a task, or `task/part`."""
    return {
        (line["language"], f"{line['task']}/{line['part']}".removesuffix("/")): int(line["samples"])
        for line in lines("sizes.csv")
    }


def overall() -> Iterator[tuple[str, float, float, bool]]:
    """For each printed overall score its name, what its parts give, what is printed, and whether parts were exchanged.

    Where filtering and combination give the printed score in each other's place only, they are taken so.
    """
    known = sizes()
    for line in lines("scores.csv"):
        samples = {task: known[line["language"], task] for task in TASKS}
        parts = {task: float(line[task]) for task in TASKS}
        exchanged = {**parts, "filtering": parts["combination"], "combination": parts["filtering"]}
        printed, straight, crossed = float(line["overall"]), weighted(parts, samples), weighted(exchanged, samples)
        is_exchanged = abs(straight - printed) > TOLERANCE >= abs(crossed - printed)
        yield f"{line['language']} {line['model']}", crossed if is_exchanged else straight, printed, is_exchanged


def means() -> Iterator[tuple[str, float, float, int]]:
    """What another mean over samples is of, the mean computed from its parts, the printed one, and its decimals."""
    known = sizes()
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for line in lines("means.csv"):
        groups.setdefault((line["language"], line["what"], line["whole"]), []).append(line)
    for (language, what, whole), parts in groups.items():
        places = {part["part"]: f"{whole}/{part['part']}".removeprefix("/") for part in parts}
        computed = weighted(
            {part["part"]: float(part["mean"]) for part in parts},
            {part: known[language, place] for part, place in places.items()},
        )
        printed = parts[0]["printed"]
        yield f"{language} {what} {whole}".strip(), computed, float(printed), len(printed.partition(".")[2])


def impossible() -> Iterator[tuple[str, list[str]]]:
    """Printed scores that no verdicts on so many variants have, and the tasks whose score they can be."""
    known = sizes()
    for line in lines("scores.csv"):
        language = line["language"]
        for task in TASKS:
            fitting = [other for other in TASKS if attainable(float(line[task]), VARIANTS * known[language, other])]
            if task not in fitting:
                yield f"{language} {line['model']} {task} {line[task]}", fitting
    for line in lines("cells.csv"):
        tasks = [place for place in known if place[1] in TASKS]
        fitting = [" ".join(place) for place in tasks if attainable(float(line["score"]), VARIANTS * known[place])]
        if not fitting:
            yield f"table {line['table']}, any task of either language, {line['score']}", fitting


def main() -> None:
    """Print what comes out."""
    agreeing, scores = 0, list(overall())
    for name, computed, printed, is_exchanged in scores:
        agrees = abs(computed - printed) <= TOLERANCE
        agreeing += agrees
        how = ", filtering and combination exchanged" if is_exchanged else ""
        verdict = f"{'agrees' if agrees else 'differs'}{how}"
        sys.stdout.write(f"{name}: {computed:.3f} from the parts, {printed:.2f} printed: {verdict}\n")
    sys.stdout.write(f"{agreeing} of {len(scores)} overall scores within {TOLERANCE}\n")
    for name, computed, printed, decimals in means():
        verdict = "agrees" if abs(computed - printed) <= 0.5 * 10**-decimals + 1e-9 else "differs"
        sys.stdout.write(f"{name}: {computed:.3f} from the parts, {printed} printed: {verdict}\n")
    for score, fitting in impossible():
        sys.stdout.write(f"{score}: cannot be{f', but can be {fitting[0]}' if fitting else ''}\n")


if __name__ == "__main__":
    main()
