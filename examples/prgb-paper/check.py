"""Holds PRGB's published tables against the aggregation over samples.

python examples/prgb-paper/check.py
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).parent
TASKS = ("Multi-Level Filter", "Combination", "Reasoning")
SIZES = {"7": "en", "8": "zh"}
"""Tables of sample counts, by language; Table 8 calls combination "Composition"."""
WHOLES = {"5": "Overall Combination (%)", "6": "Overall Reasoning (%)"}
NOISE = {"weak": "5.80", "moderate": "4.11", "hard": "0.54"}
"""Noise documents per English sample, by the paper's text."""
TOLERANCE = 0.011
"""Between a score and the mean of its parts; all are printed with two decimals."""
VARIANTS = 3
"""Variants per sample in the published runs."""


def lines(name: str) -> list[dict[str, str]]:
    """The lines of one of the files beside this one."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(number: str) -> dict[tuple[str, str], dict[str, str]]:
    """The cells of a table as printed, by language and row, then by column."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for line in lines("tables.csv"):
        if line["table"] == number:
            found.setdefault((line["language"], line["row"]), {})[line["column"]] = line["value"]
    return found


def samples() -> dict[str, dict[str, int]]:
    """Samples by language and task."""
    return {
        language: dict(zip(TASKS, (int(row["Quantity"]) for row in table(number).values()), strict=True))
        for number, language in SIZES.items()
    }


def weighted(means: Mapping[str, float], sizes: Mapping[str, int]) -> float:
    """The mean over samples of which only the means of the parts and their numbers of samples are known."""
    return math.fsum(means[part] * sizes[part] for part in means) / sum(sizes[part] for part in means)


def attainable(score: float, tries: int) -> bool:
    """Whether right-or-wrong verdicts of so many tries can have this mean, in percent and rounded to two decimals."""
    near = math.floor(score * tries / 100)
    return any(0 <= right <= tries and abs(100 * right / tries - score) <= 0.005 + 1e-9 for right in (near, near + 1))


def overall() -> Iterator[tuple[str, float, float, bool]]:
    """Of each overall score of Table 1: name, what its parts give, what is printed, and whether parts are exchanged.

    Where filtering and combination give the printed score in each other's place only, they are taken so.
    """
    known = samples()
    for (language, model), cells in table("1").items():
        parts = {task: float(cells[task]) for task in TASKS}
        filtering, combination, _ = TASKS
        exchanged = {**parts, filtering: parts[combination], combination: parts[filtering]}
        printed = float(cells["Overall"])
        straight, crossed = weighted(parts, known[language]), weighted(exchanged, known[language])
        is_exchanged = abs(straight - printed) > TOLERANCE >= abs(crossed - printed)
        yield f"{language} {model}", crossed if is_exchanged else straight, printed, is_exchanged


def parts() -> Iterator[tuple[str, float, str]]:
    """Of Tables 5 and 6, and of the noise in the text: what it is, the mean over the parts, and the printed one."""
    sizes = {line["column"]: int(line["samples"]) for line in lines("parts.csv")}
    for number, whole in WHOLES.items():
        for (language, model), cells in table(number).items():
            means = {column: float(value) for column, value in cells.items() if column != whole}
            yield f"{language} {model} {whole.split()[1].lower()}", weighted(means, sizes), cells[whole]
    for kind, printed in NOISE.items():
        rows = table("7").values()
        means = {task: float(row[f"Avg.{kind} noise"]) for task, row in zip(TASKS, rows, strict=True)}
        yield f"en {kind} noise", weighted(means, samples()["en"]), printed


def impossible() -> Iterator[tuple[str, list[str]]]:
    """Printed scores that no verdicts on so many variants have, and the tasks whose score they can be."""
    known = samples()
    for (language, model), cells in table("1").items():
        for task in TASKS:
            sizes = known[language]
            fitting = [other for other in TASKS if attainable(float(cells[task]), VARIANTS * sizes[other])]
            if task not in fitting:
                yield f"{language} {model} {task} {cells[task]}", fitting
    for number in ("3", "4"):
        for (language, model), cells in table(number).items():
            for column, value in cells.items():
                if not any(attainable(float(value), VARIANTS * size) for size in known[language].values()):
                    yield f"{language} {model} {column} of table {number} {value}", []


def main() -> None:
    """Print what comes out."""
    scores = list(overall())
    for name, computed, printed, is_exchanged in scores:
        verdict = "agrees" if abs(computed - printed) <= TOLERANCE else "differs"
        how = ", filtering and combination exchanged" if is_exchanged else ""
        sys.stdout.write(f"{name}: {computed:.3f} from the parts, {printed:.2f} printed: {verdict}{how}\n")
    agreeing = sum(abs(computed - printed) <= TOLERANCE for _, computed, printed, _ in scores)
    sys.stdout.write(f"{agreeing} of {len(scores)} overall scores within {TOLERANCE}\n")
    for name, computed, text in parts():
        verdict = "agrees" if abs(computed - float(text)) <= TOLERANCE else "differs"
        sys.stdout.write(f"{name}: {computed:.3f} from the parts, {text} printed: {verdict}\n")
    for score, fitting in impossible():
        sys.stdout.write(f"{score}: impossible{f', but possible for {fitting[0]}' if fitting else ''}\n")


if __name__ == "__main__":
    main()
