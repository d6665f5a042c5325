"""Question files: JSON Lines, one question a line, and how questions are chosen from them."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from r_eval.errors import UserError
from r_eval.files import read_text
from r_eval.records import Question
from r_eval.tasks.files import complaint
from r_eval.text import clean_data

HINT = "; a question file has one JSON object per line, and data: FILE reads CSV and JSON arrays"


def read_questions(path: Path) -> list[Question]:
    """The questions of a file, checked.

    Raises:
        UserError: The file is not there or empty, a line is not a question, or an id stands twice; names the line.
    """
    lines = read_text(path, "question file").split("\n")
    found: dict[str, tuple[int, Question]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        question = _question(line, f"{path}:{number}")
        if question.id in found:
            first = found[question.id][0]
            raise UserError(f"{path}:{number}: the id '{question.id}' stands twice, first in line {first}")
        found[question.id] = number, question
    if not found:
        raise UserError(f"{path}: holds no question")
    return [question for _, question in found.values()]


def _question(line: str, where: str) -> Question:
    try:
        record = clean_data(json.loads(line)) if "\\u" in line else json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not valid JSON ({error}){'' if line.lstrip()[0] == '{' else HINT}") from None
    if not isinstance(record, dict):
        raise UserError(f"{where}: expected a JSON object{HINT}")
    if isinstance(record.get("answers"), str):
        record["answers"] = [record["answers"]]
    record.setdefault("level", "KS")
    try:
        question = Question.model_validate(record)
    except ValidationError as error:
        hint = "; a public question file has none, use the private one" if "answers" not in record else ""
        raise UserError(f"{where}: {complaint(error, Question)}{hint}") from None
    if not all(answer.strip() for answer in question.answers):
        raise UserError(f"{where}: answers: an empty answer can never be matched; give the text of the answer")
    return question


def write_questions(path: Path, questions: Iterable[Question]) -> None:
    """Write a question file; fields that are not known are left out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (q.model_dump_json(exclude_defaults=True) for q in questions)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def in_order(questions: Iterable[Question], seed: int) -> list[Question]:
    """The questions in the order that a seed gives them, by a hash of the id: new ones do not reshuffle the rest.

    The variants of a sample (see `r_eval.tasks.loaders.prgb`) stand together, as they were.
    """
    return sorted(questions, key=lambda q: place_in_order(sample_id(q), seed))


def sample_id(question: Question) -> str:
    """The id of what is asked in variants; a question's own where it is none."""
    sample = question.meta.get("document")
    return sample if isinstance(sample, str) and question.meta.get("variant") is not None else question.id


def place_in_order(id: str, seed: int) -> bytes:
    """Where a question stands in the order of a seed; depends on nothing but its id."""
    return hashlib.blake2b(f"{seed}\0{id}".encode(), digest_size=8).digest()


def choose(
    questions: Sequence[Question], demonstrations: Sequence[Question], seed: int, shots: int, samples: int | None
) -> tuple[list[Question], list[Question]]:
    """The questions to ask and the demonstrations to show.

    A question that is shown is never asked, whether it is known by its id or by its text.

    Raises:
        UserError: There are fewer demonstrations than shots.
    """
    if shots > len(demonstrations):
        raise UserError(f"shots: {shots} wanted, but the task has {len(demonstrations)} demonstrations")
    shown = in_order(demonstrations, seed)[:shots]
    ids, texts = {q.id for q in shown}, {folded(q.question) for q in shown}
    asked = [q for q in in_order(questions, seed) if q.id not in ids and folded(q.question) not in texts]
    return asked[:samples], shown


def folded(text: str) -> str:
    """A text as it is compared: without regard to case, width and spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
