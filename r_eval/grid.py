"""The grid: workflows x LLMs x tasks x conditions, as a YAML file or as a Python object.

A `Grid` is the request, checked for form; `r_eval.runner.plan` looks its names up. Errors name file, line and key.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from r_eval.errors import MissingExtra, UserError, describe_invalid
from r_eval.files import YamlFile, at_home
from r_eval.plugins import unknown
from r_eval.records import Level
from r_eval.text import holds_key
from r_eval.vary import Vary

FILE_FIRST = re.compile(r"[^\s:]+\.\w+:")
"""How a message begins that names a file."""
OF_LLMS = ["model", "temperature", "max_tokens", "base_url", "api_key_env", "native_tools", "connections", "price"]
OF_LLMS += ["context", "timeout"]
"""Settings that many LLMs have."""
OF_DATA = ["format", "level", "broken", "config", "split", "columns", "aliases", "language", "difficulty", "frequency"]
OF_WORLD = ["variants", "noise", "resample"]
OF_DATA += OF_WORLD
"""Keys of a task that say how its data is read; those of `OF_WORLD` go with embedded tasks that have a world, too."""


class Section(BaseModel):
    """Base of a grid's sections: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True)


class Entry(BaseModel):
    """A named part with settings of its own, which its class checks."""

    model_config = ConfigDict(extra="allow")

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class BudgetEntry(Section):
    """What may be spent before no new episode is begun; it is no part of any fingerprint.

    Attributes:
        usd: Money, by the prices of the LLMs.
        tokens: Tokens of prompts and completions.
        hours: Time since the run began.
    """

    usd: float | None = Field(None, gt=0, strict=True)
    tokens: int | None = Field(None, ge=1, strict=True)
    hours: float | None = Field(None, gt=0, strict=True)

    @model_validator(mode="after")
    def _something(self) -> BudgetEntry:
        if self.usd is None and self.tokens is None and self.hours is None:
            raise ValueError("a budget gives at least one of usd, tokens and hours")
        return self


class StopEarlyEntry(Section):
    """When a system gets no further questions (docs/running.md); it is no part of any fingerprint.

    Attributes:
        alpha: The probability, at most, that one of the best is stopped.
        margin: By how much a stopped system may be better than those that went on; scores are from 0 to 1.
        keep: How many of the best are to be found.
    """

    alpha: float = Field(0.05, gt=0, lt=1, strict=True)
    margin: float = Field(0.0, ge=0, lt=1, strict=True)
    keep: int = Field(1, ge=1, strict=True)


class LLMEntry(Entry):
    """An LLM and its settings.

    Attributes:
        llm: Its name, such as gguf/smollm2-135m or openai/gpt-4o-mini.
        name: Replaces it in the system's name, if a grid has one model with several settings.
    """

    llm: str
    name: str | None = None

    @model_validator(mode="after")
    def _no_key(self) -> LLMEntry:
        for key, value in self.settings.items():
            if key in ("api_key", "key", "token") or (isinstance(value, str) and holds_key(value)):
                raise ValueError("a key does not belong in a grid: put the name of its variable in api_key_env")
        return self


class WorkflowEntry(Entry):
    """A workflow with settings.

    Attributes:
        workflow: Its name, a `module:Class` or a `file.py:Class`.
        name: Replaces it in the system's name, if a grid has one workflow with several settings.
        environment: Settings that replace those of the tasks' environments under this workflow.
        noise: Documents of each level, in place of those of the tasks that have `noise`.
    """

    workflow: str
    name: str | None = None
    environment: dict[str, Any] | None = None
    noise: dict[str, int] | None = None


class EnvironmentEntry(Entry):
    """An environment with settings.

    Attributes:
        environment: Its name, a file of functions, a `file.py:Class`, `mcp:...`, `openapi:...` or `langchain:...`.
    """

    environment: str


