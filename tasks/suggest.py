"""Drafts further templates for an environment with an LLM, from example templates and the environment's API.

A draft is kept only if it is a valid template, differs from the others, and its program produces valid answers for
several records through the query APIs. Its wording needs human review.
"""

from __future__ import annotations

import ast
import asyncio
import collections
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
from r_eval.tasks.templates.programs import BROKEN
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
FENCE = re.compile(r"```[a-z]*\n(.*?)(?:```|\Z)", re.DOTALL)
SLOT = re.compile(r"\{\{[^{}]*\}\}")
ID = re.compile(r"[A-Za-z0-9_-]{1,60}")


async def suggest(
    environment: Environment,
    seed_templates: Sequence[Template],
    client: LLMClient,
    sandbox: Sandbox,
    count: int,
    seed: int = 0,
) -> tuple[list[Template], collections.Counter[str]]:
    """Draft templates until enough are accepted or no new ones arrive; counts the rejected ones by reason.

    Raises:
        UserError: The LLM failed, or the examples do not fit the environment.
    """
    templates, dropped = list[Template](), collections.Counter[str]()
    idle, chance = 0, random.Random(seed)
    marks = {mark for template in seed_templates for mark in marks_of(template)}
    values = {
        "description": environment.description,
        "apis": "\n".join(spec.stub() for spec in environment.specs().values()),
        "records": _records(environment, seed_templates),
        "count": str(DRAFTS),
    }
    while len(templates) < count and idle < IDLE:
        idle += 1
        examples = as_yaml(chance.sample(list(seed_templates), min(EXAMPLES, len(seed_templates))))
        ids = [template.id for template in [*seed_templates, *templates]]
        reply = await client.complete(prompt("suggest", examples=examples, used_ids=", ".join(ids[-100:]), **values))
        for draft in drafts(reply):
            template = _template(draft, ids)
            if template is None:
                dropped["not a template"] += 1
            elif marks & marks_of(template):
                dropped["not new"] += 1
            elif reason := await _rejection_reason(template, environment, sandbox, seed):
                dropped[reason] += 1
            elif len(templates) < count:
                idle = 0
                ids.append(template.id)
                marks |= marks_of(template)
                templates.append(template)
    return templates, dropped


def drafts(reply: str) -> list[Any]:
    """The drafts in a reply, a list in YAML or JSON; [None] if there are none."""
    result: list[Any] = []
    for block in FENCE.findall(reply[:LONGEST]) or [reply[:LONGEST]]:
        try:
            data = read_yaml(block)
        except (yaml.YAMLError, ValueError, RecursionError):
            data = objects_in(block)
        if isinstance(data, dict) and isinstance(data.get("templates"), list):  # a whole file
            data = data["templates"]
        result += data if isinstance(data, list) else objects_in(block) or [data]
    return result or [None]


def _template(draft: Any, ids: Sequence[str]) -> Template | None:
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


async def _rejection_reason(template: Template, environment: Environment, sandbox: Sandbox, seed: int) -> str | None:
    """Why the questions of a draft are rejected; None if they are accepted."""
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
    """Keys by which equivalent templates are recognised: the words of their texts and of the program."""
    return {" ".join(words(SLOT.sub(" _ ", text))) for text in (*template.phrasings, template.program)}


def _records(environment: Environment, seed_templates: Sequence[Template]) -> str:
    """An example record of every kind in the templates, with long values truncated."""
    lines = []
    for kind in sorted({kind for template in seed_templates for kind in template.kinds.values()}):
        try:
            example = next(iter(environment.records(kind)), {})
        except KeyError:
            raise UserError(f"the example templates do not fit: the environment has no records of '{kind}'") from None
        fields = ", ".join(f"{key}: {value!r:.80}" for key, value in example.items())
        lines.append(f"- {kind}: {{{fields}}}")
    return "\n".join(lines)
