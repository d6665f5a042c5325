"""Holds PRGB's published tables, as far as they are known here, against the aggregation over samples.

python examples/prgb-paper/check.py
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

from r_eval.analysis.placeholder_scores import attainable, weighted

HERE = Path(__file__).parent
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


def means() -> Iterator[tuple[str, float, float, int]]:
    """What a mean over samples is of, the mean computed from its parts, the printed one, and its decimals."""
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


def cells() -> Iterator[tuple[str, str, list[str]]]:
    """A printed score, where it stands ("" where that is not known), and the tasks of which it can be the score."""
    known = sizes()
    for line in lines("cells.csv"):
        score, language, task = line["score"], line["language"], line["task"]
        asked = [
            place
            for place in known
            if place[0] in (language or place[0]) and (place[1] == task if task else "/" not in place[1])
        ]
        fitting = [" ".join(place) for place in asked if attainable(float(score), VARIANTS * known[place])]
        yield f"table {line['table']} {line['what']} {score}".replace("  ", " "), f"{language} {task}".strip(), fitting


def main() -> None:
    """Print what comes out."""
    for name, computed, printed, decimals in means():
        verdict = "agrees" if abs(computed - printed) <= 0.5 * 10**-decimals + 1e-9 else "differs"
        sys.stdout.write(f"{name}: {computed:.3f} from the parts, {printed} printed: {verdict}\n")
    for line in lines("overall.csv"):
        printed, name = line["printed"] or "another score", f"{line['language']} {line['model']}"
        sys.stdout.write(f"{name}: {line['from_parts']} from the parts, {printed} printed: {line['why']}\n")
    for score, where, fitting in cells():
        asked = where if " " in where else f"any task of {where or 'either language'}"
        sys.stdout.write(f"{score}, {asked}: {'can be ' + ', '.join(fitting) if fitting else 'cannot be'}\n")


if __name__ == "__main__":
    main()
