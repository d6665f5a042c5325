"""Tasks, and how they are found by name.

A task of R-Eval or of an installed package (entry points of the group `r_eval.tasks`, each a package) is a file
`<domain>/<name>.yaml`:

    id: "1-1"                       the paper's id
    title: High-frequency entities
    environment: wiki
    metric: token_f1
    instruction: How the answer should look.

next to `<name>.questions.jsonl` and `<name>.demonstrations.jsonl`. `format:` is the name of the published dataset's
format (see `r_eval.tasks.loaders`) or a mapping with its settings. A grid can replace the question file of a task.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import yaml

from r_eval.environments.opening import open_environment as open_environment
from r_eval.errors import UserError
from r_eval.plugins import unknown
from r_eval.records import Level, Question
from r_eval.tasks.questions import read_questions

DEFAULT_METRIC = "token_f1"
PASSAGES = {"prgb": "prompt"} | dict.fromkeys(("hotpotqa", "2wikimultihopqa", "musique", "profiling"), "environment")
"""The default place of a format's documents: PRGB ranks LLMs by how they read the prompt, the multi-hop sets are asked
over a wiki, and a profiling question contains its text.
"""


@dataclasses.dataclass(frozen=True)
class Task:
    """A question set of one domain, with its metric.

    Attributes:
        name: `<domain>/<task>`.
        environment: Name of its environment.
        settings: The environment's settings.
        home: The environment of the demonstrations, if it differs.
        metric: Name of the metric that scores it.
        instruction: How the answer should look; shown to every workflow.
        passages: The place of the questions' own documents; "" for the default of the format, see `PASSAGES`.
        long: Whether an answer is a text of several sentences rather than a phrase.
        format: The format of the published dataset: its name, or a mapping of `format` and its settings.
        data: For questions from a data file: its format, counts and version.
        notes: One line on unusable records of that file.
    """

    name: str
    environment: str
    questions: tuple[Question, ...]
    demonstrations: tuple[Question, ...] = ()
    id: str = ""
    title: str = ""
    metric: str = DEFAULT_METRIC
    instruction: str = ""
    passages: str = ""
    long: bool = False
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    home: str | None = None
    format: str | Mapping[str, Any] = ""
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: str = ""

    @property
    def domain(self) -> str:
        return self.name.partition("/")[0]

    @property
    def level(self) -> Level:
        """The level of its first question; a task of the paper has one level."""
        return self.questions[0].level

    @property
    def usual_passages(self) -> str:
        """The place of the questions' own documents, by the task or its format; "" if neither states it."""
        form = self.data.get("format") or (self.format if isinstance(self.format, str) else self.format["format"])
        return self.passages or PASSAGES.get(form, "")

    @functools.cached_property
    def version(self) -> str:
        """Hash of the questions and demonstrations; for a data file, of the whole file rather than the sample."""
        digest = hashlib.blake2b(f"{self.environment}\0{self.metric}\0{self.instruction}\0".encode(), digest_size=8)
        digest.update(str(self.data.get("version", "")).encode())
        for question in (*(() if self.data else self.questions), *self.demonstrations):
            digest.update(question.model_dump_json().encode())
        return digest.hexdigest()


def task_files() -> dict[str, Path]:
    """The files of all installed tasks, by name."""
    files: dict[str, Path] = {}
    for point in sorted(entry_points(group="r_eval.tasks"), key=lambda p: p.name):
        for folder in point.load().__path__:
            for path in sorted(Path(folder).glob("*/*.yaml")):
                if path.with_name(f"{path.stem}.questions.jsonl").exists():
                    files[f"{path.parent.name}/{path.stem}"] = path
    return files


def matching(pattern: str) -> list[str]:
    """The names of the installed tasks that match a name or glob, in the order of their ids.

    Raises:
        UserError: No task matches.
    """
    files = task_files()
    names = [name for name in files if fnmatch.fnmatchcase(name, pattern)]
    if not names:
        raise UserError(unknown("task", pattern, files))
    return sorted(names, key=lambda name: (_place(files[name]), name))


@functools.cache
def _place(path: Path) -> tuple[bool, bool, list[int]]:
    """Sort key of a task's file by its id: "1-2" before "1-10" before "crud-1"; files without an id come last."""
    try:
        id = str(yaml.safe_load(path.read_text(encoding="utf-8"))["id"])
    except (OSError, ValueError, yaml.YAMLError, LookupError, TypeError):
        id = ""
    numbers = [int(number) for number in re.findall(r"\d+", id)]
    return not numbers, not id[:1].isdigit(), numbers


@functools.cache
def installed(name: str) -> Task:
    """An installed task.

    Raises:
        UserError: There is no such task, or one of its files is damaged.
    """
    path = task_files().get(name)
    if path is None:
        raise UserError(unknown("task", name, task_files()))
    settings: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    questions = read_questions(path.with_name(f"{path.stem}.questions.jsonl"))
    demonstration_file = path.with_name(f"{path.stem}.demonstrations.jsonl")
    demonstrations = read_questions(demonstration_file) if demonstration_file.exists() else []
    return Task(name=name, questions=tuple(questions), demonstrations=tuple(demonstrations), **settings)


def custom(name: str, questions: Sequence[Question], environment: str, demonstrations: Sequence[Question]) -> Task:
    """The task of a question file that a grid names."""
    return Task(name, environment, tuple(questions), tuple(demonstrations), title=name, instruction=SHORT)


SHORT = "Answer with a name, a number or a short phrase."
