"""Builds the question and demonstration files of the embedded tasks from their templates and worlds.

    python -m scripts.data.tasks FOLDER [TASK]...

writes `<name>.questions.jsonl` and `<name>.demonstrations.jsonl` next to each `<name>.templates.yaml` below FOLDER (the
repository's `tasks/`), and `<task>.questions.jsonl` (`<task>-<name>` unless the name is en) next to each
`<name>.placeholders.yaml`. The same templates, worlds, snapshot and seed produce the same bytes.
"""

from __future__ import annotations

import asyncio
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from networkx import Graph, connected_components

from r_eval.environments.json_lines import read_records
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.wiki.environment import SNAPSHOT
from r_eval.environments.wiki.pages import Article
from r_eval.records import Question
from r_eval.tasks.base import open_environment
from r_eval.tasks.placeholders.making import SUFFIX as WORLD
from r_eval.tasks.placeholders.making import world_data
from r_eval.tasks.placeholders.record import Kind
from r_eval.tasks.questions import write_questions
from r_eval.tasks.templates import Generated, TemplateFile, generate, read_templates
from scripts.data.wiki.world import PERSONS

QUESTIONS = 100
DEMONSTRATIONS = 100
SEED = 0
ACCENTED = {
    "Asuncion": "Asunción",
    "Bogota": "Bogotá",
    "Brasilia": "Brasília",
    "Chisinau": "Chișinău",
    "Lome": "Lomé",
    "Male": "Malé",
    "Reykjavik": "Reykjavík",
    "San Jose": "San José",
    "Sao Tome": "São Tomé",
    "Yaounde": "Yaoundé",
}
"""Capitals whose title has no accents."""
OLD_STYLE = {
    "4 January 1643": "25 December 1642",  # Isaac Newton
    "24 March 1733": "13 March 1733",  # Joseph Priestley
    "11 November 1821": "30 October 1821",  # Fyodor Dostoevsky
    "9 September 1828": "28 August 1828",  # Leo Tolstoy
    "8 February 1834": "27 January 1834",  # Dmitri Mendeleev
    "26 September 1849": "14 September 1849",  # Ivan Pavlov
    "15 January 1850": "3 January 1850",  # Sofya Kovalevskaya
    "10 February 1890": "29 January 1890",  # Boris Pasternak
    "15 May 1891": "3 May 1891",  # Mikhail Bulgakov
    "22 January 1898": "10 January 1898",  # Sergei Eisenstein
    "4 March 1904": "20 February 1904",  # George Gamow
    "22 January 1908": "9 January 1908",  # Lev Landau
}
"""Dates of birth where the Julian calendar was in use, and as it had them."""
SUFFIX = re.compile(r" \([^()]+\)$")
LETTERS = str.maketrans({"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "ı": "i", "ß": "ss", "æ": "ae"})


async def make(file: TemplateFile, sandbox: Sandbox) -> tuple[list[Question], Counter[str]]:
    """The demonstrations and questions of one task, in this order, and the number dropped by reason."""
    environment = open_environment(file.environment)
    result = await generate(file, environment, sandbox, QUESTIONS + DEMONSTRATIONS, SEED)
    names = further_names()
    for question in result.questions:
        question.answers = list(dict.fromkeys([*question.answers, *variants(question, names)]))
    statements = all(question.answers[0] in ("true", "false") for question in result.questions)
    return halves(result) if statements else result.questions, result.dropped


def halves(result: Generated) -> list[Question]:
    """Statements in two halves, each balanced if all of them are: those with a value in common are in the same half."""
    values = [result.slot_values[question.id] for question in result.questions]
    groups = [[n for n, own in enumerate(values) if own[0] in group] for group in connected_components(Graph(values))]
    parts: tuple[list[int], list[int]] = ([], [])
    for group in sorted(groups, key=len, reverse=True):
        min(parts, key=len).extend(group)
    return [result.questions[n] for part in parts for n in sorted(part)]


def build(path: Path, sandbox: Sandbox) -> str:
    """Write the files of one task; returns a summary line."""
    pool, dropped = asyncio.run(make(read_templates(path), sandbox))
    stem = path.name.removesuffix(".templates.yaml")
    demonstrations, questions = pool[:DEMONSTRATIONS], pool[DEMONSTRATIONS:]
    write_questions(path.with_name(f"{stem}.demonstrations.jsonl"), demonstrations)
    write_questions(path.with_name(f"{stem}.questions.jsonl"), questions)
    counts = f"{len(questions)} questions, {len(demonstrations)} demonstrations, dropped {dict(dropped)}"
    return f"{path.parent.name}/{stem}: {counts}"


def further_names() -> dict[str, list[str]]:
    """The titles of the embedded wiki with the further names of their pages, but for surnames and symbols."""
    names = {}
    for _, page in read_records(SNAPSHOT, lambda _: Article):
        names[page.title] = [
            name for name in page.redirects if len(name) > 2 and (" " in name or page.kind not in PERSONS)
        ]
    return names


def variants(question: Question, names: Mapping[str, Sequence[str]]) -> list[str]:
    """Other spellings of a question's answers: without a suffix such as "(novel)", with or without accents, in the
    calendar of the time, and the further names of its page.

    The options of a multiple-choice question have no other spelling.
    """
    if "options" in question.meta:
        return []
    forms = []
    for answer in question.answers:
        plain = SUFFIX.sub("", answer)
        decomposed = unicodedata.normalize("NFKD", plain.translate(LETTERS))
        forms += [
            plain,
            "".join(c for c in decomposed if not unicodedata.combining(c)),
            ACCENTED.get(answer, plain),
            OLD_STYLE.get(answer, plain),
            *names.get(answer, ()),
        ]
    return forms


def of_world(world: Path) -> Iterator[tuple[str, list[Question]]]:
    """The names of the tasks built from a world with placeholders, each with its questions."""
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
