"""Invent a scholar world and write it to a folder: `scholars.jsonl`, and `profiles.jsonl` (see `profiles`).

    python -m scripts.data.aminer.generate --scholars 560 --seed 1 --out FOLDER

The same number of scholars and the same seed give the same file on any machine. Memory does not grow with the number
of scholars. Nobody in a world is a real person (see `names`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from r_eval.environments.aminer.scholars import read_scholars

from .lines import lines
from .profiles import profiles
from .world import communities

EMBEDDED_SCHOLARS = 560
EMBEDDED_SEED = 1


def generate(scholars: int, seed: int, out: str | Path) -> None:
    """Write a world to the folder `out`.

    Raises:
        ValueError: `scholars` is not positive, or more than can be given different organisations.
    """
    if scholars < 1:
        raise ValueError(f"scholars must be at least 1, not {scholars}")
    path = Path(out) / "scholars.jsonl"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(lines(communities(scholars, seed)))
    with path.with_name("profiles.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in profiles(read_scholars(path)[0]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.data.aminer.generate", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--scholars", type=int, default=EMBEDDED_SCHOLARS, help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=EMBEDDED_SEED, help="default: %(default)s")
    parser.add_argument("--out", required=True, help="the folder to write to")
    chosen = parser.parse_args(arguments)
    try:
        generate(chosen.scholars, chosen.seed, chosen.out)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    sys.stdout.write(f"{chosen.out}: {chosen.scholars:,} scholars\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
