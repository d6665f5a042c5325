"""Answers to a question set as a file, `results.json`: what a system that R-Eval did not run sends to a leaderboard.

    {"<question id>": {"found_ids": ["<document>", ...], "model_answer": "..."}}

`found_ids` are a ranking where the question's meta names the relevant texts as `text_ids`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from r_eval.analysis.qrels import documents
from r_eval.disk import read_regular
from r_eval.errors import UserError
from r_eval.folder import RunFolder, described


class SubmittedAnswer(BaseModel):
    """What a system says to one question, and the documents that it found, best first."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model_answer: str | None = None
    found_ids: list[str | int] | None = None

    @property
    def text(self) -> str:
        """The answer; "" where there is none."""
        return (self.model_answer or "").strip()

    @property
    def found(self) -> list[str]:
        """The documents, each at its first rank."""
        return list(dict.fromkeys(map(str, self.found_ids or ())))


_RESULTS = TypeAdapter(dict[str, SubmittedAnswer])


def read_results(path: Path) -> dict[str, SubmittedAnswer]:
    """The answers of a file, by question id.

    Raises:
        UserError: The file cannot be read or is no JSON, or an entry is not of the form.
    """
    try:
        return _RESULTS.validate_json(read_regular(path))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
    except ValidationError as error:
        raise UserError(f"{path}: {described(error)}") from None


def package(run: RunFolder, system: str = "") -> dict[str, dict[str, Any]]:
    """A run's answers of one system in the clean environment, as `results.json` has them.

    Args:
        system: Its name; "" where the run has only one.

    Raises:
        UserError: The run has several systems, or none of that name, or two tasks share a question id.
    """
    cells = [cell for cell in run.cells() if cell.condition == "clean"]
    names = list(dict.fromkeys(cell.system for cell in cells))
    if (system not in names) if system else len(names) != 1:
        problem = f"no system is called {system!r}" if system else "name the system to submit with --system"
        raise UserError(f"{run.path}: {problem}; the run has: {', '.join(names) or 'none'}")
    found: dict[str, dict[str, Any]] = {}
    tasks: dict[str, str] = {}
    for cell in cells:
        for episode in run.cell_episodes(cell) if cell.system == (system or names[0]) else ():
            if tasks.setdefault(episode.question_id, cell.task) != cell.task:
                raise UserError(f"{run.path}: two tasks have a question with the id {episode.question_id!r}")
            if not episode.epoch:
                found[episode.question_id] = {"found_ids": documents(episode.steps), "model_answer": episode.answer}
    return found