class TaskEntry(Section):
    """A task, or several by a glob; or one of the grid's own, by its question file or by a published dataset.

    Attributes:
        task: Its name, such as wiki/high-freq; a glob such as wiki/*; or a name for the grid's own questions.
        questions: A question file.
        demonstrations: A file of demonstrations, in the same form.
        environment: What the questions are about; needed for a task of the grid's own, else it replaces the task's.
        metric: The metric of the score.
        instruction: A sentence for the model about the form of the answer.
        data: A dataset's file or folder, or `hf:ORGANISATION/NAME`, read by `r_eval.tasks.loaders`.
        format: The form of the data; an installed task knows its own.
        level: The level of the data's questions, in place of the format's own.
        broken: The maximum share of broken records.
        config, split: Which part of a dataset of the Hugging Face Hub.
        passages: Where the questions' own documents are: in every prompt, behind the query APIs only, or nowhere.
        columns, aliases, language, difficulty, frequency, variants, noise, resample: Settings of some formats.
    """

    task: str
    data: str | None = None
    format: str | None = None
    level: Level | None = None
    broken: float | None = Field(None, ge=0, le=1)
    config: str | None = None
    split: str | None = None
    columns: dict[str, str] | None = None
    aliases: str | None = None
    language: str | None = None
    difficulty: str | None = None
    frequency: str | None = None
    variants: int | Literal["all"] | None = None
    noise: dict[str, int] | None = None
    resample: bool | None = None
    questions: str | None = None
    demonstrations: str | None = None
    environment: EnvironmentEntry | None = None
    metric: str | None = None
    instruction: str | None = None
    passages: Literal["prompt", "environment", "none"] | None = None

    @field_validator("environment", mode="before")
    @classmethod
    def _environment(cls, value: Any) -> Any:
        return {"environment": value} if isinstance(value, str) else value

    @property
    def of_data(self) -> dict[str, Any]:
        """Everything given that says how the data is read."""
        return self.model_dump(include=set(OF_DATA), exclude_none=True)

    @model_validator(mode="after")
    def _with_data(self) -> TaskEntry:
        alone = set(self.of_data) - (set(OF_WORLD) if self.questions is None else set())
        if self.data is None and alone:
            raise ValueError(f"{next(key for key in OF_DATA if key in alone)}: needs data: FILE")
        if self.data is not None and self.questions is not None:
            raise ValueError("give the questions as data: or as questions:, not as both")
        return self


class ConditionEntry(Entry):
    """A change to the environment; several, joined by "+", combine in the order given.

    Attributes:
        condition: Its name, or several.
        name: Replaces the condition's name, if a grid has one condition with several settings.
    """

    condition: str
    name: str | None = None


class Limits(Section):
    """Bounds of every episode, the same for all workflows.

    Attributes:
        steps: Turns: LLM replies and what is done with them; DFSDT's are per branch.
        tokens: Tokens of prompts and completions of all LLM calls. No call starts once they are used up; a last chance
            reserves as many as the latest call took.
        seconds: Seconds of actual work.
        observation: Tokens of an observation, at four characters per token; a longer one is cut, and says so.
        calls: LLM calls, a last chance included.
        last_chance: Whether an LLM whose steps, tokens or calls are used up is asked once for an answer from what it
            has; that is no step. There is none if the reserved tokens or the time are used up.
    """

    model_config = ConfigDict(frozen=True)

    steps: int = Field(default=10, ge=1, strict=True)
    tokens: int | None = Field(default=None, ge=1, strict=True)
    seconds: float = Field(default=300.0, gt=0, strict=True)
    observation: int = Field(default=1000, ge=20, strict=True)
    calls: int | None = Field(default=None, ge=1, strict=True)
    last_chance: bool = Field(default=True, strict=True)


class Exclude(Section):
    """Cells to leave out: those that match all patterns; `*` matches any text.

    Attributes:
        workflow, llm, task, condition: Patterns of names.
    """

    workflow: str = "*"
    llm: str = "*"
    task: str = "*"
    condition: str = "*"


