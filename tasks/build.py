"""Makes the question and demonstration files of the embedded tasks from their templates.

    python -m r_eval.tasks.build FOLDER [TASK]...

writes `<name>.questions.jsonl` and `<name>.demonstrations.jsonl` beside each `<name>.templates.yaml` below FOLDER (the
repository's `tasks/`). The same templates, snapshot and seed give the same bytes.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from r_eval.environments.sandbox import Sandbox
from r_eval.tasks.base import open_environment
from r_eval.tasks.questions import write_questions
from r_eval.tasks.templates import generate, read_templates

QUESTIONS = 40
DEMONSTRATIONS = 50
SEED = 0


async def build(path: Path, sandbox: Sandbox) -> str:
    """Make the files of one task; returns a line that says what came of it."""
    file = read_templates(path)
    environment = open_environment(file.environment)
    made = await generate(file, environment, sandbox, QUESTIONS + DEMONSTRATIONS, SEED)
    stem = path.name.removesuffix(".templates.yaml")
    shown, asked = made.questions[:DEMONSTRATIONS], made.questions[DEMONSTRATIONS:]
    write_questions(path.with_name(f"{stem}.demonstrations.jsonl"), shown)
    write_questions(path.with_name(f"{stem}.questions.jsonl"), asked)
    return (
        f"{path.parent.name}/{stem}: {len(asked)} questions, {len(shown)} demonstrations, dropped {dict(made.dropped)}"
    )


def main(folder: Path, names: list[str]) -> None:
    with Sandbox() as sandbox:
        for path in sorted(folder.glob("*/*.templates.yaml")):
            if not names or f"{path.parent.name}/{path.name.removesuffix('.templates.yaml')}" in names:
                sys.stdout.write(asyncio.run(build(path, sandbox)) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
