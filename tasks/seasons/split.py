"""Parts a question set into a public file, without anything that tells an answer, and a private one for the scorer.

A public id is a hash of what is public anyway, the text and its context, so that it tells neither the template nor the
place in the private file. Public questions are sorted by it.
"""

from __future__ import annotations

import collections
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from r_eval.records import Question


def split(questions: Sequence[Question], seed: int = 0) -> list[Question]:
    """The private questions, under their public ids and sorted by them; the old id is kept as meta's `question_id`.

    Args:
        seed: Another one gives other ids, so that two sets that share a question do not show it by its id.
    """
    met: collections.Counter[bytes] = collections.Counter()
    private = []
    for question in sorted(questions, key=lambda q: q.id):
        text = json.dumps([seed, question.question, [[d.title, d.text] for d in question.context]])
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        met[digest] += 1
        name = hashlib.blake2b(digest + str(met[digest]).encode(), digest_size=8).hexdigest()
        private.append(question.model_copy(update={"id": name, "meta": {**question.meta, "question_id": question.id}}))
    return sorted(private, key=lambda q: q.id)


def write_public(path: Path, private: Sequence[Question]) -> None:
    """Write the public half: `{"id", "question"}` a line, and `context` where the question has one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    keys = {"id", "question", "context"}
    lines = [q.model_dump_json(include=keys if q.context else keys - {"context"}) for q in private]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
