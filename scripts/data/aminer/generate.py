"""Invent a scholar world and write it to a file.

    python -m scripts.data.aminer.generate --scholars 560 --seed 1 --out scholars.jsonl

The same number of scholars and the same seed give the same file on any machine. Memory does not grow with the number
of scholars. Nobody in a world is a real person (see `names`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .lines import lines
from .world import communities

EMBEDDED_SCHOLARS = 560
EMBEDDED_SEED = 1


def generate(scholars: int, seed: int, out: str | Path) -> None:
    """Write a world to `out`.

    Raises:
        ValueError: `scholars` is not positive, or more than can be given different organisations.
    """
    if scholars < 1:
        raise ValueError(f"scholars must be at least 1, not {scholars}")
    with Path(out).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(lines(communities(scholars, seed)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.data.aminer.generate", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--scholars", type=int, default=EMBEDDED_SCHOLARS, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=EMBEDDED_SEED, help="default: %(default)s")
    parser.add_argument("--out", required=True, help="the file to write")
    chosen = parser.parse_args(arguments)
    try:
        generate(chosen.scholars, chosen.seed, chosen.out)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    sys.stdout.write(f"{chosen.out}: {chosen.scholars:,} scholars\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