class Grid(Section):
    """What to run.

    Attributes:
        name: The run's name; by default the file's.
        seed: Decides the sample of questions and whatever conditions draw.
        llms, workflows, tasks, conditions: The axes of the grid; an entry is a name, or a mapping with settings. A grid
            of nothing but `oracle` needs no LLMs.
        vary: Settings with several values each.
        samples: Questions per task; by default all.
        epochs: Attempts at each question.
        shots: Demonstrations in the prompt.
        limits: Bounds of every episode.
        exclude: Cells to leave out.
        budget: What the run may spend.
        stop_early: Whether to stop systems that are significantly not among the best.

    Example:
        >>> grid = Grid(workflows=["react"], llms=["gguf/smollm2-135m"], tasks=["wiki/high-freq"], samples=5)
        >>> grid.workflows[0].workflow
        'react'
    """

    name: str = Field("grid", pattern=r"^\w[\w.-]*$")
    seed: int = Field(0, strict=True)
    llms: list[LLMEntry] = []
    workflows: list[WorkflowEntry] = Field(min_length=1)
    tasks: list[TaskEntry] = Field(min_length=1)
    conditions: list[ConditionEntry] = Field([ConditionEntry(condition="clean")], min_length=1)
    vary: Vary | None = None
    samples: int | None = Field(None, ge=1, strict=True)
    epochs: int = Field(1, ge=1, strict=True)
    shots: int = Field(1, ge=0, strict=True)
    limits: Limits = Limits()
    exclude: list[Exclude] = []
    budget: BudgetEntry | None = None
    stop_early: StopEarlyEntry | None = None
    folder: Path = Field(Path(), exclude=True, description="Where relative paths in the grid start.")
    _file: YamlFile | None = PrivateAttr(None)

    @field_validator("llms", "workflows", "tasks", "conditions", mode="before")
    @classmethod
    def _entries(cls, values: Any, info: ValidationInfo) -> Any:
        """One entry in place of a list, and a name in place of a mapping that has it."""
        key = str(info.field_name).removesuffix("s")
        values = [values] if isinstance(values, str | dict | BaseModel) else values
        return [{key: v} if isinstance(v, str) else v for v in values] if isinstance(values, Iterable) else values

    @model_validator(mode="after")
    def _needs_llms(self) -> Self:
        if not self.llms and any(entry.workflow != "oracle" for entry in self.workflows):
            raise PydanticCustomError("missing", "Field required", {"at": ("llms",)})
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _told(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Say what is wrong as a UserError, of an assignment, too; the last validator, around all others."""
        try:
            return handler(at_home(data))
        except ValidationError as error:
            raise UserError(complaint(error)) from None

    @field_validator("stop_early", mode="before")
    @classmethod
    def _stop_early(cls, value: Any) -> Any:
        if not isinstance(value, bool | dict | StopEarlyEntry | None):
            raise ValueError(f"must be true, false or a mapping, not {value!r}")
        return ({} if value else None) if isinstance(value, bool) else value

    @classmethod
    def load(cls, path: str | Path) -> Grid:
        """The grid of a YAML file.

        Raises:
            UserError: It is not there or not a grid; names the line and the key.
        """
        path = Path(path)
        if path.is_dir():
            raise UserError(f"{path} is a folder; name a grid file, such as {path / 'grid.yaml'}")
        file = YamlFile(path, "grid file")
        if not isinstance(file.data, dict):
            raise UserError(f"{path}: a grid is a mapping with the keys llms, workflows and tasks")
        name = re.sub(r"[^\w.-]+", "-", path.stem).strip(".-") or "grid"
        try:
            data = {str(key): value for key, value in file.data.items()}
            if "folder" in data:  # of a grid in Python
                raise UserError(f"{file.at(['folder'])}: {unknown('key', 'folder', PLACES['at the top level'])}")
            grid = cls(**{"name": name, **data, "folder": path.parent})
            grid._file = file
            return grid
        except UserError as error:
            if not isinstance(error.__context__, ValidationError):
                raise
            raise UserError(complaint(error.__context__, file)) from None

    @contextlib.contextmanager
    def located(self, *keys: int | str) -> Iterator[None]:
        """Put the file and the line of a key before an error about it, unless the error names another file."""
        try:
            yield
        except MissingExtra:
            raise
        except UserError as error:
            if self._file is None or (FILE_FIRST.match(str(error)) and ": no such " not in str(error)):
                raise
            raise UserError(f"{self._file.at(keys)}: {error}") from None


def complaint(error: ValidationError, file: YamlFile | None = None) -> str:
    """One sentence about a grid's first mistake, with the line in its file; a misspelt key before a missing one."""
    errors = error.errors()
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    loc = (*first["loc"], *first.get("ctx", {}).get("at", ()))
    key = ".".join(str(part) for part in loc)
    at = file.at(loc) if file else "Grid"
    if first["type"] == "extra_forbidden":
        homes = [place for place, keys in PLACES.items() if loc[-1] in keys]
        if homes and f"{loc[-1]}s" not in Grid.model_fields:
            return f"{at}: unknown key '{key}': {loc[-1]} belongs {' or '.join(homes)}"
        place = f"in {'an entry of tasks' if loc[0] == 'tasks' else loc[0]}" if len(loc) > 1 else ""
        known = PLACES.get(place, PLACES["at the top level"])
        return f"{at}: {unknown('key', key, known, {'models': 'llms'})}"
    if first["type"] == "missing":
        example = f"; write {{{loc[-1]}: NAME, SETTING: VALUE}}" if len(loc) > 1 else ""
        return f"{at}: the key {key} is missing{example}"
    reason = describe_invalid(first)
    if (isinstance(loc[-1], int) and loc[0] != "exclude") or loc[-1] == "environment":
        reason = reason.replace("a mapping", "a name or a mapping")
        if hasattr(given := first["input"], "__qualname__"):
            prefix = "scripted/" if loc[0] == "llms" else ""
            reason += f"; write its name, '{prefix}{given.__module__}:{given.__qualname__}'"
    return f"{at}: {key}: {reason}"


_MODELS: dict[str, type[BaseModel]] = {
    "at the top level": Grid,
    "in limits": Limits,
    "in budget": BudgetEntry,
    "in stop_early": StopEarlyEntry,
    "in exclude": Exclude,
    "in an entry of tasks": TaskEntry,
}
PLACES: dict[str, Sequence[str]] = {
    **{place: [key for key in model.model_fields if key != "folder"] for place, model in _MODELS.items()},
    "in an entry of llms": OF_LLMS,
}
"""The keys that each place of a grid takes."""
