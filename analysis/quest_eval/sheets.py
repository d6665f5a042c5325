"""What is known of a reference before any system's text is looked at: its questions, and its own answers to them.

Also reads the published caches of such: `{ID: {"key_info": [...], "question": [...], "answers": [...]}}`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from r_eval.analysis.quest_eval.unanswerable import UNANSWERABLE, normalised
from r_eval.errors import UserError


@dataclass(frozen=True, slots=True)
class Sheet:
    """The questions about one reference.

    Attributes:
        answers: From the reference, one a question; `UNANSWERABLE`, or None where no reply came under its id.
        key_info: As the LLM listed it; not paired with the questions.
        aligned: False where answers were kept without ids and there are not as many as questions: none is known then.
    """

    questions: tuple[str, ...]
    answers: tuple[str | None, ...]
    key_info: tuple[str, ...] = ()
    aligned: bool = True

    @property
    def usable(self) -> bool:
        """Whether the reference answers any of them."""
        return any(answer not in (None, UNANSWERABLE) for answer in self.answers)


def read_published(path: Path) -> dict[str, Sheet]:
    """The sheets of a published cache, by the record's ID.

    Its answers belong to the questions by place alone. A record whose answers are fewer than its questions has no
    answer that is sure to belong to one; its sheet is not `aligned`.

    Raises:
        UserError: The file cannot be read, or is not of this form.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as a cache of questions: {error}") from None
    if not isinstance(data, dict):
        raise UserError(f"{path}: expected an object of records by ID")
    return {name: _sheet(f"{path}: record {name}", record) for name, record in data.items()}


def _sheet(where: str, record: Any) -> Sheet:
    lists = [record.get(key) if isinstance(record, dict) else None for key in ("key_info", "question", "answers")]
    for texts in lists:
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise UserError(f"{where}: expected lists of texts called key_info, question and answers")
    key_info, questions, answers = (tuple(texts or ()) for texts in lists)
    if len(answers) != len(questions):
        return Sheet(questions, (None,) * len(questions), key_info, aligned=False)
    return Sheet(questions, tuple(map(normalised, answers)), key_info)
