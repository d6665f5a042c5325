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
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml
from pydantic import ValidationError

from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.files import read_yaml
from r_eval.llms.json_text import json_values
from r_eval.tasks.llm_client import LLMClient, prompt
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
    progress: Callable[[int, int], None] = lambda replies, kept: None,
) -> Suggested:
    """Have templates drafted until so many are kept, or nothing new comes any more.

    Args:
        progress: Called after each reply with the number of replies, and of templates that are kept.

    Raises:
        UserError: The LLM failed, or the written templates do not fit the environment.
    """
    found = Suggested()
    known = {mark for template in written for mark in marks(template)}
    chance, idle, replies = random.Random(seed), 0, 0
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
            if template is None:
                found.dropped["not a template"] += 1
            elif (reason := await _rejection_reason(template, known, environment, sandbox, seed)) is not None:
                found.dropped[reason] += 1
            else:
                known |= marks(template)
                found.templates.append(template)
        idle = idle + 1 if len(found.templates) == before else 0
        replies += 1
        progress(replies, len(found.templates))
    return found


def drafts(reply: str) -> Iterator[Any]:
    """The drafts in a reply, in YAML or JSON; what is no mapping is none."""
    reply = reply[:LONGEST]
    for block in FENCE.findall(reply) or [reply]:
        try:
            data = read_yaml(block, _NoAliases)
        except (yaml.YAMLError, ValueError, RecursionError):
            data = None
        if not isinstance(data, dict | list):
            data = [found.value for found in json_values(block)]
            data = data[0] if len(data) == 1 and isinstance(data[0], list) else data
        if isinstance(data, dict):
            lists = [value for value in data.values() if isinstance(value, list)]
            data = lists[0] if lists and "question" not in data else [data]
        yield from [one if isinstance(one, dict) else None for one in data] or [None]


class _NoAliases(yaml.SafeLoader):
    """YAML without aliases: a few of them that name each other are a tree of any size."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


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
    template: Template, known: set[str], environment: Environment, sandbox: Sandbox, seed: int
) -> str | None:
    """Why a draft is not kept; None where it is."""
    if known & marks(template):
        return "not new"
    calls = [node.func for node in ast.walk(ast.parse(template.program)) if isinstance(node, ast.Call)]
    if not {called.id for called in calls if isinstance(called, ast.Name)} & set(environment.specs()):
        return "calls no API"
    file = TemplateFile(environment="", languages=template.languages, templates=[template])
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


def marks(template: Template) -> set[str]:
    """What two templates that ask the same have in common: a text, or the program, whatever names they use."""
    languages: list[str | None] = [*template.languages] or [None]
    texts = [text for language in languages for text in template.phrasings(language)]
    program = canonical(template.program, list(template.kinds))
    return {"text " + " ".join(words(SLOT.sub(" _ ", text))) for text in texts} | {f"program {program}"}


def _records(environment: Environment, written: Sequence[Template]) -> str:
    """An example of every kind that the written templates name, long values cut."""
    lines = []
    for kind in sorted({kind for template in written for kind in template.kinds.values()}):
        try:
            found = environment.records(kind)
        except KeyError:
            raise UserError(f"the written templates do not fit: the environment has no records of '{kind}'") from None
        lines.append(f"- {kind}: {json.dumps(_short(found[0] if found else {}), ensure_ascii=False)}")
    return "\n".join(lines)


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner) for inner in value[:3]]
    return value[:FIELD_CHARACTERS] if isinstance(value, str) else value
