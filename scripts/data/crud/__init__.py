"""Makes the embedded reports of the tasks `crud/*`: python -m scripts.data.crud

`reports-<language>.jsonl` hold what each report tells, in a few sentences; `background-<language>.txt` holds what any
paper would write around it. Between two sentences of a report stand lines of the background, with the report's subject
and place (`subjects.tsv`) in them, until the text has TOKENS tokens. So what a question asks for is spread over a
report, and is found or missed by the size of chunks and their overlap. The reports go to the corpus environment, and
into the `sources` of the tasks' questions. The same files give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from r_eval.environments.corpus import sources
from r_eval.environments.corpus.splitting import tokens_of

FOLDER = Path(__file__).parent
TASKS = FOLDER.parents[2] / "tasks" / "crud"
TOKENS = 620
"""Tokens of a report at least, by the encoding of the corpus environment."""
SENTENCES = {"en": re.compile(r"(?<=[.!?]) "), "zh": re.compile(r"(?<=。)")}
LANGUAGES = {"en": (1, " "), "zh": (3, "")}
"""Where subject and place stand in a row of `subjects.tsv`, and what stands between two sentences."""


def reports(language: str) -> Iterator[dict[str, str]]:
    """The long reports of a language, in the order of their ids."""
    at, space = LANGUAGES[language]
    rows = [line.split("\t") for line in _lines("subjects.tsv")[1:]]
    names = {row[0]: (row[at], row[at + 1]) for row in rows}
    background = _lines(f"background-{language}.txt")
    for line in _lines(f"reports-{language}.jsonl"):
        report = json.loads(line)
        subject, place = names[report["id"].partition("-")[2]]
        own = SENTENCES[language].split(report["text"])
        around = [_filled(text, subject, place) for text in sorted(background, key=lambda t: _place(report["id"], t))]
        number = next(n for n in range(len(around)) if tokens_of(space.join([*own, *around[:n]])) >= TOKENS)
        yield {**report, "text": space.join(_mixed(report["id"], own, around[:number]))}


def _mixed(id: str, own: list[str], around: list[str]) -> list[str]:
    """A report's own sentences in their order, the first one in front, the others spread among the background."""
    places = sorted(range(len(around)), key=lambda n: _place(id, f"place {n}"))[: len(own) - 1]
    mixed = [own[0]]
    rest = iter(own[1:])
    for number, text in enumerate(around):
        mixed += [next(rest), text] if number in places else [text]
    return mixed


def _filled(text: str, subject: str, place: str) -> str:
    text = text.format(s=subject, p=place)
    return text[0].upper() + text[1:]


def _place(id: str, text: str) -> bytes:
    return hashlib.blake2b(f"{id}\0{text}".encode(), digest_size=8).digest()


def _lines(name: str) -> list[str]:
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()


def make(language: str) -> dict[Path, str]:
    """The files of a language with their contents."""
    made = list(reports(language))
    texts = {report["id"]: f"{report['title']}\n{report['text']}" for report in made}
    files = {sources.FOLDER / f"crud-{language}.jsonl": _json_lines(made)}
    for path in sorted(TASKS.glob("*.jsonl")):
        if ("-en." in path.name) == (language == "en"):
            questions = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            for question in questions:
                question["meta"]["sources"] = [texts[id] for id in question["meta"]["text_ids"]]
            files[path] = _json_lines(questions)
    return files


def _json_lines(records: list[Any]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
