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
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from r_eval.environments.base import Environment, EnvironmentFailure
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.llms.json_text import json_values
from r_eval.tasks.llm_client import prompt
from r_eval.tasks.phrases import words
from r_eval.tasks.templates.generate import generate
from r_eval.tasks.templates.programs import canonical
from r_eval.tasks.templates.schema import Template, TemplateFile

if TYPE_CHECKING:
    from r_eval.tasks.llm_client import LLMClient

SHOWN = 4
"""Written templates in one prompt."""
ASKED = 4
"""Drafts that one prompt asks for."""
TRIED = 10
"""Questions that a draft is asked to make."""
NEEDED = 3
"""How many of them it has to make."""
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
    speaker: LLMClient,
    sandbox: Sandbox,
    count: int,
    seed: int = 0,
    tell: Callable[[int, int], None] = lambda replies, kept: None,
) -> Suggested:
    """Have templates drafted until so many are kept, or nothing new comes any more.

    Args:
        tell: Told, after each reply, how many there were and how many templates are kept.

    Raises:
        UserError: The LLM failed, or the written templates do not fit the environment.
    """
    found = Suggested()
    known = {mark for template in written for mark in marks(template)}
    chance, idle, replies = random.Random(seed), 0, 0
    records = _records(environment, written)
    while len(found.templates) < count and idle < IDLE:
        shown = chance.sample(list(written), min(SHOWN, len(written)))
        reply = await speaker.complete(_prompt(environment, records, shown, [*written, *found.templates]))
        before = len(found.templates)
        for draft in drafts(reply):
            if len(found.templates) >= count:
                break
            template = draft if isinstance(draft, str) else _template(draft, [*written, *found.templates])
            reason = template if isinstance(template, str) else None
            if isinstance(template, Template):
                new = marks(template)
                reason = "not new" if known & new else await _amiss(template, environment, sandbox, seed)
                if reason is None:
                    known |= new
                    found.templates.append(template)
            if reason is not None:
                found.dropped[reason] += 1
        idle = idle + 1 if len(found.templates) == before else 0
        replies += 1
        tell(replies, len(found.templates))
    return found


def drafts(reply: str) -> Iterator[dict[str, Any] | str]:
    """The drafts in a reply, in YAML or JSON; a text says why there is none in a part of it."""
    reply = reply[:LONGEST]
    for block in FENCE.findall(reply) or [reply]:
        try:
            data = yaml.load(block, Loader=_Plain)
        except (yaml.YAMLError, ValueError, RecursionError):
            data = [found.value for found in json_values(block)]
            data = data[0] if len(data) == 1 and isinstance(data[0], list) else data
        if isinstance(data, dict):
            lists = [value for value in data.values() if isinstance(value, list)]
            data = lists[0] if lists and "question" not in data else [data]
        if not isinstance(data, list) or not data:
            yield "not YAML"
            continue
        for item in data:
            yield {str(key): value for key, value in item.items()} if isinstance(item, dict) else "not a template"


class _Plain(yaml.SafeLoader):
    """YAML without aliases: a few of them that name each other are a tree of any size."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


def _template(draft: dict[str, Any], known: Sequence[Template]) -> Template | str:
    """A draft as a template, under an id of its own; or why it is none."""
    ids = {template.id for template in known}
    name = str(draft.get("id", ""))
    if not ID.fullmatch(name) or name in ids:
        name = next(f"draft-{n}" for n in range(1, len(ids) + 2) if f"draft-{n}" not in ids)
    try:
        template = Template.model_validate({**draft, "id": name})
        ast.parse(template.program)
    except (ValidationError, SyntaxError, ValueError, RecursionError, MemoryError):
        return "not a template"
    return template


async def _amiss(template: Template, environment: Environment, sandbox: Sandbox, seed: int) -> str | None:
    """Why a draft is not kept; None where it is."""
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
    failed = made.dropped - collections.Counter({"where": made.dropped["where"]})
    if len(made.questions) < NEEDED or failed.total() > len(made.questions):
        return failed.most_common(1)[0][0] if failed else "too few records"
    if len({question.answers[0] for question in made.questions}) == 1:
        return "always the same answer"
    return None


def marks(template: Template) -> set[str]:
    """What two templates that ask the same have in common: a text, or the program, whatever names they use."""
    languages: list[str | None] = [*template.languages] or [None]
    texts = [text for language in languages for text in template.phrasings(language)]
    names = list(template.kinds)
    return {"text " + " ".join(words(SLOT.sub(" _ ", text))) for text in texts} | {
        "program " + canonical(template.program, names)
    }


def _records(environment: Environment, written: Sequence[Template]) -> str:
    """An example of every kind that the written templates name, long values cut."""
    lines = []
    for kind in sorted({kind for template in written for kind in template.kinds.values()}):
        try:
            found = environment.records(kind)
        except KeyError:
            raise UserError(f"the written templates do not fit: the environment has no records of '{kind}'") from None
        example = {key: _short(value) for key, value in (found[0] if found else {}).items()}
        lines.append(f"- {kind}: {json.dumps(example, ensure_ascii=False)}")
    return "\n".join(lines)


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(v) for v in value[:3]]
    return value[:FIELD_CHARACTERS] if isinstance(value, str) else value


def _prompt(environment: Environment, records: str, shown: Sequence[Template], known: Sequence[Template]) -> str:
    apis = "\n".join(spec.stub() for spec in environment.specs().values())
    taken = ", ".join(template.id for template in known[-100:])
    return prompt(
        "suggest",
        description=environment.description,
        apis=apis,
        records=records,
        examples=as_yaml(list(shown)),
        count=str(ASKED),
        taken=taken,
    )


def as_yaml(templates: Sequence[Template]) -> str:
    """Templates as they stand in a file, below `templates:`."""
    data = [template.model_dump(by_alias=True, exclude_defaults=True) for template in templates]
    return yaml.dump(data, Dumper=_Blocks, allow_unicode=True, sort_keys=False, width=110)


class _Blocks(yaml.SafeDumper):
    """Programs are written as they are read, line by line."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Blocks.add_representer(str, _text)
