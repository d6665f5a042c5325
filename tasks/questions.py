"""Question files (JSON Lines, one question per line) and the selection of questions from them."""

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
from r_eval.tasks.files import validation_message
from r_eval.text import clean_data

HINT = "; a question file has one JSON object per line, and data: FILE reads CSV and JSON arrays"


def read_questions(path: Path) -> list[Question]:
    """Read and validate a question file.

    Raises:
        UserError: The file does not exist or is empty, a line is not a question, or an id is duplicate; names the line.
    """
    lines = read_text(path, "question file").split("\n")
    by_id: dict[str, tuple[int, Question]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        question = _question(line, f"{path}:{number}")
        if question.id in by_id:
            first = by_id[question.id][0]
            raise UserError(f"{path}:{number}: duplicate id '{question.id}', first in line {first}")
        by_id[question.id] = number, question
    if not by_id:
        raise UserError(f"{path}: holds no question")
    return [question for _, question in by_id.values()]


def _question(line: str, place: str) -> Question:
    try:
        record = clean_data(json.loads(line)) if "\\u" in line else json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place}: not valid JSON ({error}){HINT}") from None
    if not isinstance(record, dict):
        raise UserError(f"{place}: expected a JSON object{HINT}")
    if isinstance(record.get("answers"), str):
        record["answers"] = [record["answers"]]
    record.setdefault("level", "KS")
    try:
        question = Question.model_validate(record)
    except ValidationError as error:
        message = validation_message(error, Question)
        hint = (
            "; a public question file has none, use the private one" if message.endswith("answers is missing") else ""
        )
        raise UserError(f"{place}: {message}{hint}") from None
    if not question.question.strip():
        raise UserError(f"{place}: question: must not be empty")
    if not all(answer.strip() for answer in question.answers):
        raise UserError(f"{place}: answers: an empty answer can never be matched; give the text of the answer")
    return question


def write_questions(path: Path, questions: Iterable[Question]) -> None:
    """Write a question file without default values."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (q.model_dump_json(exclude_defaults=True) for q in questions)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def in_order(questions: Iterable[Question], seed: int) -> list[Question]:
    """The questions in a seeded order by hash of the id, so that new questions do not reshuffle the rest.

    The variants of a sample (see `r_eval.tasks.loaders.prgb`) stay together in their order.
    """
    return sorted(questions, key=lambda q: place_in_order(sample_id(q), seed))


def sample_id(question: Question) -> str:
    """The id that the variants of a sample share; for other questions their own id."""
    sample = question.meta.get("document")
    return sample if isinstance(sample, str) and question.meta.get("variant") is not None else question.id


def place_in_order(id: str, seed: int) -> bytes:
    """Sort key of a question in the order of a seed; it depends on the id alone."""
    return hashlib.blake2b(f"{seed}\0{id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


def choose(
    questions: Sequence[Question], demonstrations: Sequence[Question], seed: int, shots: int, samples: int | None
) -> tuple[list[Question], list[Question]]:
    """Select the questions and the demonstrations.

    Questions with the id or the text of a selected demonstration are left out.

    Raises:
        UserError: There are fewer demonstrations than shots.
    """
    if shots > len(demonstrations):
        raise UserError(f"shots: {shots} wanted, but the task has {len(demonstrations)} demonstrations")
    examples = in_order(demonstrations, seed)[:shots]
    ids, texts = {q.id for q in examples}, {folded(q.question) for q in examples}
    remaining = [q for q in in_order(questions, seed) if q.id not in ids and folded(q.question) not in texts]
    return remaining[:samples], examples


def folded(text: str) -> str:
    """A text normalized for comparison: without differences in case, width and spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
