"""Questions from templates: a record fills a sentence, and the template's program, run through the environment's own
query APIs in the sandbox, gives the gold answer. So every question is known to be answerable through the APIs.

    environment: aminer
    templates:
      - id: interests-of-scholar
        level: KS
        from: person                     a kind of environment.records(...)
        let: {other: person}             further records, each sampled on its own
        where: len(person["interests"]) > 1
        question: What are the research interests of {person[name]}?
        program: |
          found = searchPerson(name=person["name"])
          answer = getPersonInterest(person_id=found[0]["person_id"])
        evidence: ["found[0]['person_id']"]     what an observation must hold, as expressions over the program

A question is dropped, and counted by reason, whose program fails, gives nothing, or is ambiguous: another record would
make the same question with another answer.
"""

from __future__ import annotations

import ast
import collections
import dataclasses
import hashlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox, answer_text
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.records import Level, Question

Records = dict[str, dict[str, Any]]
CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


class Template(BaseModel):
    """One template of a file."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    id: str
    level: Level
    source: str = Field(alias="from")
    let: dict[str, str] = {}
    where: str | None = None
    question: str
    program: str
    evidence: list[str] = []


class TemplateFile(BaseModel):
    """A template file."""

    model_config = ConfigDict(extra="forbid")

    environment: str
    templates: list[Template] = Field(min_length=1)


@dataclasses.dataclass
class Generated:
    """Questions made, and how many were dropped for which reason."""

    questions: list[Question] = dataclasses.field(default_factory=list)
    dropped: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)


def read_templates(path: Path) -> TemplateFile:
    """The templates of a file.

    Raises:
        UserError: It is not there, not YAML, or a key is wrong.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        file = TemplateFile.model_validate(data)
    except FileNotFoundError:
        raise UserError(f"{path}: no such template file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{path}: {'.'.join(str(p) for p in first['loc'])}: {first['msg']}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    ids: set[str] = set()
    for template in file.templates:
        if template.id in ids:
            raise UserError(f"{path}: templates: the id '{template.id}' stands twice")
        ids.add(template.id)
        try:
            ast.parse(template.program)
        except SyntaxError as error:
            raise UserError(f"{path}: templates.{template.id}: program, line {error.lineno}: {error.msg}") from None
        except ValueError as error:
            raise UserError(f"{path}: templates.{template.id}: program: {error}") from None
    return file


async def generate(file: TemplateFile, environment: Environment, sandbox: Sandbox, count: int, seed: int) -> Generated:
    """Make questions, as evenly over the templates as they allow.

    Args:
        count: How many are wanted; fewer come where the records do not give more.
        seed: Decides which records are taken.
    """
    made = Generated()
    shares = [_Share(t, environment, sandbox, seed, made.dropped) for t in file.templates]
    for share in shares:
        await share.prepare()
    open_shares = list(shares)
    texts: set[str] = set()
    while open_shares and len(made.questions) < count:
        for share in list(open_shares):
            if len(made.questions) >= count:
                break
            question = await share.next()
            if question is None:
                open_shares.remove(share)
            elif question.question not in texts:
                texts.add(question.question)
                made.questions.append(question)
    return made


class _Share:
    """The questions of one template, made one at a time."""

    def __init__(
        self,
        template: Template,
        environment: Environment,
        sandbox: Sandbox,
        seed: int,
        dropped: collections.Counter[str],
    ) -> None:
        self.template, self.environment, self.sandbox, self.dropped = template, environment, sandbox, dropped
        self.random = random.Random(f"{seed}/{template.id}")
        self.groups: dict[str, list[Records]] = {}
        self._texts: Iterator[str] = iter(())

    async def prepare(self) -> None:
        """Choose records, leave out those that `where` refuses, and group them by the question that they make."""
        template = self.template
        try:
            kinds = {name: self.environment.records(kind) for name, kind in self._kinds().items()}
        except KeyError as error:
            raise UserError(f"templates.{template.id}: the environment has no records of kind {error}") from None
        for name, kind in template.let.items():
            if not kinds[name]:
                raise UserError(f"templates.{template.id}: let: the environment has no record of kind '{kind}'")
        first = list(kinds[template.source])
        self.random.shuffle(first)
        sampled = [
            {template.source: record, **{name: self.random.choice(kinds[name]) for name in template.let}}
            for record in first
        ]
        for records in await self._kept(sampled):
            try:
                text = template.question.format(**records)
            except (KeyError, IndexError, AttributeError) as error:
                raise UserError(f"templates.{template.id}: question: no field {error}") from None
            except ValueError as error:
                raise UserError(f"templates.{template.id}: question: {error}") from None
            self.groups.setdefault(text.strip(), []).append(records)
        self._texts = iter(self.groups)

    def _kinds(self) -> dict[str, str]:
        return {self.template.source: self.template.source, **self.template.let}

    async def _kept(self, sampled: list[Records]) -> list[Records]:
        """Those that `where` accepts; evaluated in the sandbox, a thousand at a time."""
        where = self.template.where
        if where is None:
            return sampled
        names = list(self._kinds())
        code = f"answer = [bool({where}) for ({', '.join(names)},) in _records]"
        kept: list[Records] = []
        for start in range(0, len(sampled), 1000):
            block = sampled[start : start + 1000]
            session = Session(self.environment, self.sandbox)
            result = await session.run_program(code, {"_records": [tuple(r[n] for n in names) for r in block]})
            if result.error is not None:
                raise UserError(f"templates.{self.template.id}: where: {result.error.message}")
            kept += [records for records, keep in zip(block, result.answer, strict=True) if keep]
        self.dropped["where"] += len(sampled) - len(kept)
        return kept

    async def next(self) -> Question | None:
        """The next question that holds; None when the records are used up."""
        for text in self._texts:
            questions = [await self._solve(text, records) for records in self.groups[text]]
            solved = [q for q in questions if q is not None]
            if len({q.answers[0] for q in solved}) > 1:
                self.dropped["ambiguous"] += 1
            elif solved:
                return solved[0]
        return None

    async def _solve(self, text: str, records: Records) -> Question | None:
        try:
            program = with_values(self.template.program, records)
        except KeyError as error:
            raise UserError(f"templates.{self.template.id}: program: no field {error}") from None
        session = Session(self.environment, self.sandbox)
        result = await session.run_program(program, expressions=self.template.evidence)
        if result.error is not None:
            self.dropped[f"program: {result.error.cause}"] += 1
            return None
        answer = answer_text(result.answer).strip()
        if not answer:
            self.dropped["empty answer"] += 1
            return None
        digest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
        return Question(
            id=f"{self.template.id}-{digest}",
            question=text,
            answers=[answer],
            level=self.template.level,
            program=program,
            evidence=list(dict.fromkeys(_flat(result.extra))),
            meta={"template": self.template.id},
        )


def _flat(values: Any) -> Iterator[str]:
    if isinstance(values, list):
        for value in values:
            yield from _flat(value)
    else:
        yield answer_text(values)


def with_values(program: str, records: Records) -> str:
    """A template's program with `person["name"]` replaced by the record's value, so that it stands by itself.

    Raises:
        KeyError: A record has no such field.
    """

    class Fill(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
            self.generic_visit(node)
            if isinstance(node.value, ast.Name) and node.value.id in records and isinstance(node.slice, ast.Constant):
                value = records[node.value.id][str(node.slice.value)]
                return ast.copy_location(ast.parse(repr(value), mode="eval").body, node)
            return node

        def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
            """Values become plain text in an f-string, since its braces cannot hold every quote and backslash."""
            self.generic_visit(node)
            parts: list[ast.expr] = []
            known = ""
            for part in node.values:
                text = _text(part)
                if text is None:
                    parts += [ast.Constant(known), part]
                    known = ""
                else:
                    known += text
            return ast.copy_location(ast.JoinedStr([*parts, ast.Constant(known)]), node)

    return ast.unparse(ast.fix_missing_locations(Fill().visit(ast.parse(program))))


def _text(part: ast.expr) -> str | None:
    """A part of an f-string as text; None where only the running program knows it."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    if not isinstance(part, ast.FormattedValue):
        return None
    pieces = part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else []
    form = [str(piece.value) for piece in pieces if isinstance(piece, ast.Constant)]
    try:
        value = ast.literal_eval(part.value)
        shown = CONVERSIONS[part.conversion](value) if part.conversion in CONVERSIONS else value
        return format(shown, "".join(form)) if len(form) == len(pieces) else None
    except (ValueError, TypeError):
        return None
