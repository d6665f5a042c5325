"""What a task is, and how one is found by its name.

A task of R-Eval, or of a package that adds some (entry points of the group `r_eval.tasks`, each a package), is a file
`<domain>/<name>.yaml`:

    id: "1-1"                       the paper's id
    title: High-frequency entities
    environment: wiki
    metric: token_f1
    instruction: How the answer should look.

beside `<name>.questions.jsonl` and `<name>.demonstrations.jsonl`. `format:` names the form of the published dataset
(see `r_eval.tasks.loaders`), alone or as a mapping with its settings. A grid may give a task a question file of its
own.
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

from r_eval.environments import opening
from r_eval.environments.base import Environment
from r_eval.errors import UserError
from r_eval.plugins import unknown
from r_eval.records import Level, Question
from r_eval.tasks.questions import read_questions

DEFAULT_METRIC = "token_f1"
PASSAGES = {"prgb": "prompt"} | dict.fromkeys(("hotpotqa", "2wikimultihopqa", "musique", "profiling"), "environment")
"""Where the documents of a format's questions are, unless a grid says it: PRGB ranks LLMs by what they read in the
prompt, the multi-hop sets are asked over a wiki, and a question of profiling holds its text itself.
"""


@dataclasses.dataclass(frozen=True)
class Task:
    """A question set of one domain, with its metric.

    Attributes:
        name: `<domain>/<task>`.
        environment: Name of the environment that it is asked over.
        settings: The environment's settings.
        home: The environment over which the demonstrations are worked out, where it is another one.
        metric: Name of the metric that gives its score.
        instruction: How the answer should look; shown to every workflow.
        passages: Where the questions' own documents are; "" for the default of the format, see `PASSAGES`.
        long: Whether an answer is a text of several sentences, of which every line counts, and no phrase.
        format: The form of the published dataset: its name, or `format` and its settings.
        data: Of questions that a data file gave: its format, its counts and its version.
        notes: One line on what of that file could not be used.
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
        """The level of its first question; a task of the paper has one level only."""
        return self.questions[0].level

    @property
    def usual_passages(self) -> str:
        """Where the questions' own documents are by the task or its format; "" where neither says."""
        form = self.data.get("format") or (self.format if isinstance(self.format, str) else self.format["format"])
        return self.passages or PASSAGES.get(form, "")

    @functools.cached_property
    def version(self) -> str:
        """Hash of everything that is asked and shown; of a data file as a whole, whatever sample of it is asked."""
        digest = hashlib.blake2b(f"{self.environment}\0{self.metric}\0{self.instruction}\0".encode(), digest_size=8)
        digest.update(str(self.data.get("version", "")).encode())
        for question in (*(() if self.data else self.questions), *self.demonstrations):
            digest.update(question.model_dump_json().encode())
        return digest.hexdigest()


def task_files() -> dict[str, Path]:
    """The files of all installed tasks, by name."""
    found: dict[str, Path] = {}
    for point in sorted(entry_points(group="r_eval.tasks"), key=lambda p: p.name):
        for folder in point.load().__path__:
            for path in sorted(Path(folder).glob("*/*.yaml")):
                if path.with_name(f"{path.stem}.questions.jsonl").exists():
                    found[f"{path.parent.name}/{path.stem}"] = path
    return found


def matching(pattern: str) -> list[str]:
    """The names of the installed tasks that a name or glob selects, in the order of their ids.

    Raises:
        UserError: There is none.
    """
    files = task_files()
    found = [name for name in files if fnmatch.fnmatchcase(name, pattern)]
    if not found:
        raise UserError(unknown("task", pattern, files))
    return sorted(found, key=lambda name: (_place(files[name]), name))


@functools.cache
def _place(path: Path) -> tuple[bool, bool, list[int]]:
    """The place of a task's file by its id: "1-2" before "1-10", both before "crud-1"; last where it has none or cannot
    be read.
    """
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
        UserError: There is none of that name, or one of its files is damaged.
    """
    path = task_files().get(name)
    if path is None:
        raise UserError(unknown("task", name, task_files()))
    settings: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    questions = read_questions(path.with_name(f"{path.stem}.questions.jsonl"))
    shown = path.with_name(f"{path.stem}.demonstrations.jsonl")
    demonstrations = read_questions(shown) if shown.exists() else []
    return Task(name=name, questions=tuple(questions), demonstrations=tuple(demonstrations), **settings)


def custom(name: str, questions: Sequence[Question], environment: str, demonstrations: Sequence[Question]) -> Task:
    """A task that a grid makes of its own question file."""
    return Task(name, environment, tuple(questions), tuple(demonstrations), title=name, instruction=SHORT)


SHORT = "Answer with a name, a number or a short phrase."


def open_environment(name: str, settings: Mapping[str, Any] | None = None) -> Environment:
    """An environment by name, `module:Class`, file path or scheme; see `r_eval.environments.opening`.

    Raises:
        UserError: There is none of that name, a setting is wrong, or it cannot be opened.
    """
    return opening.open_environment(name, settings)
