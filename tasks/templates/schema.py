"""The model of a template file, and reading one; see the package for the format."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, model_validator

from r_eval.errors import UserError
from r_eval.files import YamlFile
from r_eval.records import Level
from r_eval.tasks.files import Part, read_file
from r_eval.tasks.templates.render import OPTIONS


class Join(Part):
    """A further record, joined to the records above it.

    Attributes:
        source: A kind of the environment's records.
        match: Field to expression: the field must equal the value, or share a member if either is a list. None equals
            nothing. Fast for any number of records.
        where: A condition over the names above and this one.
    """

    source: str = Field(alias="from")
    match: dict[str, str] = {}
    where: str | None = None


class Template(Part):
    """One template of a file.

    Attributes:
        source: The kind of the first record, and its name.
        let: Further records by name: a kind (sampled independently) or a join.
        question: The text, or several phrasings of it.
        options: Options of the question, as expressions over the records. Text and program use them as `options`, the
            text in a seeded order (`{{ options | shuffled }}`).
        choice: Whether the question names the answer as one of several things.
    """

    id: str
    level: Level = "KS"
    source: str = Field(alias="from")
    let: dict[str, str | Join] = {}
    where: str | None = None
    options: list[str] = []
    question: str | Annotated[list[str], Field(min_length=1)]
    program: str
    evidence: list[str] = []
    aliases: list[str] = []
    entities: list[str] = []
    choice: bool = False

    @model_validator(mode="after")
    def _names(self) -> Template:
        for name in (self.source, *self.let):
            if not name.isidentifier():
                raise ValueError(f"'{name}' cannot name a record in a program; take letters, digits and _")
            if name == OPTIONS:
                raise ValueError(f"'{name}' is the name of the choices; call the record something else")
        if self.source in self.let:
            raise ValueError(f"let: '{self.source}' is the name of the first record already")
        return self

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of every record by name, in order."""
        further = {name: part.source if isinstance(part, Join) else part for name, part in self.let.items()}
        return {self.source: self.source, **further}

    @property
    def phrasings(self) -> list[str]:
        """The texts of the question."""
        return [self.question] if isinstance(self.question, str) else self.question


class TemplateFile(Part):
    """A template file.

    Attributes:
        records: By kind, a JSON Lines file of records, for environments without records.
    """

    environment: str
    records: dict[str, Path] = {}
    templates: list[Template] = Field(min_length=1)


def read_templates(path: Path) -> TemplateFile:
    """Read a template file.

    Raises:
        UserError: The file does not exist, is not YAML, or a key is wrong.
    """
    file = read_file(path, "template file", TemplateFile)
    file.records = {kind: path.parent / name for kind, name in file.records.items()}
    places = template_places(path, file)
    ids: set[str] = set()
    for template, place in zip(file.templates, places, strict=True):
        if template.id in ids:
            raise UserError(f"{place}: templates: duplicate id '{template.id}'")
        ids.add(template.id)
        try:
            ast.parse(template.program)
        except SyntaxError as error:
            raise UserError(f"{place}: templates.{template.id}: program, line {error.lineno}: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            reason = "it is nested too deep" if isinstance(error, MemoryError) else error
            raise UserError(f"{place}: templates.{template.id}: program: {reason}") from None
    return file


def template_places(path: Path, file: TemplateFile) -> list[str]:
    """`file:line` of every template's id."""
    yaml_file = YamlFile(path, "template file")
    return [yaml_file.at(["templates", number, "id"]) for number in range(len(file.templates))]


def as_yaml(templates: Sequence[Template]) -> str:
    """Templates as YAML for a file's `templates:`, with programs as blocks."""
    data = [template.model_dump(by_alias=True, exclude_defaults=True) for template in templates]
    return yaml.dump(data, Dumper=_Blocks, allow_unicode=True, sort_keys=False, width=110)


class _Blocks(yaml.SafeDumper):
    """Dumps multi-line strings as blocks."""


_Blocks.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)
