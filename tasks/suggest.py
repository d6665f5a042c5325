"""Further templates for an environment, drafted by an LLM from a few written ones and the environment's API.

A draft is kept only if it is a template, asks what no known one asks, and its program, run through the query APIs for
several records, gives answers that hold. Whether its English is good is for a person to judge.
"""

from __future__ import annotations

import ast
import asyncio
import collections
import dataclasses
import json
import random
import re
from collections.abc import Sequence
from typing import Any

import yaml
from pydantic import ValidationError

from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.files import read_yaml
from r_eval.tasks.llm_client import LLMClient, objects_in, prompt
from r_eval.tasks.phrases import words
from r_eval.tasks.templates.generate import generate
from r_eval.tasks.templates.programs import BROKEN, canonical
from r_eval.tasks.templates.schema import Template, TemplateFile, as_yaml

EXAMPLES = DRAFTS = 4
"""Written templates in one prompt, and drafts that it asks for."""
TRIED, NEEDED = 10, 3
"""Questions that a draft is asked to make, and how many of them it has to make."""
IDLE = 3
"""Replies in a row of which nothing is kept, after which no more are asked for."""
LONGEST = 20_000
"""Characters of a reply that are read."""
SECONDS = 60.0
"""How long one draft may be tried."""
FIELD_CHARACTERS = 80
FENCE = re.compile(r"```[a-z]*\n(.*?)(?:```|\Z)", re.DOTALL)
SLOT = re.compile(r"\{\{[^{}]*\}\}")
ID = re.compile(r"[A-Za-z0-9_-]{1,60}")


@dataclasses.dataclass
class Suggested:
    """Drafts that were kept, and how many were not, by reason."""

    templates: list[Template] = dataclasses.field(default_factory=list)
    dropped: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)


async def suggest(
    environment: Environment,
    written: Sequence[Template],
    client: LLMClient,
    sandbox: Sandbox,
    count: int,
    seed: int = 0,
) -> Suggested:
    """Have templates drafted until so many are kept, or nothing new comes any more.

    Raises:
        UserError: The LLM failed, or the written templates do not fit the environment.
    """
    found = Suggested()
    marks = {mark for template in written for mark in marks_of(template)}
    chance, idle = random.Random(seed), 0
    values = {
        "description": environment.description,
        "apis": "\n".join(spec.stub() for spec in environment.specs().values()),
        "records": _records(environment, written),
        "count": str(DRAFTS),
    }
    while len(found.templates) < count and idle < IDLE:
        examples = chance.sample(list(written), min(EXAMPLES, len(written)))
        taken = ", ".join(template.id for template in [*written, *found.templates][-100:])
        reply = await client.complete(prompt("suggest", examples=as_yaml(examples), taken=taken, **values))
        before = len(found.templates)
        for draft in drafts(reply):
            if len(found.templates) >= count:
                break
            template = _template(draft, {template.id for template in [*written, *found.templates]})
            reason = await _rejection_reason(template, marks, environment, sandbox, seed)
            if template is None or reason is not None:
                found.dropped[reason or ""] += 1
            else:
                marks |= marks_of(template)
                found.templates.append(template)
        idle = idle + 1 if len(found.templates) == before else 0
    return found


def drafts(reply: str) -> list[Any]:
    """The drafts in a reply, a list in YAML or JSON; what is no mapping is none."""
    found: list[Any] = []
    for block in FENCE.findall(reply[:LONGEST]) or [reply[:LONGEST]]:
        try:
            data = read_yaml(block)
        except (yaml.YAMLError, ValueError, RecursionError):
            data = objects_in(block)
        found += data if isinstance(data, list) else objects_in(block) or [data]
    return found or [None]


def _template(draft: Any, ids: set[str]) -> Template | None:
    """A draft as a template, under an id of its own; None where it is none."""
    try:
        name = str(draft.get("id", ""))
        if not ID.fullmatch(name) or name in ids:
            name = next(f"draft-{n}" for n in range(1, len(ids) + 2) if f"draft-{n}" not in ids)
        template = Template.model_validate({**draft, "id": name})
        ast.parse(template.program)
    except (AttributeError, TypeError, ValidationError, *BROKEN):
        return None
    return template


async def _rejection_reason(
    template: Template | None, marks: set[str], environment: Environment, sandbox: Sandbox, seed: int
) -> str | None:
    """Why a draft is not kept; None where it is."""
    if template is None:
        return "not a template"
    if marks & marks_of(template):
        return "not new"
    names = {node.id for node in ast.walk(ast.parse(template.program)) if isinstance(node, ast.Name)}
    if not names & set(environment.specs()):
        return "calls no API"
    file = TemplateFile(environment="", templates=[template])
    try:
        made = await asyncio.wait_for(generate(file, environment, sandbox, TRIED, seed), SECONDS)
    except UserError:
        return "does not fit the records"
    except TimeoutError:
        return "takes too long"
    except EnvironmentFailure:
        return "the environment failed"
    del made.dropped["where"]
    if len(made.questions) < NEEDED or made.dropped.total() > len(made.questions):
        return made.dropped.most_common(1)[0][0] if made.dropped else "too few records"
    return "always the same answer" if len({question.answers[0] for question in made.questions}) == 1 else None


def marks_of(template: Template) -> set[str]:
    """What two templates that ask the same have in common: a text, or the program, whatever names they use."""
    texts = {"text " + " ".join(words(SLOT.sub(" _ ", text))) for text in template.phrasings}
    return {*texts, f"program {canonical(template.program, list(template.kinds))}"}


def _records(environment: Environment, written: Sequence[Template]) -> str:
    """An example of every kind that the written templates name, long values cut."""
    lines = []
    for kind in sorted({kind for template in written for kind in template.kinds.values()}):
        try:
            example = next(iter(environment.records(kind)), {})
        except KeyError:
            raise UserError(f"the written templates do not fit: the environment has no records of '{kind}'") from None
        text = json.dumps({key: _short(value) for key, value in example.items()}, ensure_ascii=False)
        lines.append(f"- {kind}: {text}")
    return "\n".join(lines)


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(inner) for inner in value[:3]]
    return value[:FIELD_CHARACTERS] if isinstance(value, str) else value
