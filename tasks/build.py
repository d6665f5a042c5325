"""Makes the question and demonstration files of the embedded tasks from their templates and worlds.

    python -m r_eval.tasks.build FOLDER [TASK]...

writes `<name>.questions.jsonl` and `<name>.demonstrations.jsonl` beside each `<name>.templates.yaml` below FOLDER (the
repository's `tasks/`), and `<task>.questions.jsonl` (`<task>-<name>` unless the name is en) beside each
`<name>.placeholders.yaml`. The same templates, worlds, snapshot and seed give the same bytes.
"""

from __future__ import annotations

import asyncio
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from r_eval.environments.sandbox import Sandbox
from r_eval.records import Question
from r_eval.tasks.base import open_environment
from r_eval.tasks.placeholders.embedded import SUFFIX as WORLD
from r_eval.tasks.placeholders.embedded import world_data
from r_eval.tasks.placeholders.record import Kind
from r_eval.tasks.questions import write_questions
from r_eval.tasks.templates import TemplateFile, generate, read_templates

QUESTIONS = 100
DEMONSTRATIONS = 100
SEED = 0
FORMER_NAMES = {
    "Gdańsk": "Danzig",
    "Kaliningrad": "Königsberg",
    "Lviv": "Lemberg",
    "Saint Petersburg": "Leningrad",
    "Szczecin": "Stettin",
    "Volgograd": "Stalingrad",
    "Wrocław": "Breslau",
}
"""Names under which older sources know a city."""
SUFFIX = re.compile(r" \([^()]+\)$")
LETTERS = str.maketrans({"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "ı": "i", "ß": "ss", "æ": "ae"})


async def make(file: TemplateFile, sandbox: Sandbox) -> tuple[list[Question], Counter[str]]:
    """The demonstrations and questions of one task, in this order; and how many were dropped for which reason."""
    environment = open_environment(file.environment)
    found = await generate(file, environment, sandbox, QUESTIONS + DEMONSTRATIONS, SEED)
    for question in found.questions:
        question.answers = list(dict.fromkeys([*question.answers, *variants(question)]))
    return found.questions, found.dropped


def build(path: Path, sandbox: Sandbox) -> str:
    """Write the files of one task; returns a line that says what came of it."""
    found, dropped = asyncio.run(make(read_templates(path), sandbox))
    stem = path.name.removesuffix(".templates.yaml")
    shown, asked = found[:DEMONSTRATIONS], found[DEMONSTRATIONS:]
    write_questions(path.with_name(f"{stem}.demonstrations.jsonl"), shown)
    write_questions(path.with_name(f"{stem}.questions.jsonl"), asked)
    return f"{path.parent.name}/{stem}: {len(asked)} questions, {len(shown)} demonstrations, dropped {dict(dropped)}"


def variants(question: Question) -> list[str]:
    """Other ways to write a question's answers: without "(novel)" and the like, without accents, former names.

    An option is to be written as it stands in the question.
    """
    if "options" in question.meta:
        return []
    found = []
    for answer in question.answers:
        plain = SUFFIX.sub("", answer)
        folded = unicodedata.normalize("NFKD", plain.translate(LETTERS))
        found += [plain, "".join(c for c in folded if not unicodedata.combining(c)), FORMER_NAMES.get(answer, answer)]
    return found


def of_world(world: Path) -> Iterator[tuple[str, list[Question]]]:
    """The names of the tasks that are made of a world with placeholders, each with its questions."""
    name = world.name.removesuffix(WORLD)
    for kind in get_args(Kind):
        yield kind if name == "en" else f"{kind}-{name}", list(world_data(world, kind, {}).questions)


def main(folder: Path, names: list[str]) -> None:
    with Sandbox() as sandbox:
        for path in sorted(folder.glob("*/*.templates.yaml")):
            if not names or f"{path.parent.name}/{path.name.removesuffix('.templates.yaml')}" in names:
                sys.stdout.write(build(path, sandbox) + "\n")
    for path in sorted(folder.glob(f"*/*{WORLD}")):
        for name, questions in of_world(path):
            if not names or f"{path.parent.name}/{name}" in names:
                write_questions(path.with_name(f"{name}.questions.jsonl"), questions)
                sys.stdout.write(f"{path.parent.name}/{name}: {len(questions)} questions\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
