"""Drafts further templates for an environment with an LLM, from example templates and the environment's API.

A draft is kept only if it is a valid template, differs from the others, and its program produces valid answers for
several records through the query APIs. Its wording needs human review.
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
"""Examples in one prompt, and drafts that it requests."""
TRIES, NEEDED = 10, 3
"""Questions to generate from a draft, and the minimum that must succeed."""
IDLE = 3
"""Consecutive replies without an accepted draft after which the search stops."""
LONGEST = 20_000
"""Characters of a reply that are parsed."""
SECONDS = 60.0
"""Time limit for one draft."""
FIELD_CHARACTERS = 80
FENCE = re.compile(r"```[a-z]*\n(.*?)(?:```|\Z)", re.DOTALL)
SLOT = re.compile(r"\{\{[^{}]*\}\}")
ID = re.compile(r"[A-Za-z0-9_-]{1,60}")


@dataclasses.dataclass
class Suggested:
    """Accepted drafts, and the number of rejected ones by reason."""

    templates: list[Template] = dataclasses.field(default_factory=list)
    dropped: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)


async def suggest(
    environment: Environment,
    seed_templates: Sequence[Template],
    client: LLMClient,
    sandbox: Sandbox,
    count: int,
    seed: int = 0,
) -> Suggested:
    """Draft templates until enough are accepted or no new ones arrive.

    Raises:
        UserError: The LLM failed, or the examples do not fit the environment.
    """
    result = Suggested()
    marks = {mark for template in seed_templates for mark in marks_of(template)}
    chance, idle = random.Random(seed), 0
    values = {
        "description": environment.description,
        "apis": "\n".join(spec.stub() for spec in environment.specs().values()),
        "records": _records(environment, seed_templates),
        "count": str(DRAFTS),
    }
    while len(result.templates) < count and idle < IDLE:
        examples = chance.sample(list(seed_templates), min(EXAMPLES, len(seed_templates)))
        used_ids = ", ".join(template.id for template in [*seed_templates, *result.templates][-100:])
        reply = await client.complete(prompt("suggest", examples=as_yaml(examples), taken=used_ids, **values))
        n_before = len(result.templates)
        for draft in drafts(reply):
            if len(result.templates) >= count:
                break
            template = _template(draft, {template.id for template in [*seed_templates, *result.templates]})
            reason = await _rejection_reason(template, marks, environment, sandbox, seed)
            if template is None or reason is not None:
                result.dropped[reason or ""] += 1
            else:
                marks |= marks_of(template)
                result.templates.append(template)
        idle = idle + 1 if len(result.templates) == n_before else 0
    return result


def drafts(reply: str) -> list[Any]:
    """The drafts in a reply, a list in YAML or JSON; [None] if there are none."""
    result: list[Any] = []
    for block in FENCE.findall(reply[:LONGEST]) or [reply[:LONGEST]]:
        try:
            data = read_yaml(block)
        except (yaml.YAMLError, ValueError, RecursionError):
            data = objects_in(block)
        result += data if isinstance(data, list) else objects_in(block) or [data]
    return result or [None]


def _template(draft: Any, ids: set[str]) -> Template | None:
    """A draft as a template with a unique id; None if it is invalid."""
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
    """Why a draft is rejected; None if it is accepted."""
    if template is None:
        return "not a template"
    if marks & marks_of(template):
        return "not new"
    names = {node.id for node in ast.walk(ast.parse(template.program)) if isinstance(node, ast.Name)}
    if not names & set(environment.specs()):
        return "calls no API"
    file = TemplateFile(environment="", templates=[template])
    try:
        generated = await asyncio.wait_for(generate(file, environment, sandbox, TRIES, seed), SECONDS)
    except UserError:
        return "does not fit the records"
    except TimeoutError:
        return "takes too long"
    except EnvironmentFailure:
        return "the environment failed"
    del generated.dropped["where"]
    if len(generated.questions) < NEEDED or generated.dropped.total() > len(generated.questions):
        return generated.dropped.most_common(1)[0][0] if generated.dropped else "too few records"
    return "always the same answer" if len({question.answers[0] for question in generated.questions}) == 1 else None


def marks_of(template: Template) -> set[str]:
    """Keys by which equivalent templates are recognised: their texts, and the program with canonical names."""
    texts = {"text " + " ".join(words(SLOT.sub(" _ ", text))) for text in template.phrasings}
    return {*texts, f"program {canonical(template.program, list(template.kinds))}"}


def _records(environment: Environment, seed_templates: Sequence[Template]) -> str:
    """An example record of every kind in the templates, with long values truncated."""
    lines = []
    for kind in sorted({kind for template in seed_templates for kind in template.kinds.values()}):
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
