"""Makes the question files of the embedded tasks from their worlds.

    python -m r_eval.tasks.placeholders FOLDER

writes `<task>.questions.jsonl` (`<task>-<name>` unless the name is en) for each `<name>.placeholders.yaml` of FOLDER,
the repository's `tasks/prgb`. The same world gives the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from r_eval.records import Question
from r_eval.tasks.placeholders.embedded import SUFFIX, world_data
from r_eval.tasks.placeholders.record import Kind
from r_eval.tasks.questions import write_questions


def questions(world: Path) -> Iterator[tuple[str, list[Question]]]:
    """The names of the tasks that are made of a world, each with its questions."""
    name = world.name.removesuffix(SUFFIX)
    for kind in get_args(Kind):
        yield kind if name == "en" else f"{kind}-{name}", list(world_data(world, kind, {}).questions)


def main(folder: Path) -> None:
    for world in sorted(folder.glob(f"*{SUFFIX}")):
        for name, found in questions(world):
            write_questions(folder / f"{name}.questions.jsonl", found)
            sys.stdout.write(f"{name}: {len(found)} questions\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
